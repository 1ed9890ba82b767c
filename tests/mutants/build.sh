#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds what pawl check runs, with some files changed, for pawl check --load.
#
# usage: build.sh LOCK OVERLAY OUT.so
#
# LOCK is an id of locks.def, also as ID+park, or an object of sim/check. Files
# in OVERLAY/pawl and OVERLAY/src take the place of those in include/pawl and
# src; the rest of what they are compiled into is added to OVERLAY. Prints the
# name that pawl check --load knows it by.
set -eu
lock=${1%+park} overlay=$2 out=$3
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")

mkdir -p "$overlay/pawl" "$overlay/src/check"
cp "$here/weaker.h" "$overlay/pawl/"
flags="-include $overlay/pawl/weaker.h"
# The runtime's sources see a changed header only if they are built anew.
case $1 in
mutex | cond | semaphore) sources="sync/cond sync/mutex sync/mutex_poll sleep/park" ;;
hapax) sources=sync/hapax_timed ;;
hapax+park) sources="sync/hapax_timed sleep/park" ;;
park) sources=sleep/park ;;
depot) sources=lease/depot ;;
fence) sources=sleep/barrier ;;
guard) # beside what stands in for it
	sources=sleep/guard
	flags="$flags -Dsim_guard_lock=sim_real_guard_lock"
	flags="$flags -Dsim_guard_unlock=sim_real_guard_unlock"
	;;
rwlock) sources="sync/rwlock sync/rwlock_write sync/mutex sync/mutex_poll sleep/park" ;;
lease | handle) sources="lease/lease lease/handle life/exit" ;;
shared) sources="shared/lock shared/agents" ;;
*) sources= ;;
esac
for source in $sources; do
	mkdir -p "$overlay/src/${source%/*}"
	[ -e "$overlay/src/$source.c" ] ||
		cp "$root/src/$source.c" "$overlay/src/$source.c"
done
if [ -e "$root/sim/check/$lock.c" ]; then
	line= name=$lock
	# The scenarios of shared include this one, as <shared/shared.c>.
	if [ -e "$overlay/src/shared/shared.c" ]; then
		mkdir -p "$overlay/shared"
		mv "$overlay/src/shared/shared.c" "$overlay/shared/"
	fi
	cp "$root/sim/check/$lock.c" "$overlay/src/check/check_$lock.c"
	flags="$flags -I $root/sim/check -D${lock}_types=sim_loaded_locks"
	flags="$flags -D${lock}_scenarios=sim_loaded_scenarios"
else
	line=$(grep "^PAWL_LOCK($lock," "$root/include/pawl/locks.def")
	name=$(echo "$line" | sed 's/^[^"]*"\([^"]*\)".*/\1/')
fi
header=$overlay/pawl/$lock.h
[ -e "$header" ] || header=$root/include/pawl/$lock.h
[ -e "$header" ] || header=$root/include/pawl/atomic.h
PAWL_LOCK_FLAGS=$flags "$root/sim/build-lock.sh" "$header" "$line" "$out" "$overlay" >&2
echo "$name${1#"$lock"}"
