#!/bin/sh
# SPDX-License-Identifier: MIT
# The two findings of docs/verification.md.
#
# usage: findings.sh PAWL
set -eu
pawl=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Hapax as published waits on a slot for ever, not for a bounded time. C11 lets
# a waiter miss its hand-over; TSO does not; the bounded wait makes up for it.
status=0
"$pawl" check hapax --steadfast > "$scratch/output" 2>&1 || status=$?
if [ $status -ne 1 ] || ! grep -q '^lost wake-up:' "$scratch/output"; then
	cat "$scratch/output"
	echo "hapax as published: expected a lost wake-up"
	exit 1
fi
"$pawl" check hapax --steadfast --model tso > "$scratch/output" 2>&1 || {
	cat "$scratch/output"
	echo "hapax as published, under TSO: expected to pass"
	exit 1
}
"$pawl" check hapax > "$scratch/output" 2>&1 || {
	cat "$scratch/output"
	echo "hapax: expected to pass"
	exit 1
}
echo "hapax as published: lost wake-up under weak, none under tso; cured: none"

# Hapax-VW with release and acquire in place of sequential consistency is the
# mutant hapax_vw acq_rel.
