#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/nsfs.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calls by number: glibc has names for them since 2.36. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef PIDFD_GET_USER_NAMESPACE
#define PIDFD_GET_USER_NAMESPACE _IO(0xFF, 9)
#endif

_Static_assert(aclfs_CLONE_NEWUSER == CLONE_NEWUSER && aclfs_CLONE_NEWNS == CLONE_NEWNS, "");
_Static_assert(aclfs_CLONE_NEWPID == CLONE_NEWPID && aclfs_CLONE_NEWIPC == CLONE_NEWIPC, "");

static int32_t answer(long result) { return result < 0 ? -errno : (int32_t)result; }

int32_t aclfs_unshare(int32_t namespaces) { return answer(unshare(namespaces)); }

int32_t aclfs_clone_tree(int32_t fd) {
  return answer(syscall(SYS_open_tree, fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

int32_t aclfs_attach_mount(int32_t mount, int32_t place) {
  return answer(syscall(SYS_move_mount, mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}

int32_t aclfs_forbid_devices(int32_t mount) {
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NODEV};
  return answer(syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes));
}

int32_t aclfs_allow_devices(int32_t mount) {
  struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_NODEV};
  return answer(syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes));
}

int32_t aclfs_small_mount(int32_t writable) {
  int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (fs < 0) return -errno;
  int32_t result = 0;
  if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "source", "none", 0) < 0 ||
      syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", writable ? "755" : "555", 0) < 0 ||
      (!writable && syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "nr_inodes", "2", 0) < 0) ||
      syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
    result = -errno;
  else
    result = answer(syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
                            MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (writable ? 0 : MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY)));
  close(fs);
  return result;
}

int32_t aclfs_fork(void) {
  /* Text in stdio's buffers would be written twice. */
  fflush(NULL);
  return answer(fork());
}

int32_t aclfs_end_with_parent(int32_t number) { return answer(prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)); }

int32_t aclfs_hide_process(void) { return answer(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }

int32_t aclfs_give_up_privileges(void) {
  /* First, while CAP_SETPCAP is left: exec as root grants no capability, and no process can undo that. */
  unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                       SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0) return -errno;
  /* All that this kernel knows: reading the next one fails. */
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) return -errno;
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) return -errno;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
  if (syscall(SYS_capset, &header, none) < 0) return -errno;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int32_t aclfs_new_session_keyring(void) {
  return answer(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0)) < 0 ? -errno : 0;
}

int32_t aclfs_signal_descriptor(const int32_t *numbers, uint32_t count) {
  sigset_t set;
  sigemptyset(&set);
  for (uint32_t i = 0; i < count; i++) sigaddset(&set, numbers[i]);
  return answer(signalfd(-1, &set, SFD_CLOEXEC));
}

int32_t aclfs_next_signal(int32_t fd, int32_t *code) {
  struct signalfd_siginfo info;
  ssize_t count = read(fd, &info, sizeof info);
  if (count < 0) return -errno;
  if (count != sizeof info) return -EIO;
  *code = info.ssi_code;
  return (int32_t)info.ssi_signo;
}

int32_t aclfs_descriptor_flags(int32_t fd) { return answer(fcntl(fd, F_GETFL)); }

int32_t aclfs_control_peer_process(int32_t fd) {
  int process = -1;
  socklen_t size = sizeof process;
  return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &size) < 0 ? -errno : process;
}

int32_t aclfs_user_namespace(int32_t process) { return answer(ioctl(process, PIDFD_GET_USER_NAMESPACE, 0)); }

int32_t aclfs_namespace_parent(int32_t namespace) { return answer(ioctl(namespace, NS_GET_PARENT, 0)); }

int32_t aclfs_namespace_owner(int32_t namespace, uint32_t *uid) { return answer(ioctl(namespace, NS_GET_OWNER_UID, uid)); }

int32_t aclfs_is_process_alive(int32_t process) {
  if (syscall(SYS_pidfd_send_signal, process, 0, NULL, 0) == 0 || errno == EPERM) return 1;
  return errno == ESRCH ? 0 : -errno;
}
