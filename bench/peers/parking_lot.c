/* SPDX-License-Identifier: MIT */
/* The mutex of Rust's parking_lot, through parking_lot/peer.rs. */
#include "subject.h"

void parking_lot_lock(void *mutex);
void parking_lot_unlock(void *mutex);

static void lock(void *l)
{
	parking_lot_lock(l);
}

static void unlock(void *l)
{
	parking_lot_unlock(l);
}

DEFINE_SUBJECT_LOOPS(parking_lot, lock, unlock);

/* One byte in Rust; zero is unlocked. */
const struct bench_subject bench_parking_lot = {.name = "parking-lot",
						SUBJECT_LOOPS(parking_lot),
						.lock = lock,
						.unlock = unlock,
						.size = 1};
