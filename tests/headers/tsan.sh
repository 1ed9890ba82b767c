#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: tsan.sh compiler source object option...
set -eu
compiler=$1 source=$2 object=$3
shift 3
"$compiler" "$@" -O1 -c "$source" -o "$object"
! nm "$object" | grep __tsan_ || { echo "an ordinary build has the above" >&2; exit 1; }
"$compiler" "$@" -O1 -fsanitize=thread -c "$source" -o "$object"
nm "$object" | grep -q ' U __tsan_acquire' || { echo "it goes unnoticed" >&2; exit 1; }
! nm "$object" | grep -v ' U ' | grep -w '__tsan_[a-z_]*' ||
	{ echo "the above is defined in the user's object" >&2; exit 1; }
