#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles programs once, checks each of their functions under weak, tso and sc, and
# compares verdicts and numbers of executions with a table.
#
# usage: table.sh PAWL TABLE SOURCE... [-- FLAGS]
set -u
pawl=$(realpath "$1") table=$(realpath "$2")
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sources=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	sources="$sources $(realpath "$1")"
	shift
done
[ $# -gt 0 ] && shift
for source in $sources; do
	compiler=cc
	case $source in *.cc) compiler=c++ ;; esac
	$compiler $("$pawl" check --cflags) "$@" -c "$source" -o "$scratch/table.o" &&
		$compiler $("$pawl" check --libs) -o "$scratch/table.so" "$scratch/table.o" || exit 1
	for model in weak tso sc; do
		"$pawl" check --program "$scratch/table.so" --no-symmetry --model $model > "$scratch/out" 2> "$scratch/err"
		if [ $? -gt 1 ]; then
			cat "$scratch/out" "$scratch/err"
			exit 1
		fi
		# A failure ends the search: how far it had come is of no interest.
		sed -n 's/^table.so \+\([^ ]*\) \+[a-z]* \+\([0-9]*\) \+[0-9.]* \+\(.*\)/\1\t\2 \3/p' \
			"$scratch/out" | sed 's/\t[0-9]* \([^p].*\)/\t\1/; s/ passed$//' >> "$scratch/$model"
	done
done
cut -f 2 "$scratch/tso" | paste "$scratch/weak" - > "$scratch/both"
cut -f 2 "$scratch/sc" | paste "$scratch/both" - > "$scratch/all"
if ! grep -v '^#' "$table" | diff -u - "$scratch/all"; then
	echo "differs from $table"
	exit 1
fi
echo "$(wc -l < "$scratch/all") programs, as in the table"
