/* SPDX-License-Identifier: MIT */
/* A program of which all that matters is the library that it is linked with. */
int library_locked(void);

int main(void)
{
	return library_locked() != 200;
}
