/* Access to an object through /proc/self/fd (procfd.c). */
#ifndef ACLFS_PROCFD_H
#define ACLFS_PROCFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_getxattrat
#define SYS_getxattrat 464
#endif

/* "/proc/self/fd/N": the link leads to the descriptor's own object, a symlink included. */
struct proc_path {
  char text[32];
};
struct proc_path aclfs_proc_path(int32_t fd);

/* /proc/self/fd, or -1. */
int aclfs_proc_directory(void);

/* setxattrat(2) or getxattrat(2) on the object of a name in a directory; the last symlink is followed. -errno;
 * -ENOSYS if the call is missing. */
int64_t aclfs_xattr_at(
    long call, int32_t from, const char *at, const char *name, void *value, uint64_t size, int32_t flags);

/* The same on a descriptor's own object. */
int64_t aclfs_proc_xattr(long call, int32_t fd, const char *name, void *value, uint64_t size, int32_t flags);

#endif
