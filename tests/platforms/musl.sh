#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the library with musl, and programs with it, statically and dynamically, and
# runs them. The interposer is not built there, and pawl run refuses programs of musl.
#
# usage: musl.sh COMPILER PAWL
set -eu
compiler=$1 pawl=$2
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
	echo "musl.sh: $*" >&2
	exit 1
}

# The kernel's headers are nobody's libc; musl's own come first.
compile() {
	"$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror -I "$root/include" \
		-I "$root/backend/native" -I "$root/src" -idirafter /usr/include \
		-idirafter "/usr/include/$(uname -m)-linux-gnu" "$@"
}
compile -DPAWL_RUNTIME -fPIC -ftls-model=initial-exec -c "$root"/src/os/*.c \
	"$root"/src/sleep/*.c "$root"/src/sync/*.c "$root"/src/lease/*.c \
	"$root"/src/shared/*.c "$root"/src/life/*.c
ar rcs libpawl.a ./*.o
"$compiler" -shared ./*.o -o libpawl.so -Wl,-z,defs
for program in crowd soak rwlock snapshots leases; do
	compile "$root/tests/soak/$program.c" -o static-$program -static -L . -l:libpawl.a
	compile "$root/tests/soak/$program.c" -o $program -L . -l:libpawl.so \
		-Wl,-rpath,"$scratch"
done
for kind in static- ''; do
	./${kind}crowd 300
	./${kind}soak 1 1 500
	./${kind}rwlock 1
	./${kind}snapshots 1
	./${kind}leases 100000
done

# Without pawl run, musl's own linker says which library it cannot use.
status=0
LD_PRELOAD=$(dirname "$pawl")/libpawl-pthread.so ./crowd 1 >said 2>&1 || status=$?
[ $status -eq 127 ] || fail "preloaded: status $status"
grep -q "^Error relocating .*libpawl-pthread.so: .*: symbol not found" said ||
	fail "preloaded, it said: $(cat said)"

if compile -c "$root/src/preload/lock.c" 2>said; then
	fail "the interposer compiles with musl"
fi
grep -q "needs a dynamic glibc" said || fail "it does not say why: $(cat said)"
for program in crowd static-crowd; do
	status=0
	"$pawl" run -- "./$program" 1 >said 2>&1 || status=$?
	[ $status -eq 2 ] || fail "pawl run -- $program: status $status"
	case $program in
	crowd) grep -q "is linked with musl" said ;;
	*) grep -q "is statically linked" said ;;
	esac || fail "pawl run -- $program said: $(cat said)"
done
