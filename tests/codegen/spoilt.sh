#!/bin/sh
# SPDX-License-Identifier: MIT
# Spoils headers in ways that listing.sh is there to see, each of which it must
# reject, by what it says.
#
# usage: spoilt.sh aarch64|riscv64 COMPILER...
set -eu
cpu=$1
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
mkdir -p "$scratch/tests/codegen" "$scratch/backend"

# rejects SENTENCE FILE SCRIPT: what sed's script makes of the file.
rejects() {
	sentence=$1 file=$2 script=$3
	shift 3
	rm -rf "$scratch/include" "$scratch/backend/native"
	cp -R "$root/include" "$scratch"
	cp -R "$root/backend/native" "$scratch/backend"
	cp "$root/tests/codegen/listing.sh" "$scratch/tests/codegen"
	sed "$script" "$root/$file" > "$scratch/$file"
	if cmp -s "$root/$file" "$scratch/$file"; then
		echo "nothing to spoil with: $script" >&2
		status=1
	elif "$scratch/tests/codegen/listing.sh" "$@" 2> "$scratch/said"; then
		echo "not rejected: $script" >&2
		status=1
	elif ! grep -q "$sentence" "$scratch/said"; then
		echo "'$sentence' is not what it says of: $script" >&2
		cat "$scratch/said" >&2
		status=1
	fi
}

mutex=include/pawl/mutex.h
ticket=include/pawl/ticket.h
cpu_file=backend/native/pawl/backend/arch/$cpu.h
free='pawl_store_release(&m->word, 0);.*'
case $cpu in
aarch64)
	swap="s/$free/pawl_exchange_acq_rel(\&m->word, 0);/"
	rejects "armv8-a: 2 exclusive loads in mutex_pair, not 1" $mutex "$swap" "$@"
	rejects "armv8.1-a: 2 atomic instructions in mutex_pair, not 1" $mutex "$swap" "$@"
	rejects "[1-9] fences in mutex_pair, not 0" $mutex "s/$free/& pawl_full_fence();/" "$@"
	rejects "0 releasing stores in mutex_pair, not 1" $mutex \
		"s/$free/pawl_store_relaxed(\&m->word, 0);/" "$@"
	rejects "0 waits for events in ticket_pair, not 1" "$cpu_file" "s/wfe/nop/" "$@"
	rejects "0 acquire fences in fences, not 1" "$cpu_file" "s/ishld/ish/" "$@"
	;;
riscv64)
	rejects "0 release fences in mutex_pair, not 1" $mutex \
		"s/$free/pawl_store_relaxed(\&m->word, 0);/" "$@"
	rejects "2 fences in mutex_pair, not 1" $mutex "s/$free/& pawl_full_fence();/" "$@"
	rejects "0 acquire fences in ticket_pair, not 1" $ticket \
		"s/pawl_await_eq_acquire/pawl_await_eq_relaxed/" "$@"
	rejects "0 acquire fences in fences, not 1" "$cpu_file" "s/fence	r, rw/fence	rw, rw/" "$@"
	rejects "0 release fences in fences, not 1" "$cpu_file" "s/fence	rw, w/fence	rw, rw/" "$@"
	;;
esac
exit $status
