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
mutex | cond | semaphore) sources="sync/cond sync/mutex sync/jumps sync/mutex_poll sleep/park sleep/copies" ;;
hapax) sources=sync/hapax_timed ;;
hapax+park) sources="sync/hapax_timed sleep/park sleep/copies" ;;
park) sources="sleep/park sleep/copies" ;;
copies) # renames what headers use, so it includes them itself
	sources="sleep/park sleep/copies"
	flags=
	;;
debug) # asks the dynamic linker where a call is, and the registry about every lock
	sources=
	flags="$flags -D_GNU_SOURCE -I $root/include"
	;;
depot) sources=lease/depot ;;
fence) sources=sleep/barrier ;;
guard) # beside what stands in for it
	sources=sleep/guard
	flags="$flags -Dsim_guard_lock=sim_real_guard_lock"
	flags="$flags -Dsim_guard_unlock=sim_real_guard_unlock"
	flags="$flags -Dsim_guard_lock_for=sim_real_guard_lock_for"
	;;
interposer)
	sources="preload/cond preload/lock preload/mutex preload/rwlock preload/spin"
	flags="$flags -include $root/sim/check/interposer_names.h"
	;;
rwlock | jump) sources="sync/rwlock sync/rwlock_write sync/mutex sync/jumps sync/mutex_poll sleep/park sleep/copies" ;;
reads) sources=sync/readers ;;
heirs)
	sources="lease/depot lease/handle lease/heirs lease/lease lease/shards"
	sources="$sources lease/slots life/exit"
	;;
lease | handle) sources="lease/lease lease/handle life/exit" ;;
shared) sources="shared/lock shared/agents" ;;
slots)
	sources="lease/depot lease/shards lease/slots"
	flags="$flags -include $root/sim/check/slots_names.h"
	;;
*) sources= ;;
esac
case $1 in
interposer | start)
	case $(${CC:-cc} --version) in
	*clang*) flags="$flags -mllvm -tsan-distinguish-volatile=1" ;;
	*) flags="$flags --param=tsan-distinguish-volatile=1" ;;
	esac
	;;
esac
for source in $sources; do
	mkdir -p "$overlay/src/${source%/*}"
	[ -e "$overlay/src/$source.c" ] ||
		cp "$root/src/$source.c" "$overlay/src/$source.c"
done
if [ -e "$root/sim/check/$lock.c" ]; then
	line= name=$lock
	# Scenarios include these, as <shared/shared.c>.
	for included in lease/counter.c lease/mode.c lease/pool.c preload/filter.c preload/glibc.c \
		preload/lock.c preload/mutex.c preload/record.c preload/start.c \
		shared/region.c shared/shared.c sleep/fence.c sync/debug.c sync/hapax.c \
		sync/homes.c sync/nodes.c sync/reads.c; do
		[ -e "$overlay/src/$included" ] || continue
		case " $sources " in *" ${included%.c} "*) continue ;; esac # an object
		mkdir -p "$overlay/${included%/*}"
		mv "$overlay/src/$included" "$overlay/$included"
	done
	cp "$root/sim/check/$lock.c" "$overlay/src/check/check_$lock.c"
	flags="$flags -I $root/sim/check -D${lock}_types=sim_loaded_locks"
	flags="$flags -D${lock}_scenarios=sim_loaded_scenarios"
else
	line=$(grep "^PAWL_LOCK($lock," "$root/include/pawl/locks.def")
	name=$(echo "$line" | sed 's/^[^"]*"\([^"]*\)".*/\1/')
fi
header=$overlay/pawl/$lock.h
[ -e "$header" ] || ! [ -e "$root/include/pawl/$lock.h" ] ||
	cp "$root/include/pawl/$lock.h" "$header"
[ -e "$header" ] || header=$root/include/pawl/atomic.h
PAWL_LOCK_FLAGS=$flags "$root/sim/build-lock.sh" "$header" "$line" "$out" "$overlay" >&2
echo "$name${1#"$lock"}"
