#!/bin/sh
# SPDX-License-Identifier: MIT
# Reads off the listing what counting, and taking and returning an id, are compiled to
# where restartable sequences are used: from the function's first instruction to its
# first return there is no call, no read-modify-write, no fence and no division, and
# not more instructions than is said here. (Stepping through would not do: a sequence
# that is stepped through is cut short.) And code for a shared library has none.
#
# usage: sequences.sh COMPILER
set -eu
compiler=$1
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

cat > "$scratch/users.c" <<'EOF'
#include <pawl/counter.h>
#include <pawl/idalloc.h>
void count(struct pawl_counter *c);
void count(struct pawl_counter *c)
{
	pawl_counter_add(c, 1);
}
uint32_t get(struct pawl_idalloc *a);
uint32_t get(struct pawl_idalloc *a)
{
	return pawl_idalloc_get(a);
}
void put(struct pawl_idalloc *a, uint32_t id);
void put(struct pawl_idalloc *a, uint32_t id)
{
	pawl_idalloc_put(a, id);
}
EOF

# build FLAGS...: makes users.o and its listing
build() {
	"$compiler" -std=gnu11 -O2 "$@" -I "$root/include" -I "$root/backend/native" \
		-c "$scratch/users.c" -o "$scratch/users.o"
	case $compiler in
	*-gcc) objdump=${compiler%gcc}objdump ;;
	*) objdump=objdump ;;
	esac
	"$objdump" -d --no-show-raw-insn "$scratch/users.o" > "$scratch/listing"
}

# expect FUNCTION MOST: what is in the way between its start and its first return
expect() {
	awk -v name="<$1>:" -v most="$2" '
		index($0, name) { inside = 1; next }
		!inside || NF < 2 { next }
		{ n++; line = $0; sub(/^[^\t]*\t/, "", line); print "\t" line > "/dev/stderr" }
		line ~ /^(call|bl|blr|lock|xchg|.?fence|dmb|div|idiv|udiv|ld.?xr|st.?xr)[ \t]/ {
			print name " has " line; exit 1
		}
		line ~ /^ret/ {
			print name " " n - 1 " instructions"
			exit n - 1 > most
		}' "$scratch/listing" 2> "$scratch/body" && return
	echo "$1: more than $2 instructions, or one that should not be there:" >&2
	cat "$scratch/body" >&2
	status=1
}

build -fPIE
expect count 32
expect get 42
expect put 40
build -fPIC
if "$compiler" -dM -E -x c /dev/null | grep -q __ELF__ &&
	readelf -S "$scratch/users.o" | grep -q __rseq_cs; then
	echo "code for a shared library has restartable sequences" >&2
	status=1
fi
exit $status
