/* SPDX-License-Identifier: MIT */
/* pawl/pawl.h - every lock of the library. See docs/locks.md for which. */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H

#include <pawl/clh.h>
#include <pawl/cna.h>
#include <pawl/cohort.h>
#include <pawl/cond.h>
#include <pawl/counter.h>
#include <pawl/hapax.h>
#include <pawl/hapax_vw.h>
#include <pawl/hemlock.h>
#include <pawl/hemlock_ah.h>
#include <pawl/hemlock_chain.h>
#include <pawl/hemlock_ctr.h>
#include <pawl/hemlock_oh1.h>
#include <pawl/hemlock_oh2.h>
#include <pawl/hemlock_overlap.h>
#include <pawl/idalloc.h>
#include <pawl/lease.h>
#include <pawl/mcs.h>
#include <pawl/mutex.h>
#include <pawl/pool.h>
#include <pawl/reciprocating.h>
#include <pawl/reciprocating_fair.h>
#include <pawl/semaphore.h>
#include <pawl/rwlock.h>
#include <pawl/seqlock.h>
#include <pawl/shards.h>
#include <pawl/shared.h>
#include <pawl/slots.h>
#include <pawl/tas.h>
#include <pawl/ticket.h>
#include <pawl/tidex.h>
#include <pawl/ttas.h>
#include <pawl/twa.h>

#endif /* PAWL_PAWL_H */
