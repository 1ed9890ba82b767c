#!/bin/sh
# SPDX-License-Identifier: MIT
# Broken locks from outside the tree: a header and a line for the registry are
# all that pawl check needs to reject them.
#
# usage: outside.sh PAWL
set -eu
pawl=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# reject LOCK VERDICT LINE
reject() {
	id=${1%+park}
	"$root/sim/build-lock.sh" "$here/outside/$id.h" "$3" "$scratch/$id.so"
	status=0
	"$pawl" check --load "$scratch/$id.so" "$1" > "$scratch/output" 2>&1 || status=$?
	if [ $status -ne 1 ] || ! grep -q "  $2\$" "$scratch/output"; then
		cat "$scratch/output"
		echo "$1: expected '$2' and status 1, got status $status"
		exit 1
	fi
	# The command it printed shows the same again.
	repeat=$(sed -n "/^$2:/,\$ s/^repeat it with: pawl //p" "$scratch/output" | head -1)
	status=0
	"$pawl" $repeat > "$scratch/again" 2>&1 || status=$?
	if [ $status -ne 1 ] || ! grep -q "^$2:" "$scratch/again"; then
		cat "$scratch/again"
		echo "$1: 'pawl $repeat' does not repeat '$2'"
		exit 1
	fi
	echo "$1: $2, and again by its token"
}

reject relaxed_ticket "data race" \
	'PAWL_LOCK(relaxed_ticket, "relaxed_ticket", FIFO, FREE, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 0, "test")'
reject hasty_mcs "deadlock" \
	'PAWL_LOCK(hasty_mcs, "hasty_mcs", FIFO, HELD, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 1, "test")'
reject open_tas "data race" \
	'PAWL_LOCK(open_tas, "open_tas", ANY, FREE, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 0, "test")'
reject hasty_tas+park "deadlock" \
	'PAWL_LOCK(hasty_tas, "hasty_tas", ANY, FREE, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 0, "test")'
reject proud_tas "FIFO violated" \
	'PAWL_LOCK(proud_tas, "proud_tas", FIFO, FREE, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 0, "test")'
reject proud_tas "bypass bound exceeded" \
	'PAWL_LOCK(proud_tas, "proud_tas", ONCE, FREE, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 0, "test")'
reject wild_tas "assertion" \
	'PAWL_LOCK(wild_tas, "wild_tas", ANY, FREE, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 0, "test")'
reject wiping_ticket "data race" \
	'PAWL_LOCK(wiping_ticket, "wiping_ticket", FIFO, FREE, CONSTANT, PROMPT, NOTRY, ANYONE, CHOICE, 1, 0, "test")'
