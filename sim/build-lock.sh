#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds a lock that is not in the tree for `pawl check --load`.
#
# usage: build-lock.sh HEADER 'PAWL_LOCK(id, "name", ...)' OUT.so [INCLUDE]
#
# HEADER defines struct pawl_<id> and its operations, like any header in
# include/pawl; the second argument is its line for locks.def. Headers in
# INCLUDE/pawl, if given, take the place of those in the tree, and so do the
# runtime's sources in the folders of INCLUDE/src. PAWL_LOCK_KEEP names a folder for
# objects, what each depends on, and the commands that made them; without it, they are
# removed.
set -eu
if [ $# -lt 3 ]; then
	echo "usage: $0 HEADER 'PAWL_LOCK(...)' OUT.so [INCLUDE]" >&2
	exit 2
fi
header=$(realpath "$1") line=$2 out=$3 overlay=${4:-}
root=$(realpath "$(dirname "$0")/..")
include=$root/include
[ -d "$include" ] || include=$root/../../include # installed: share/pawl, include/pawl
scratch=${PAWL_LOCK_KEEP:-}
debug=-g0 # mutants are compiled by the hundred, and nobody reads their traces
if [ -z "$scratch" ]; then
	debug=-g scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
fi
mkdir -p "$scratch/pawl"
printf '#include "%s"\n' "$header" > "$scratch/pawl/pawl.h"
printf '%s\n' "$line" > "$scratch/pawl/locks.def"
# Without a line it is no lock of the registry, and brings its own table along.
sources=
[ -n "$line" ] && sources="$root/src/registry/registry.c"
for source in ${overlay:+"$overlay"/src/*/*.c}; do
	[ -e "$source" ] && sources="$sources $source"
done
# A trace must name the right one of equal functions; see also sim/clang.h.
case $(${CC:-cc} --version) in
*clang*) flags="-include $root/sim/clang.h" ;;
*) flags=-fno-ipa-icf ;;
esac
# The calls of -fsanitize=thread go to the checker, so no library is linked.
for source in $sources; do
	object=$scratch/$(basename "$source" .c).o
	set -- ${CC:-cc} -std=gnu11 -O1 $debug -w -fPIC $flags -fsanitize=thread \
		-U_FORTIFY_SOURCE -Dmemset=sim_memset -Dmemcpy=sim_memcpy -Dmemmove=sim_memmove \
		-Dlock_types=sim_loaded_locks -Dlock_type_find=sim_loaded_find \
		${PAWL_LOCK_FLAGS:-} \
		-I "$scratch" ${overlay:+-I "$overlay" -I "$overlay/src"} -I "$root/backend/sim" \
		-I "$include" -I "$root/src" -I "$root" \
		-c "$source" -o "$object"
	if [ -n "${PAWL_LOCK_KEEP:-}" ]; then
		printf '%s\n' "$@" > "${object%.o}.command"
		set -- "$@" -MD
	fi
	"$@"
done
${CC:-cc} -shared -Wl,-Bsymbolic -o "$out" "$scratch"/*.o
