/* SPDX-License-Identifier: MIT */
/* PAWL_ZERO wherever a lock can be: alone, in a struct, in an array, on a stack. */
#include <pawl/pawl.h>

struct account {
	struct pawl_mcs l;
	int balance;
};

struct bank {
	struct account first;
	struct pawl_mutex m;
	struct pawl_mutex many[2];
	struct pawl_hapax_vw v;
};

struct record {
	struct pawl_seqlock s;
	pawl_atomic64 words[3];
};

struct bank bank = {
	{PAWL_MCS_INIT, 1}, PAWL_MUTEX_INIT, {PAWL_MUTEX_INIT, PAWL_ZERO}, PAWL_ZERO};
struct record record = {PAWL_SEQLOCK_INIT, PAWL_ZERO};

#define PAWL_LOCK(id, name, admission, context, unlock, destroy, try, release, waiting, \
		  lock_rmws, unlock_rmws, source)                                       \
	struct pawl_##id id = PAWL_ZERO;
#include <pawl/locks.def>
#undef PAWL_LOCK

int main(void)
{
	struct pawl_ticket local = PAWL_TICKET_INIT;

	pawl_ticket_lock(&local);
	pawl_ticket_unlock(&local);
	return 0;
}
