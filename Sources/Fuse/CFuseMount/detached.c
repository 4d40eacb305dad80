#include "cfusemount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Missing in older headers. */
#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif

static int set(int fs, const char *key, const char *value)
{
	unsigned command = value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
	return syscall(SYS_fsconfig, fs, command, key, value, 0) < 0 ? -errno : 0;
}

/* Lines `key=value`. */
static int set_lines(int fs, const char *lines)
{
	while (*lines) {
		char line[512];
		size_t length = strcspn(lines, "\n");
		if (length >= sizeof line)
			return -ENAMETOOLONG;
		memcpy(line, lines, length);
		line[length] = 0;
		lines += length + (lines[length] == '\n');
		char *value = strchr(line, '=');
		if (value)
			*value++ = 0;
		int result = *line ? set(fs, line, value) : 0;
		if (result < 0)
			return result;
	}
	return 0;
}

static int configure(int fs, const char *source, int device, uint32_t flags, const char *extra)
{
	char number[16];
	snprintf(number, sizeof number, "%d", device);
	const char *const pairs[][2] = {
		{ "source", source }, { "subtype", "aclfs" }, { "fd", number },
		{ "rootmode", "40000" }, { "user_id", "0" }, { "group_id", "0" },
	};
	int result = 0;
	for (size_t i = 0; !result && i < sizeof pairs / sizeof *pairs; i++)
		result = set(fs, pairs[i][0], pairs[i][1]);
	if (!result && flags & ACLFS_FUSE_MOUNT_ALLOW_OTHER)
		result = set(fs, "allow_other", NULL);
	if (!result && flags & ACLFS_FUSE_MOUNT_READ_ONLY)
		result = set(fs, "ro", NULL);
	if (!result && flags & ACLFS_FUSE_MOUNT_SYNC)
		result = set(fs, "sync", NULL);
	if (!result && flags & ACLFS_FUSE_MOUNT_DIRSYNC)
		result = set(fs, "dirsync", NULL);
	if (!result && extra)
		result = set_lines(fs, extra);
	if (!result && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		result = -errno;
	return result;
}

static unsigned attributes(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		unsigned kernel;
	} table[] = {
		{ ACLFS_FUSE_MOUNT_READ_ONLY, MOUNT_ATTR_RDONLY }, { ACLFS_FUSE_MOUNT_NOSUID, MOUNT_ATTR_NOSUID },
		{ ACLFS_FUSE_MOUNT_NODEV, MOUNT_ATTR_NODEV },	   { ACLFS_FUSE_MOUNT_NOEXEC, MOUNT_ATTR_NOEXEC },
		{ ACLFS_FUSE_MOUNT_NOATIME, MOUNT_ATTR_NOATIME },  { ACLFS_FUSE_MOUNT_NODIRATIME, MOUNT_ATTR_NODIRATIME },
		{ ACLFS_FUSE_MOUNT_NOSYMFOLLOW, MOUNT_ATTR_NOSYMFOLLOW },
		{ ACLFS_FUSE_MOUNT_STRICTATIME, MOUNT_ATTR_STRICTATIME },
	};
	unsigned result = 0;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (flags & table[i].flag)
			result |= table[i].kernel;
	return result;
}

int aclfs_fuse_mount_detached(const char *source, uint32_t flags, const char *extra, int *mount)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return -errno;
	int fs = (int)syscall(SYS_fsopen, "fuse", FSOPEN_CLOEXEC);
	int result = fs < 0 ? -errno : configure(fs, source, device, flags, extra);
	if (!result) {
		*mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes(flags));
		if (*mount < 0)
			result = -errno;
	}
	if (fs >= 0)
		close(fs);
	if (result < 0) {
		close(device);
		return result;
	}
	return device;
}
