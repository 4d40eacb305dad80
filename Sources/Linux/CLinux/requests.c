#include "clinux.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel accepts calls of several ABIs, each with its own numbers. */
#if defined(__x86_64__)
#define OWN_KIND AUDIT_ARCH_X86_64
#define KIND_OF_32_BITS AUDIT_ARCH_I386
/* x32 too: its programs count as the native ABI and have one more bit in their numbers. */
#define X32_BIT 0x40000000u
#define X32_IOCTL 514
#elif defined(__aarch64__)
#define OWN_KIND AUDIT_ARCH_AARCH64
#define KIND_OF_32_BITS AUDIT_ARCH_ARM
#define X32_BIT 0u
#define X32_IOCTL SYS_ioctl
#else
#error "the numbers of ioctl(2) on this architecture are not known"
#endif
/* On i386 and on arm. */
#define IOCTL_OF_32_BITS 54

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half of an argument comes first");
_Static_assert(X32_BIT == 0 || SYS_ioctl == 16, "");

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
/* Each skips this number of instructions, or none. */
#define SKIP_IF(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, count, 0)
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)

int32_t aclfs_filter_requests(void) {
  struct sock_filter program[] = {
      LOAD(arch),
      SKIP_UNLESS(OWN_KIND, 5),
      LOAD(nr),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~X32_BIT),
      SKIP_IF(SYS_ioctl, 6),
      SKIP_IF(X32_IOCTL, 5),
      ANSWER(SECCOMP_RET_ALLOW),
      SKIP_UNLESS(KIND_OF_32_BITS, 2),
      LOAD(nr),
      SKIP_IF(IOCTL_OF_32_BITS, 1),
      ANSWER(SECCOMP_RET_ALLOW),
      /* The kernel uses the lower half of the request only. */
      LOAD(args[1]),
      SKIP_IF(TIOCSTI, 6),
      SKIP_IF(TIOCLINUX, 5),
      SKIP_IF(BTRFS_IOC_SNAP_CREATE, 4),
      SKIP_IF(BTRFS_IOC_SNAP_CREATE_V2, 3),
      SKIP_IF(BTRFS_IOC_SNAP_DESTROY, 2),
      SKIP_IF(BTRFS_IOC_SNAP_DESTROY_V2, 1),
      ANSWER(SECCOMP_RET_ALLOW),
      ANSWER(SECCOMP_RET_ERRNO | EPERM),
  };
  struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
  /* Without the flag, kernels before 5.16 turn on mitigations of speculation, which slow the program and have no use
   * here. */
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) < 0 ? -errno : 0;
}
