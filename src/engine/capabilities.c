/*
 * capabilities.c: by system calls alone: libcap would be one more library to have.
 */
#include "capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 64

/* Only root may, and only for root do they count: a program that root starts has all of them. */
static void bound(uint64_t kept)
{
	for (int i = 0; i < MOST && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(kept >> i & 1))
			(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

/* The ambient ones are among the inheritable ones, or the kernel takes them away. */
int capabilities_keep(uint64_t kept)
{
	struct __user_cap_header_struct of_this_thread = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	bound(kept);
	if (syscall(SYS_capget, &of_this_thread, sets) < 0)
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		const uint32_t half = (uint32_t)(kept >> 32 * i);

		sets[i].effective &= half;
		sets[i].permitted &= half;
		sets[i].inheritable &= half;
	}
	return (int)syscall(SYS_capset, &of_this_thread, sets);
}
