#!/bin/sh
# SPDX-License-Identifier: MIT
# Reads what the uncontended pairs of mutex and ticket, and the fences, are compiled to
# for another CPU: one read-modify-write in a pair and no fence that need not be; the
# atomics of ARMv8.1 where the compiler may use them; WFE in waits; on RISC-V the very
# fences of the mapping that the ISA manual recommends.
#
# usage: listing.sh aarch64|riscv64 COMPILER...
# gcc before 14 makes more than that of RISC-V's acquires and stores, which it is
# allowed to: there only what pawl itself says is looked at.
set -eu
cpu=$1
shift
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

cat > "$scratch/listed.c" <<'EOS'
#include <pawl/mutex.h>
#include <pawl/ticket.h>
void mutex_pair(struct pawl_mutex *m, int *guarded);
void mutex_pair(struct pawl_mutex *m, int *guarded)
{
	pawl_mutex_lock(m);
	++*guarded;
	pawl_mutex_unlock(m);
}
void ticket_pair(struct pawl_ticket *l, int *guarded);
void ticket_pair(struct pawl_ticket *l, int *guarded)
{
	pawl_ticket_lock(l);
	++*guarded;
	pawl_ticket_unlock(l);
}
void fences(int *guarded);
void fences(int *guarded)
{
	pawl_acquire_fence();
	++*guarded;
	pawl_release_fence();
	++*guarded;
	pawl_full_fence();
	++*guarded;
}
EOS

# compile ARCHITECTURE OPTION...: into the listing.
compile() {
	architecture=$1
	shift
	"$@" -std=c11 -O2 "-march=$architecture" -I "$root/include" \
		-I "$root/backend/native" -c "$scratch/listed.c" -o "$scratch/listed.o"
	"$cpu-linux-gnu-objdump" -d --no-show-raw-insn "$scratch/listed.o" > "$scratch/listing"
}

# expect NUMBER WHAT FUNCTION PATTERN: instructions of the function that match, with
# their operands.
expect() {
	found=$(awk -F '\t' -v name="<$3>:" -v pattern="^($4)\$" '
		/^[0-9a-f]+ <[a-z]/ { inside = index($0, name) > 0 }
		inside && $2 != "" { sub(/ +\/\/.*/, "", $3); if (($2 " " $3) ~ pattern) n++ }
		END { print n + 0 }' "$scratch/listing")
	if [ "$found" -ne "$1" ]; then
		echo "$architecture: $found $2 in $3, not $1" >&2
		status=1
	fi
}

fence="(dmb|dsb|isb|fence) .*"
case $cpu in
aarch64)
	for architecture in armv8-a armv8.1-a; do
		compile $architecture "$@" -mno-outline-atomics
		case $architecture in
		armv8-a) exclusive=1 atomic=0 ;;
		*) exclusive=0 atomic=1 ;;
		esac
		for pair in mutex_pair ticket_pair; do
			expect $exclusive "exclusive stores" $pair "stl?xr .*"
			expect $atomic "atomic instructions" $pair \
				"(cas|swp|ldadd|ldset|ldclr|ldeor)a?l? .*"
			expect 0 fences $pair "$fence"
			expect 1 "releasing stores" $pair "stlr .*"
		done
		expect $exclusive "exclusive loads" mutex_pair "lda?xr .*"
		expect 1 "waits for events" ticket_pair "wfe .*"
		expect 3 fences fences "$fence"
		expect 1 "acquire fences" fences "dmb ishld"
		expect 2 "other fences" fences "dmb ish"
	done
	# An update whose result is thrown away into XZR is no read that a fence or its own
	# acquire would order (MP+rel+SWPacq-noret in docs/verification.md).
	"$@" -std=gnu11 -O2 -march=armv8.1-a -mno-outline-atomics -I "$root/include" \
		-I "$root/backend/native" -I "$root/src" -c "$root/src/registry/registry.c" \
		-o "$scratch/locks.o"
	if aarch64-linux-gnu-objdump -d --no-show-raw-insn "$scratch/locks.o" |
		grep -E '[[:space:]](ldadd|ldset|ldclr|ldeor|swp)al?[[:space:]].*zr, \['; then
		echo "an acquiring update whose result nobody reads" >&2
		status=1
	fi
	;;
riscv64)
	compile rv64gc "$@"
	# Without a name: PAUSE, which is one of FENCE's encodings.
	expect 3 fences fences "fence .*"
	expect 1 "acquire fences" fences "fence r,rw"
	expect 1 "release fences" fences "fence rw,w"
	expect 1 "full fences" fences "fence (rw,rw|iorw,iorw)?"
	expect 1 "conditional stores" mutex_pair "sc\.d.* .*"
	expect 1 "atomic additions" ticket_pair "amoadd\.d .*"
	expect 1 "pauses" ticket_pair "(fence w,unknown|pause ?.*)"
	case $1 in
	*gcc*) ;; # what it makes of loads and stores is its own affair
	*)
		expect 1 "acquiring reserved loads" mutex_pair "lr\.d\.aq .*"
		expect 1 fences mutex_pair "fence .*"
		expect 1 "release fences" mutex_pair "fence rw,w"
		expect 2 fences ticket_pair "fence (r|rw),.*"
		expect 1 "acquire fences" ticket_pair "fence r,rw"
		expect 1 "release fences" ticket_pair "fence rw,w"
		expect 0 "swaps" ticket_pair "amoswap.*"
		;;
	esac
	;;
esac
[ $status -eq 0 ] || cat "$scratch/listing" >&2
exit $status
