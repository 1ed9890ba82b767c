#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: misuse.sh source compiler option...
# Compiles the source as it is; then with each MISUSE that it knows, which must fail
# on the line of that mistake.
set -eu
source=$1
shift
case $1 in
*clang*) safety=-Werror=thread-safety ;;
*) safety= ;; # gcc knows nothing of it
esac
compile()
{
	"$@" -pedantic-errors $safety -fsyntax-only "$source" 2>&1
}
compile "$@" || { echo "right use does not compile" >&2; exit 1; }
count=0
for misuse in $(sed -n 's/^#if MISUSE == \([0-9]*\)$/\1/p' "$source"); do
	count=$((count + 1))
	line=$(($(grep -n "^#if MISUSE == $misuse\$" "$source" | cut -d: -f1) + 1))
	! said=$(compile "$@" -DMISUSE="$misuse") ||
		{ echo "misuse $misuse compiles" >&2; exit 1; }
	case $said in
	*":$line:"*error:*) ;;
	*) echo "misuse $misuse fails, but not in line $line: $said" >&2; exit 1 ;;
	esac
done
[ $count -gt 0 ] || { echo "nothing was misused" >&2; exit 1; }
