#!/bin/sh
# SPDX-License-Identifier: MIT
# pawl check --program as a command: statuses, sentences, tokens, compilers.
#
# usage: command.sh PAWL
set -u
pawl=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

# expect STATUS ARGUMENT...: leaves out, err
expect() {
	wanted=$1
	shift
	timeout 600 "$pawl" check "$@" > out 2> err # only against hangs
	status=$?
	if [ $status -ne "$wanted" ]; then
		echo "pawl check $*: status $status, expected $wanted"
		cat out err
		failed=1
	fi
}

# says FILE TEXT
says() {
	if ! grep -q -- "$2" "$1"; then
		echo "expected '$2' in:"
		cat "$1"
		failed=1
	fi
}

cat > sb.c << 'END'
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int x, y;
static int a, b;
static void *left(void *unused)
{
	atomic_store_explicit(&x, 1, memory_order_relaxed);
	a = atomic_load_explicit(&y, memory_order_relaxed);
	return unused;
}
static void *right(void *unused)
{
	atomic_store_explicit(&y, 1, memory_order_relaxed);
	b = atomic_load_explicit(&x, memory_order_relaxed);
	return unused;
}
int main(void)
{
	pthread_t t[2];
	pthread_create(&t[0], NULL, left, NULL);
	pthread_create(&t[1], NULL, right, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	printf("saw %d and %d\n", a, b);
	assert(a + b >= LEAST);
	return 0;
}
END

# main, flags, models.
expect 0 --program sb.c -- -DLEAST=0
says out '^sb.c  *main  *weak  *4 .*passed$'
if grep -q saw out; then
	echo "printed while exploring"
	failed=1
fi
expect 0 --program sb.c --model sc -- -DLEAST=1
expect 1 --program sb.c --model tso -- -DLEAST=1
expect 1 --program sb.c -- -DLEAST=1

# The trace names lines, variables and values; the token repeats it, and prints.
says out 'assertion: sb.c:27: a + b >= LEAST is false'
says out 'sb.c:9 .*store.* x = 1'
says out 'sb.c:16 .*load.* x: 0'
token=$(sed -n 's/^repeat it with: pawl check --program sb.c --replay \([^ ]*\) -- -DLEAST=1$/\1/p' out)
expect 1 --program sb.c --replay "$token" -- -DLEAST=1
says out 'saw 0 and 0'
says out 'assertion: sb.c:27'
if [ "$(grep -c saw out)" -ne 1 ]; then
	echo "printed more than once"
	failed=1
fi
expect 2 --program sb.c --replay nonsense -- -DLEAST=1
says err 'is not a token'

# At random: all four come up, none is left, the same seed finds the same again, and
# a token repeats it, through loops that it went round.
expect 0 --program sb.c --random 500 -- -DLEAST=0
says out ' 4 .*no failure seen$'
says err 'something new with a chance of about 0 %'
expect 2 --program sb.c --depth 2 -- -DLEAST=0
says err 'add --random N'
expect 2 --program sb.c --random 5 --depth 33 -- -DLEAST=0
says err 'use 1 to 32'
cat > spin.c << 'END'
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y, held;
static int plain;
static void *locks(void *unused)
{
	for (;;) {
		while (atomic_load(&held) && !atomic_load(&x))
			;
		if (!atomic_exchange(&held, 1))
			break;
	}
	plain++;
	atomic_store_explicit(&held, 0, memory_order_relaxed);
	atomic_store(&y, 1);
	return unused;
}
int main(void)
{
	pthread_t t[2];
	pthread_create(&t[0], NULL, locks, NULL);
	pthread_create(&t[1], NULL, locks, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return 0;
}
END
for seed in 1 2 3; do
	for depth in "" "--depth 2"; do
		expect 1 --program spin.c --random 200 --seed $seed $depth
		says out '^data race: two threads access plain'
		token=$(sed -n 's/^repeat it with: pawl check --program spin.c --replay //p' out)
		grep repeat out > first
		expect 1 --program spin.c --random 200 --seed $seed $depth
		if ! grep repeat out | diff first -; then
			echo "the same seed found something else"
			failed=1
		fi
		expect 1 --program spin.c --replay "$token"
		says out '^data race: two threads access plain'
	done
done

# The same file, compiled as ever, passes natively.
cc -DLEAST=0 sb.c -o native -pthread && ./native > out || failed=1

# Objects and shared objects, by the flags that we name; clang, if there is one.
cc $("$pawl" check --cflags) -DLEAST=0 -c sb.c && cc $("$pawl" check --libs) -o sb.so sb.o || failed=1
expect 0 --program sb.o
expect 0 --program sb.so
if command -v clang > clang.path; then
	CC=clang
	export CC
	expect 0 --program sb.c -- -DLEAST=0
	says out ' 4 .*passed$'
	expect 1 --program sb.c -- -DLEAST=1
	says out 'sb.c:9 .*store.* x = 1'
	unset CC
fi

# What does not compile, or is no program.
echo 'int main(void) { return undeclared; }' > wrong.c
expect 2 --program wrong.c
says err 'wrong.c:1:.*undeclared'
says err "'wrong.c' does not compile"
echo 'static int nothing;' > nothing.c
expect 2 --program nothing.c
says err 'has neither main nor a function check_'
expect 2 --program missing.c
says err "cannot read 'missing.c'"
expect 2 --program README.md
expect 2 --program
says err 'no program'
expect 2 --program sb.c --model arm -- -DLEAST=0
says err 'use weak, tso or sc'

# What cannot be played is refused by name; hints are not.
cat > assembly.c << 'END'
int main(void) { __asm__ volatile("" ::: "memory"); __asm__ volatile("HINT"); return 0; }
END
sed 's/HINT/nop/' assembly.c > hint.c
sed 's/HINT/cpuid/' assembly.c > cpuid.c
expect 0 --program hint.c
expect 2 --program cpuid.c
says err "cpuid.c:1: inline assembly 'cpuid' is not supported"
cat > system.c << 'END'
#include <unistd.h>
int main(void) { return getpid() == 1; }
END
expect 1 --program system.c
says out 'refused: getpid() cannot be played'
says out 'system.c:2'

# Progress, on a terminal or if asked for; looking ahead changes nothing.
cat > long.c << 'END'
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *adds(void *word)
{
	int i;
	for (i = 0; i < 4; i++)
		atomic_fetch_add((atomic_int *)word, 1);
	atomic_fetch_add(&y, 1);
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	pthread_create(&t[0], NULL, adds, &x);
	pthread_create(&t[1], NULL, adds, &x);
	pthread_create(&t[2], NULL, adds, &x);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	pthread_join(t[2], NULL);
	return 0;
}
END
expect 0 --program long.c
grep passed out | awk '{print $4}' > counted
if grep -q 'runs,' err; then
	echo "progress on what is no terminal"
	failed=1
fi
expect 0 --program long.c --progress
grep passed out | awk '{print $4}' | diff counted - || failed=1
says err '^[0-9]* runs, [0-9]*/s'

# Atomics of 16 bytes, by either compiler, and what is in no library.
cat > wide.c << 'END'
#include <stdatomic.h>
struct pair { void *p; unsigned long n; };
static _Atomic struct pair head;
static __int128 wide;
void check_load(void) { struct pair x = atomic_load(&head); (void)x; }
void check_store(void) { atomic_store(&head, ((struct pair){0, 1})); }
void check_cas(void) { atomic_compare_exchange_strong(&head, &((struct pair){0}), ((struct pair){0, 1})); }
void check_add(void) { __atomic_fetch_add(&wide, 1, __ATOMIC_SEQ_CST); }
END
for CC in cc clang; do
	command -v $CC > /dev/null || continue
	export CC
	expect 1 --program wide.c -- -w
	for line in 5 6 7 8; do
		says out "wide.c:$line  HERE"
	done
	if [ "$(grep -c 'refused: an atomic of .* bytes .* only one of 1, 2, 4 or 8' out)" -ne 4 ]; then
		echo "not all refused:"
		cat out err
		failed=1
	fi
done
unset CC
echo 'void elsewhere(void); int main(void) { elsewhere(); return 0; }' > elsewhere.c
expect 1 --program elsewhere.c
says out 'refused: elsewhere() cannot be played'

# A bound is not a pass.
cat > loop.c << 'END'
#include <stdatomic.h>
#include <pthread.h>
static atomic_int x;
static void *adds(void *unused)
{
	int i;
	for (i = 0; i < 5; i++)
		atomic_fetch_add(&x, 1);
	return unused;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, adds, NULL);
	pthread_join(t, NULL);
	return 0;
}
END
expect 0 --program loop.c --unroll 6
expect 1 --program loop.c --unroll 2
says out 'limit reached'
echo 'int main(void) { for (;;) ; }' > ever.c
expect 1 --program ever.c
says out 'limit reached: thread 0 ran .* does it end?'
expect 1 --program sb.c --limit 2 -- -DLEAST=0
says out 'limit reached: gave up after 2 executions'
[ $failed -eq 0 ] && echo "all as it should be"
exit $failed
