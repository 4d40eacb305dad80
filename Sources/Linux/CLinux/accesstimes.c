#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

int32_t aclfs_set_access_times(int32_t mount, int32_t files, int32_t leaves_directories) {
  static const uint64_t bits[] = {MOUNT_ATTR_RELATIME, MOUNT_ATTR_NOATIME, MOUNT_ATTR_STRICTATIME};
  struct mount_attr attributes = {.propagation = MS_PRIVATE};
  if (files >= 0) {
    attributes.attr_clr = MOUNT_ATTR__ATIME;
    attributes.attr_set = bits[files];
  }
  if (leaves_directories) attributes.attr_set |= MOUNT_ATTR_NODIRATIME;
  else if (files >= 0) attributes.attr_clr |= MOUNT_ATTR_NODIRATIME;
  return syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0 ? -errno : 0;
}
