#!/bin/sh
# SPDX-License-Identifier: MIT
# Counts what the mutex's uncontended pair is compiled to for aarch64: one
# read-modify-write and no fence, with the instructions of ARMv8.0 and with the
# atomics of ARMv8.1.
#
# usage: aarch64.sh COMPILER
set -eu
compiler=$1
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

cat > "$scratch/pair.c" <<'EOF'
#include <pawl/mutex.h>
void pair(struct pawl_mutex *m, int *guarded);
void pair(struct pawl_mutex *m, int *guarded)
{
	pawl_mutex_lock(m);
	++*guarded;
	pawl_mutex_unlock(m);
}
EOF

# count PATTERN: instructions of the pair whose mnemonic matches.
count() {
	awk -F '\t' -v mnemonic="^($1)\$" '$3 ~ mnemonic { n++ } END { print n + 0 }' \
		"$scratch/listing"
}

# expect WHAT PATTERN NUMBER
expect() {
	found=$(count "$2")
	if [ "$found" -ne "$3" ]; then
		echo "$architecture: $found $1, not $3" >&2
		status=1
	fi
}

for architecture in armv8-a armv8.1-a; do
	"$compiler" -std=c11 -O2 -march=$architecture -mno-outline-atomics \
		-I "$root/include" -I "$root/backend/native" \
		-c "$scratch/pair.c" -o "$scratch/pair.o"
	"${compiler%gcc}objdump" -d "$scratch/pair.o" > "$scratch/listing"
	case $architecture in
	armv8-a) exclusive=1 atomic=0 ;;
	*) exclusive=0 atomic=1 ;;
	esac
	expect "exclusive loads" "ldaxr|ldxr" $exclusive
	expect "exclusive stores" "stlxr|stxr" $exclusive
	expect "atomic instructions" "(cas|swp|ldadd|ldset|ldclr|ldeor)a?l?" $atomic
	expect "fences" "dmb|dsb|isb" 0
	expect "releasing stores" "stlr" 1
	[ $status -eq 0 ] || cat "$scratch/listing" >&2
done
exit $status
