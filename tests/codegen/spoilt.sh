#!/bin/sh
# SPDX-License-Identifier: MIT
# Spoils the mutex in ways that aarch64.sh is there to see, each of which it must
# reject, by what it says.
#
# usage: aarch64_spoilt.sh COMPILER
set -eu
compiler=$1
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
mkdir -p "$scratch/tests/codegen" "$scratch/backend"

# rejects SENTENCE SCRIPT: what sed's script makes of mutex.h.
rejects() {
	rm -rf "$scratch/include" "$scratch/backend/native"
	cp -R "$root/include" "$scratch"
	cp -R "$root/backend/native" "$scratch/backend"
	cp "$root/tests/codegen/aarch64.sh" "$scratch/tests/codegen"
	sed "$2" "$root/include/pawl/mutex.h" > "$scratch/include/pawl/mutex.h"
	if cmp -s "$root/include/pawl/mutex.h" "$scratch/include/pawl/mutex.h"; then
		echo "nothing to spoil with: $2" >&2
		status=1
	elif "$scratch/tests/codegen/aarch64.sh" "$compiler" 2> "$scratch/said"; then
		echo "not rejected: $2" >&2
		status=1
	elif ! grep -q "$1" "$scratch/said"; then
		echo "'$1' is not what it says of: $2" >&2
		cat "$scratch/said" >&2
		status=1
	fi
}

free='pawl_store_release(&m->word, 0);.*'
rejects "armv8-a: 2 exclusive loads, not 1" "s/$free/pawl_exchange_acq_rel(\&m->word, 0);/"
rejects "armv8.1-a: 2 atomic instructions, not 1" \
	"s/$free/pawl_exchange_acq_rel(\&m->word, 0);/"
rejects "[1-9] fences, not 0" "s/$free/& pawl_full_fence();/"
rejects "0 releasing stores, not 1" "s/$free/pawl_store_relaxed(\&m->word, 0);/"
exit $status
