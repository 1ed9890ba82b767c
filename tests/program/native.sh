#!/bin/sh
# SPDX-License-Identifier: MIT
# What is checked is ordinary C: it compiles without warnings, and passes, natively.
#
# usage: native.sh SOURCE...
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for source; do
	cc -std=c11 -Wall -Wextra -Werror -pedantic -O1 "$source" -o "$scratch/native" -pthread -latomic &&
		timeout 600 "$scratch/native" || exit 1
done
echo "$# programs passed"
