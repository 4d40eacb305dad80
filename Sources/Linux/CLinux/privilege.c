#include "clinux.h"
#include "setid.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(aclfs_CAP_SYS_RESOURCE == CAP_SYS_RESOURCE, "");
_Static_assert(aclfs_CAP_SETUID == CAP_SETUID && aclfs_CAP_SETPCAP == CAP_SETPCAP, "");

/* Raw system calls: those of glibc and libcap act on all threads or do not exist. These act on the calling thread. */

static int32_t drop_from_sets(int32_t capability) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) < 0) return -errno;
  uint32_t bit = CAP_TO_MASK(capability);
  struct __user_cap_data_struct *half = &sets[CAP_TO_INDEX(capability)];
  half->effective &= ~bit;
  half->permitted &= ~bit;
  half->inheritable &= ~bit;
  return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

int32_t aclfs_has_capability(int32_t capability) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) < 0) return -errno;
  return (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

int32_t aclfs_drop_capability(int32_t capability) {
  /* The bounding set first: this needs CAP_SETPCAP, and without it nothing is changed. */
  int bounded = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
  if (bounded < 0) return -errno;
  if (bounded == 1 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) return -errno;
  /* The ambient set follows the inheritable one; it is lowered nevertheless. */
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, capability, 0, 0) < 0 && errno != EINVAL) return -errno;
  return drop_from_sets(capability);
}

int32_t aclfs_keep_capabilities(void) {
  int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
  if (bits < 0) return -errno;
  if (bits & SECBIT_NO_SETUID_FIXUP) return 0;
  return prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ? -errno : 0;
}

/* Set-id bits outlive a change of a file only if the thread that makes it has CAP_FSETID. The daemon's threads have it, except between the
 * registration of a backing file and the next call that may need it: to give it up and to take it back costs a call each time. */
_Thread_local int aclfs_set_id_state = aclfs_SET_ID_UNKNOWN;
static _Thread_local struct __user_cap_data_struct own_sets[_LINUX_CAPABILITY_U32S_3];
static _Atomic int is_ever_lowered;

/* A new thread has what the one had that started it. */
static int learn_sets(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  if (syscall(SYS_capget, &header, own_sets) < 0) return errno;
  struct __user_cap_data_struct *half = &own_sets[CAP_TO_INDEX(CAP_FSETID)];
  aclfs_set_id_state = half->effective & CAP_TO_MASK(CAP_FSETID) ? aclfs_SET_ID_HELD : aclfs_SET_ID_LOWERED;
  return 0;
}

static int set_effective(int holds) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct *half = &own_sets[CAP_TO_INDEX(CAP_FSETID)];
  uint32_t bit = CAP_TO_MASK(CAP_FSETID), before = half->effective;
  half->effective = holds ? before | (half->permitted & bit) : before & ~bit;
  if (half->effective != before && syscall(SYS_capset, &header, own_sets) < 0) {
    half->effective = before;
    return errno;
  }
  aclfs_set_id_state = holds ? aclfs_SET_ID_HELD : aclfs_SET_ID_LOWERED;
  return 0;
}

int32_t aclfs_lower_set_id(void) {
  if (aclfs_set_id_state == aclfs_SET_ID_LOWERED) return 0;
  is_ever_lowered = 1;
  int error = aclfs_set_id_state == aclfs_SET_ID_UNKNOWN ? learn_sets() : 0;
  return -(error != 0 ? error : set_effective(0));
}

/* If it fails for lack of memory, bits are cleared that root keeps otherwise. */
void aclfs_raise_set_id(void) {
  if (!is_ever_lowered) return;
  if (aclfs_set_id_state == aclfs_SET_ID_UNKNOWN && learn_sets() != 0) return;
  if (aclfs_set_id_state == aclfs_SET_ID_LOWERED) (void)set_effective(1);
}

uint32_t aclfs_setfsuid(uint32_t uid) { return (uint32_t)syscall(SYS_setfsuid, uid); }

int32_t aclfs_leave_groups(void) { return syscall(SYS_setgroups, 0, NULL) < 0 ? -errno : 0; }

int32_t aclfs_become(uint32_t uid, uint32_t gid, uint32_t real_uid, uint32_t real_gid, const uint32_t *groups, uint32_t count) {
  if (syscall(SYS_setgroups, (size_t)count, groups) < 0) return -errno;
  if (syscall(SYS_setresgid, real_gid, gid, gid) < 0) return -errno;
  return syscall(SYS_setresuid, real_uid, uid, uid) < 0 ? -errno : 0;
}
