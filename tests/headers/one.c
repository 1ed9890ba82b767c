/* SPDX-License-Identifier: MIT */
/* Half of a program that includes everything twice; C11 and C++17. */
#include <pawl/pawl.h>

#ifdef __cplusplus
extern "C"
#endif
	int
	use_in_another_file(struct pawl_mcs *l);

/* A lock inside something else, with its initializer. */
struct account {
	struct pawl_mcs l;
	int balance;
};

int main(void)
{
	struct account account = {PAWL_MCS_INIT, 1};

	pawl_mcs_lock(&account.l);
	account.balance--;
	pawl_mcs_unlock(&account.l);
	return use_in_another_file(&account.l) + account.balance;
}
