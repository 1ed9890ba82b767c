#!/bin/sh
# SPDX-License-Identifier: MIT
# pawl check as a command: statuses, sentences, files, tokens.
#
# usage: command.sh PAWL
set -u
pawl=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

# expect STATUS ARGUMENT...: leaves out, err
expect() {
	wanted=$1
	shift
	"$pawl" check "$@" > out 2> err
	status=$?
	if [ $status -ne "$wanted" ]; then
		echo "pawl check $*: status $status, expected $wanted"
		cat out err
		failed=1
	fi
}

# says FILE TEXT
says() {
	if ! grep -q -- "$2" "$1"; then
		echo "expected '$2' in:"
		cat "$1"
		failed=1
	fi
}

# refuses SENTENCE ARGUMENT...: one line on stderr, nothing on stdout, no file
refuses() {
	sentence=$1
	shift
	expect 2 "$@"
	says err "$sentence"
	if [ "$(wc -l < err)" -ne 1 ] || [ -s out ]; then
		echo "pawl check $*: expected one line on stderr and nothing else"
		failed=1
	fi
}

expect 0 ticket
says out '^ticket .* passed$'
says err 'executions/s'

expect 0 --list
says out '^destroy '

expect 1 hemlock-ah --scenario destroy --json result.json
says out 'use after free'
says result.json '"schema": *1'
says result.json '"verdict": *"use after free"'
says result.json '"token"'
token=$(sed -n 's/^repeat it with: pawl check --replay //p' out)
expect 1 --replay "$token"
says out '^use after free:'
says out 'hemlock.h:.*HERE'

# At random: the same seed finds the same, and a failure is repeated by its token.
expect 0 mcs --scenario sections --threads 3 --random 5000
says out ' 66 .* no failure seen$'
expect 0 shared --scenario errors-three --random 5000
expect 1 hemlock-ah --scenario destroy --random 1000 --seed 3
cp out first
expect 1 hemlock-ah --scenario destroy --random 1000 --seed 3
if [ "$(grep repeat first)" != "$(grep repeat out)" ]; then
	echo "the same seed found something else"
	failed=1
fi
token=$(sed -n 's/^repeat it with: pawl check --replay //p' out)
expect 1 --replay "$token"
says out '^use after free:'
expect 1 hemlock-ah --scenario destroy --random 1000 --depth 3
says out '^use after free:'
refuses "add --random N" mcs --depth 2
# Leases too, whose states are counted.
expect 0 lease --scenario takeover --random 200
says out "no failure seen$"

# What it prints to repeat a failure repeats it, options and all.
expect 1 hapax --scenario chained --steadfast
repeat=$(sed -n 's/^repeat it with: pawl check //p' out)
expect 1 $repeat
says out '^lost wake-up:'

# Several at a time: the same rows in the same order, traces and all.
expect 1 tas hemlock-ah ticket --jobs 1
sed 's/ *[0-9]*\.[0-9]* / /' out > first
expect 1 tas hemlock-ah ticket --jobs 3
sed 's/ *[0-9]*\.[0-9]* / /' out > second
if ! diff first second; then
	echo "--jobs 3 says something else than --jobs 1"
	failed=1
fi

expect 1 mcs --threads 3 --episodes 2 --limit 100 --scenario sections
says out 'limit reached'
says out 'raise --limit'

# A scenario has the threads that were asked for, or is left out, which is said.
expect 0 twa --threads 4 --scenario neighbours
says out '^twa  *neighbours  *4 .* passed$'
expect 0 ticket --threads 4 --episodes 1
says err "such as 'doorway' with 3 threads, are skipped"
if grep -q doorway out; then
	echo "--threads 4 runs a scenario with other threads"
	failed=1
fi

expect 0 lease --scenario drain --json result.json
says out '^lease .* weak .* passed$'
says result.json '"model": *"weak"'
expect 1 lease --scenario seize --limit 100
says out 'limit reached'

refuses "did you mean 'ticket'" tickat
refuses "did you mean 'sections'" ticket --scenario section
refuses "weak, tso or sc" ticket --model arm
refuses "more than 8" ticket --threads 9
refuses "homes has 6 threads" cna --scenario homes --threads 4
refuses "not a token" --replay nonsense
refuses "nothing to check" clh --scenario trylock
refuses "build-lock.sh" --load /nonexistent.so
refuses "nowhere" ticket --json nowhere/result.json

rm -f result.json
refuses "unknown lock" nonsuch --json result.json
refuses "for 'pawl bench' only" pthread --json result.json
refuses "did you mean '--scenario'" ticket --scenari sections --json result.json
if [ -e result.json ]; then
	echo "a result file was left behind"
	failed=1
fi
exit $failed
