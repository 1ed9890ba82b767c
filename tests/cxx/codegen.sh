#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: codegen.sh compiler output option...
# Without exceptions: C has no unlock that must not throw.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
compiler=$1 output=$2
shift 2
"$compiler" -std=c++17 -O2 -fno-exceptions "$@" -S "$here/pairs.cpp" -o "$output-c.s"
"$compiler" -std=c++17 -O2 -fno-exceptions "$@" -DIN_CXX -S "$here/pairs.cpp" \
	-o "$output-cxx.s"
exec "$here/codegen.py" "$output-c.s" "$output-cxx.s"
