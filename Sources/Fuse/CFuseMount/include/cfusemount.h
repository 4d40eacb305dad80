/* Mounting, without libfuse: each function returns an open descriptor of /dev/fuse or -errno. */
#ifndef ACLFS_CFUSEMOUNT_H
#define ACLFS_CFUSEMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

enum {
	ACLFS_FUSE_MOUNT_READ_ONLY = 1 << 0,
	ACLFS_FUSE_MOUNT_NOSUID = 1 << 1,
	ACLFS_FUSE_MOUNT_NODEV = 1 << 2,
	ACLFS_FUSE_MOUNT_NOEXEC = 1 << 3,
	ACLFS_FUSE_MOUNT_NOATIME = 1 << 4,
	ACLFS_FUSE_MOUNT_STRICTATIME = 1 << 10,
	ACLFS_FUSE_MOUNT_SYNC = 1 << 6,
	ACLFS_FUSE_MOUNT_DIRSYNC = 1 << 7,
	ACLFS_FUSE_MOUNT_NODIRATIME = 1 << 8,
	ACLFS_FUSE_MOUNT_NOSYMFOLLOW = 1 << 9,
	ACLFS_FUSE_MOUNT_ALLOW_OTHER = 1 << 5,
};

/* mount(2); extra: a comma-separated list of further options of the kernel, or NULL. */
int aclfs_fuse_mount(const char *source, const char *mountpoint, uint32_t flags, uint32_t uid, uint32_t gid,
		     const char *_Nullable extra);
/* As aclfs_fuse_mount for uid 0, but detached: *mount is a descriptor of the mount. The mount ends when its last copy
 * and its last attachment are gone. extra: lines `key=value`, or NULL. */
int aclfs_fuse_mount_detached(const char *source, uint32_t flags, const char *_Nullable extra, int *mount);
/* The set-user-id helper for ordinary users. reason: its output, cut at `room` bytes with its NUL. */
int aclfs_fuse_mount_by_helper(const char *source, const char *mountpoint, uint32_t flags,
			       const char *_Nullable extra, char *reason, size_t room);
/* 0 or -errno. */
int aclfs_fuse_unmount(const char *mountpoint, bool lazily);

#pragma clang assume_nonnull end

#endif
