#!/bin/sh
# pawl sim as its users run it: same input, same bytes; bad input, one line.
set -u
pawl=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
status=0

fail()
{
	echo "FAIL: $*"
	status=1
}

run()
{
	"$pawl" sim --machine epyc-512 --locks ticket,twa,hapax,mcs --threads 1,3,40 \
		--ncs 50 --episodes 500 --seed 5 --json "$1.json" >"$1.out" 2>"$1.err" ||
		fail "run: exit $?"
}

run "$dir/a"
run "$dir/b"
cmp "$dir/a.out" "$dir/b.out" || fail "two runs print different tables"
cmp "$dir/a.json" "$dir/b.json" || fail "two runs write different results"
grep -q '"tool": "sim"' "$dir/a.json" || fail "no tool in the results"
for key in workload lock threads cs ncs machine median_ops_per_s samples fairness \
	per_episode misses invalidations remote_misses rmw; do
	grep -q "\"$key\"" "$dir/a.json" || fail "no $key in the results"
done

# However many processes simulate, the bytes are the same; so is what the papers say.
for jobs in 1 2; do
	"$pawl" sim --machine epyc-512 --locks ticket,twa,hapax,mcs --threads 1,3,40 \
		--ncs 50 --episodes 500 --seed 5 --jobs $jobs --json "$dir/j$jobs.json" \
		>"$dir/j$jobs.out" 2>/dev/null || fail "--jobs $jobs: exit $?"
	"$pawl" sim --preset papers --locks hapax,tidex --runs 2 --episodes 20 --jobs $jobs \
		--json "$dir/p$jobs.json" >"$dir/p$jobs.out" 2>/dev/null ||
		fail "papers, --jobs $jobs: exit $?"
done
cmp "$dir/a.out" "$dir/j1.out" || fail "--jobs 1 prints another table"
for file in j1.out j1.json p1.out p1.json; do
	other=$(echo "$file" | sed s/1/2/)
	cmp "$dir/$file" "$dir/$other" || fail "two jobs: $other is not $file"
done
grep -q " Tidex: 10 (T) " "$dir/p1.out" || fail "--locks tidex leaves out its claims"
grep -q " MCS: 6 " "$dir/p1.out" && fail "--locks tidex keeps claims about MCS"

# A table for each latency, 30 % less and more, and what changes in it.
"$pawl" sim --preset papers --sensitivity --locks tidex --runs 1 --episodes 20 \
	>"$dir/out" 2>"$dir/err" || fail "--sensitivity: $(cat "$dir/err")"
for key in hit rmw socket remote step; do
	for factor in 0.7 1.3; do
		grep -q "^$key x $factor: [0-9]* fewer, [0-9]* more hold$" "$dir/out" ||
			fail "--sensitivity says nothing of $key x $factor"
	done
done
changes=$(grep -c -E '^  [+-] Hapax, .* \([0-9.]+, was [0-9.]+\)$' "$dir/out")
counted=$(sed -n 's/^[a-z]* x .*: \([0-9]*\) fewer, \([0-9]*\) more hold$/\1 + \2 +/p' "$dir/out")
[ "$changes" -eq $(($counted 0)) ] || fail "--sensitivity counts other changes than it names"
[ "$changes" -ge 1 ] || fail "no latency changes anything"

for preset in max moderate table2 multiwait diameter ring readers numa; do
	"$pawl" sim --preset $preset --threads 4 --episodes 50 --runs 1 \
		>"$dir/out" 2>"$dir/err" || fail "preset $preset: $(cat "$dir/err")"
	grep -q "4 threads" "$dir/out" || fail "preset $preset prints no table"
done

# refused WHAT OPTION...: exit 2, one line on stderr that contains WHAT, no output
refused()
{
	what=$1
	shift
	"$pawl" sim "$@" --json "$dir/no.json" >"$dir/out" 2>"$dir/err"
	[ $? -eq 2 ] || fail "$*: not refused"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "$*: not one line: $(cat "$dir/err")"
	grep -q -e "$what" "$dir/err" || fail "$*: '$(cat "$dir/err")' lacks '$what'"
	[ ! -s "$dir/out" ] || fail "$*: prints something"
	[ ! -e "$dir/no.json" ] || fail "$*: leaves a file behind"
}

refused "list-machines" --machine cray
refused "at most 72" --threads 73
refused "did you mean 'ticket'" --locks tiket
refused "remove the '+park'" --locks ticket+park
refused "for 'pawl bench' only" --locks pthread
refused "did you mean 'altra-128'" --machine altra
refused "did you mean 'moderate'" --preset moderat
refused "did you mean '--threads'" --thread 4
refused "whole number" --episodes 0
refused "neither mesi nor moesi nor mesif" --protocol msi
refused "no key" --set speed=2
refused "not KEY=VALUE" --set home
refused "expected a time" --set home=-1
refused "load, cas or fetch-add" --preset ring --locks mcs
refused "unexpected argument" ticket
refused "no claim is about" --preset papers --locks tas
refused "validate measures" --preset validate --machine altra-128
refused "two threads" --preset validate --threads 4
refused "two threads" --preset validate --threads 2,4
refused "no key" --preset validate --set speed=2
"$pawl" sim --threads 1 --json "$dir/none/x.json" >"$dir/out" 2>"$dir/err"
[ $? -eq 2 ] || fail "unwritable file is not refused"
"$pawl" sim --help >"$dir/out" || fail "--help fails"
grep -q -e "--machine" "$dir/out" || fail "--help does not name the options"

# Three locks, each of which is compared, or said to have been disturbed. What the
# figures are is not for a test.
validate()
{
	"$pawl" sim --preset validate --locks ticket,mcs,ttas --runs 1 --episodes 500 \
		"$@" --json "$dir/v.json" >"$dir/out" 2>"$dir/err" ||
		fail "validate: $(cat "$dir/err")"
	rows=$(grep -c -E '^  (ticket|mcs|ttas) .* %$' "$dir/out")
	left=$(grep -c 'was not measured' "$dir/err")
	[ $((rows + left)) -eq 3 ] || fail "validate compares $rows locks, leaves out $left"
	grep -q "Rank correlation .*; [0-3] of $rows within 30 %" "$dir/out" ||
		fail "validate says nothing of the ranks"
	[ "$(grep -c '"predicted_ns"' "$dir/v.json")" -eq "$rows" ] ||
		fail "validate writes other rows than it prints"
	for key in sim-validate transfer rmw forward pause behind migrate rank_correlation \
		within_30_percent; do
		grep -q "\"$key\"" "$dir/v.json" || fail "no $key in what validate writes"
	done
}

if [ "$(nproc)" -ge 2 ]; then
	validate
	validate --set migrate=0,pause=3
	grep -q '"migrate": 0' "$dir/v.json" || fail "validate does not heed --set"
	grep -q '"pause": 3.0' "$dir/v.json" || fail "validate does not heed --set"
fi
one=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
if command -v taskset >/dev/null; then
	taskset -c "$one" "$pawl" sim --preset validate >"$dir/out" 2>"$dir/err"
	[ $? -eq 2 ] || fail "validate on one CPU is not refused"
	grep -q "needs two CPUs" "$dir/err" || fail "one CPU: $(cat "$dir/err")"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "one CPU: not one line"
fi

exit $status
