#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the runtime and the crowd for aarch64, and runs them under an emulator.
# Not the soak, which forks: one run in twelve hung under the emulator, none of 25
# without forks. Whose fault that is has not been found out.
#
# usage: aarch64.sh COMPILER EMULATOR
set -eu
root=$(realpath "$(dirname "$0")/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

src=$root/src
"$1" -std=gnu11 -O2 -static -I "$root/include" -I "$root/backend/native" -I "$src" \
	"$src"/os/*.c "$src"/sleep/*.c "$src"/sync/*.c "$src"/lease/*.c "$src"/shared/*.c \
	"$src"/life/*.c "$root/tests/soak/crowd.c" -o "$scratch/crowd" -pthread
"$2" "$scratch/crowd" 200
