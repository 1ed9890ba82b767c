#!/bin/sh
# A lock that does not exclude: whatever the workload, exit status 1, its name on
# stderr, no ranking, and no result file. A sound one beside it passes. So does one
# whose waits give up before their time, but for the workload that looks at that. One
# that keeps writers apart, but no reader out, fails as well.
pawl=$1
dir=$(mktemp -d) || exit 1
trap 'rm -r "$dir"' EXIT

# fails LOCK WORKLOAD: at the first violation, which is mostly in the first run; a
# machine with one CPU to spare, or with many busy processes, may need hundreds.
fails() {
	"$pawl" bench --workload $2 --locks $1 --threads 2 --cs 1000 --runs 3000 \
		--seconds 0.1 --json "$dir/result.json" >"$dir/out" 2>"$dir/err"
	status=$?
	[ $status -eq 1 ] || { echo "$2: exit status $status, not 1"; exit 1; }
	grep -q "EXCLUSION VIOLATED by '$1'.*$2" "$dir/err" ||
		{ cat "$dir/err"; exit 1; }
	[ ! -s "$dir/out" ] || { echo "it was ranked:"; cat "$dir/out"; exit 1; }
	[ -z "$(ls "$dir" | grep result)" ] || { echo "result left behind"; exit 1; }
}

# passes LOCK WORKLOAD
passes() {
	"$pawl" bench --workload $2 --locks $1 --threads 2 --cs 1000 \
		--runs 1 --seconds 0.05 2>&1 || exit 1
}

for workload in mutex stress-latency multiwait atomic-exchange atomic-cas lru latency \
	queue workers pingpong barrier readers timer logger rwlock lone-reader; do
	fails broken $workload
	passes ticket $workload
done
fails open rwlock
fails open lone-writer
fails open lone-reader
passes ticket lone-writer
fails hasty timer
passes hasty logger
