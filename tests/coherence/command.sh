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
refused "leave out the '+park'" --locks ticket+park
refused "only 'pawl bench' takes" --locks pthread
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
