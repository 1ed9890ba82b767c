#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the runtime and some of the soaks for another CPU, and runs them briefly under
# an emulator, statically linked: so that the cross compiler is all that it needs.
#
# usage: emulated.sh COMPILER EMULATOR
set -eu
compiler=$1 emulator=$2
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export G_SLICE=always-malloc # or children of forks hang: emulated_forks.c

compile() {
	"$compiler" -std=gnu11 -O2 -I "$root/include" -I "$root/backend/native" -I "$root/src" "$@"
}
cd "$scratch"
compile -DPAWL_RUNTIME -c "$root"/src/os/*.c "$root"/src/sleep/*.c "$root"/src/sync/*.c \
	"$root"/src/lease/*.c "$root"/src/shared/*.c "$root"/src/life/*.c
ar rcs libpawl.a ./*.o
for program in crowd soak rwlock snapshots leases; do
	compile "$root/tests/soak/$program.c" -o $program -static -L . -lpawl -pthread
done
"$emulator" ./crowd 200
"$emulator" ./soak 1 1 500
"$emulator" ./rwlock 1
"$emulator" ./snapshots 1
PAWL_LEASE_MODE=thread "$emulator" ./leases 50000
PAWL_LEASE_MODE=fenced "$emulator" ./leases 50000
