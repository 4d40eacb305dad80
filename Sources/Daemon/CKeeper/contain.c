#include "ckeeper.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int32_t keep_in_sets(uint64_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, sets) < 0)
		return -errno;
	for (int half = 0; half < _LINUX_CAPABILITY_U32S_3; half++) {
		uint32_t mask = (uint32_t)(kept >> 32 * half);
		sets[half].effective &= mask;
		sets[half].permitted &= mask;
		sets[half].inheritable &= mask;
	}
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

int32_t aclfs_contain(uint64_t kept)
{
	/* The bounding set first: this needs CAP_SETPCAP. All that this kernel knows: reading the next one fails. */
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if (!(kept >> capability & 1) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
			return -errno;
	/* EINVAL: the kernel has none. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	int32_t result = keep_in_sets(kept);
	if (result < 0)
		return result;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
