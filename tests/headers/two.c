/* SPDX-License-Identifier: MIT */
/* The other half. */
#include <pawl/pawl.h>

#ifdef __cplusplus
extern "C"
#endif
	int
	use_in_another_file(struct pawl_mcs *l);

int use_in_another_file(struct pawl_mcs *l)
{
	pawl_mcs_lock(l);
	pawl_mcs_unlock(l);
	return 0;
}
