/* Detached copies of mounts, and inherited descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clinux.h"

#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef OPEN_TREE_CLOEXEC
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 0x4
#endif
#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x200
#endif

int32_t aclfs_clone_mount(int32_t fd)
{
  long answer = syscall(SYS_open_tree, fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  return answer < 0 ? -errno : (int32_t)answer;
}

int32_t aclfs_attach_beneath(int32_t mount, const char *place) {
  long answer = syscall(SYS_move_mount, mount, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_BENEATH);
  return answer < 0 ? -errno : 0;
}

int32_t aclfs_umount_of(int32_t fd, int32_t flags) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return umount2(link, flags) < 0 ? -errno : 0;
}

int32_t aclfs_enter_mount_namespace(int32_t fd) {
  return setns(fd, CLONE_NEWNS) < 0 ? -errno : 0;
}

int32_t aclfs_close_range(uint32_t first, uint32_t last)
{
  long answer = syscall(SYS_close_range, first, last, 0);
  return answer < 0 ? -errno : 0;
}
