#include "clinux.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Older headers lack these. */
#ifndef SYS_fsopen
#define SYS_fsopen 430
#endif
#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif
#ifndef SYS_fsmount
#define SYS_fsmount 432
#endif
#define CLOEXEC_OF_FSOPEN 1u
#define CONFIG_CREATE 6u
#define CLOEXEC_OF_FSMOUNT 1u
#define FUSECTL_MAGIC 0x65735543

int32_t aclfs_fuse_connections(void) {
  int directory = open("/sys/fs/fuse/connections", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct statfs type;
  if (directory >= 0 && fstatfs(directory, &type) == 0 && type.f_type == FUSECTL_MAGIC) return directory;
  if (directory >= 0) close(directory);
  /* A detached mount: no path leads to it, and it ends with the descriptor. */
  long context = syscall(SYS_fsopen, "fusectl", CLOEXEC_OF_FSOPEN);
  if (context < 0) return -errno;
  long mount = syscall(SYS_fsconfig, (int)context, CONFIG_CREATE, NULL, NULL, 0);
  if (mount == 0) mount = syscall(SYS_fsmount, (int)context, CLOEXEC_OF_FSMOUNT, 0);
  int error = errno;
  close((int)context);
  return mount < 0 ? -error : (int32_t)mount;
}

int32_t aclfs_open_process(int32_t pid) {
#ifdef SYS_pidfd_open
  long process = syscall(SYS_pidfd_open, pid, 0);
  return process < 0 ? -errno : (int32_t)process;
#else
  (void)pid;
  return -ENOSYS;
#endif
}
