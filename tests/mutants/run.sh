#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs mutants: locks with one line made wrong, which pawl check must reject.
#
# usage: run.sh PAWL LOCK...
#
# LOCK.mutants has a line for each: label | verdicts that are right | header, and
# a scenario if that one is enough | sed script for it. A header of the back end is
# the simulators'. The label is one of the header's, or an invariant's number.
# A mutant is rejected if one of these verdicts came up in some scenario. Those
# listed in survivors.txt are known to pass, with the reason. LOCK.options, if
# there is one, holds options for pawl check.
set -u
pawl=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

trim() {
	echo "$1" | sed 's/^ *//;s/ *$//'
}

# Prints the verdict of a mutant: the first of the wanted ones, or what it was.
judge() {
	lock=$1 wanted=$2 file=${3%% *} script=$4
	overlay=$scratch/overlay
	rm -rf "$overlay"
	case $file in
	backend/*) original=$root/backend/sim/pawl/$file copy=$overlay/pawl/$file ;;
	*/*) original=$root/src/$file copy=$overlay/src/$file ;;
	*) original=$root/include/pawl/$file copy=$overlay/pawl/$file ;;
	esac
	mkdir -p "${copy%/*}"
	sed "$script" "$original" > "$copy" || { echo "bad sed script"; return; }
	if cmp -s "$original" "$copy"; then
		echo "unchanged"
		return
	fi
	if ! name=$("$here/build.sh" "$lock" "$overlay" "$scratch/lock.so" \
		2> "$scratch/build"); then
		echo "does not compile"
		[ -n "${VERBOSE:-}" ] && cat "$scratch/build" >&2
		return
	fi
	options=
	[ -e "$here/$lock.options" ] && options=$(cat "$here/$lock.options")
	[ "$file" = "$3" ] || options="$options --scenario ${3#* }"
	timeout 120 "$pawl" check --load "$scratch/lock.so" "$name" --limit 2000000 $options \
		--json "$scratch/result.json" > "$scratch/output" 2> "$scratch/errors"
	code=$?
	if [ $code -gt 1 ]; then
		echo "pawl check ended with $code"
		[ -n "${VERBOSE:-}" ] && cat "$scratch/errors" >&2
		return
	fi
	found=$(grep -o '"verdict": *"[^"]*"' "$scratch/result.json" |
		sed 's/.*: *"//;s/"//' | grep -v '^passed$' | sort -u)
	if [ -z "$found" ]; then
		echo passed
		return
	fi
	echo "$wanted" | tr , '\n' | while read -r verdict; do
		if echo "$found" | grep -qx "$verdict"; then
			echo "$verdict"
			break
		fi
	done | grep . || echo "$found" | tr '\n' ',' | sed 's/,$//;s/^/unexpected: /'
}

# Says what is wrong with a lock that nothing was done to, built as its mutants are: what
# is rejected as it is proves nothing about them.
rejected_as_it_is() {
	rm -rf "$scratch/overlay"
	mkdir "$scratch/overlay"
	name=$("$here/build.sh" "$1" "$scratch/overlay" "$scratch/lock.so" 2>&1) ||
		{ echo "does not compile"; return; }
	timeout 120 "$pawl" check --load "$scratch/lock.so" "$name" --limit 20000 2>&1 |
		grep "^$name " | grep -v -e ' passed$' -e ' limit reached$' -e ' as the registry says$'
	[ -n "${VERIFY:-}" ] || return
	# What comes late, in the scenarios that mutants are rejected in, and as far as theirs.
	cut -d '|' -f 3 "$here/$1.mutants" | awk 'NF > 1 { print $2 }' | sort -u |
		while read -r scenario; do
			timeout 120 "$pawl" check --load "$scratch/lock.so" "$name" \
				--limit 2000000 --scenario "$scenario" 2>&1 | grep "^$name " |
				grep -v -e ' passed$' -e ' limit reached$' -e ' as the registry says$'
		done
}

for lock in "$@"; do
	wrong=$(rejected_as_it_is "$lock")
	if [ -n "$wrong" ]; then
		printf '%s: REJECTED AS IT IS, so its mutants show nothing:\n%s\n' "$lock" "$wrong"
		status=1
		continue
	fi
	while IFS='|' read -r label wanted file script; do
		case $label in
		'' | '#'*) continue ;;
		+*) [ -n "${VERIFY:-}" ] || continue ;;
		esac
		label=$(trim "${label#+}") wanted=$(trim "$wanted") file=$(trim "$file")
		verdict=$(judge "$lock" "$wanted" "$file" "$script")
		known=$(grep "^$lock $label:" "$here/survivors.txt" | sed 's/^[^:]*: *//')
		if echo "$wanted" | tr , '\n' | grep -qx "$verdict"; then
			printf '%-20s %-14s rejected: %s\n' "$lock" "$label" "$verdict"
			[ -n "$known" ] && echo "  but survivors.txt says that it passes" && status=1
		elif [ "$verdict" = passed ] && [ -n "$known" ]; then
			printf '%-20s %-14s passes: %s\n' "$lock" "$label" "$known"
		else
			printf '%-20s %-14s NOT REJECTED: %s\n' "$lock" "$label" "$verdict"
			status=1
		fi
	done < "$here/$lock.mutants"
done
exit $status
