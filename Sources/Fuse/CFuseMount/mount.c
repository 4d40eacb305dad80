#include "cfusemount.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* MS_NOSYMFOLLOW, which older headers lack. */
#define NOSYMFOLLOW 256ul

int aclfs_fuse_mount(const char *source, const char *mountpoint, uint32_t flags, uint32_t uid, uint32_t gid,
		     const char *extra)
{
	static const struct {
		uint32_t flag;
		unsigned long kernel;
	} table[] = {
		{ ACLFS_FUSE_MOUNT_READ_ONLY, MS_RDONLY }, { ACLFS_FUSE_MOUNT_NOSUID, MS_NOSUID },
		{ ACLFS_FUSE_MOUNT_NODEV, MS_NODEV },	   { ACLFS_FUSE_MOUNT_NOEXEC, MS_NOEXEC },
		{ ACLFS_FUSE_MOUNT_NOATIME, MS_NOATIME },	   { ACLFS_FUSE_MOUNT_SYNC, MS_SYNCHRONOUS },
		{ ACLFS_FUSE_MOUNT_DIRSYNC, MS_DIRSYNC },	   { ACLFS_FUSE_MOUNT_NODIRATIME, MS_NODIRATIME },
		{ ACLFS_FUSE_MOUNT_NOSYMFOLLOW, NOSYMFOLLOW },   { ACLFS_FUSE_MOUNT_STRICTATIME, MS_STRICTATIME },
	};
	unsigned long kernel_flags = 0;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (flags & table[i].flag)
			kernel_flags |= table[i].kernel;

	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return -errno;
	char *options;
	if (asprintf(&options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s%s%s", device, uid, gid,
		     flags & ACLFS_FUSE_MOUNT_ALLOW_OTHER ? ",allow_other" : "", extra && *extra ? "," : "",
		     extra ? extra : "") < 0) {
		close(device);
		return -ENOMEM;
	}
	int error = mount(source, mountpoint, "fuse.aclfs", kernel_flags, options) ? errno : 0;
	free(options);
	if (error) {
		close(device);
		return -error;
	}
	return device;
}

int aclfs_fuse_unmount(const char *mountpoint, bool lazily)
{
	return umount2(mountpoint, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) ? -errno : 0;
}

/* ---- through fusermount3 ---- */

/* In the helper's list a comma separates and a backslash escapes; the result is allocated. */
static char *escaped(const char *text)
{
	char *result = malloc(2 * strlen(text) + 1), *to = result;
	if (!result)
		return NULL;
	for (; *text; text++) {
		if (*text == ',' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = 0;
	return result;
}

static char *helper_options(const char *source, uint32_t flags, const char *extra)
{
	char *name = escaped(source), *options = NULL;
	if (!name)
		return NULL;
	/* The helper adds nosuid and nodev by itself. */
	int n = asprintf(&options, "fsname=%s,subtype=aclfs%s%s%s%s%s%s%s%s", name,
			 flags & ACLFS_FUSE_MOUNT_ALLOW_OTHER ? ",allow_other" : "",
			 flags & ACLFS_FUSE_MOUNT_READ_ONLY ? ",ro" : "",
			 flags & ACLFS_FUSE_MOUNT_NOEXEC ? ",noexec" : "",
			 flags & ACLFS_FUSE_MOUNT_NOATIME ? ",noatime" : "",
			 flags & ACLFS_FUSE_MOUNT_SYNC ? ",sync" : "",
			 flags & ACLFS_FUSE_MOUNT_DIRSYNC ? ",dirsync" : "", extra && *extra ? "," : "",
			 extra ? extra : "");
	free(name);
	return n < 0 ? NULL : options;
}

/* The environment with the helper's socket; only the array is allocated. */
static char **helper_environment(char *variable)
{
	size_t count = 0;
	while (environ[count])
		count++;
	char **result = calloc(count + 2, sizeof *result);
	if (!result)
		return NULL;
	size_t to = 0;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "_FUSE_COMMFD=", 13) != 0)
			result[to++] = environ[i];
	result[to] = variable;
	return result;
}

static int receive_descriptor(int socket)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control,
	};
	ssize_t n;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (n == 0 || !header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPERM; /* the helper ended without mounting */
	int descriptor;
	memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
	return descriptor;
}

/* `output` becomes its standard error. */
static int spawn_helper(const char *const argv[], char **environment, int end, int output, pid_t *child)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	/* Onto itself: clears close-on-exec in the child only. */
	error = posix_spawn_file_actions_adddup2(&actions, end, end);
	if (!error && output >= 0)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	/* Not from PATH: with fstab's user mounts the caller chooses it. */
	static const char *const places[] = { "/usr/bin/fusermount3", "/bin/fusermount3",
					      "/usr/local/bin/fusermount3", "/run/wrappers/bin/fusermount3" };
	bool ready = !error;
	if (ready)
		error = ENOENT;
	for (size_t i = 0; ready && error == ENOENT && i < sizeof places / sizeof *places; i++)
		error = posix_spawn(child, places[i], &actions, NULL, (char *const *)argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int aclfs_fuse_mount_by_helper(const char *source, const char *mountpoint, uint32_t flags, const char *extra,
			       char *reason, size_t room)
{
	reason[0] = 0;
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	char variable[32];
	snprintf(variable, sizeof variable, "_FUSE_COMMFD=%d", ends[1]);
	char *options = helper_options(source, flags, extra), **environment = helper_environment(variable);
	const char *const argv[] = { "fusermount3", "-o", options, "--", mountpoint, NULL };
	pid_t child;
	/* Its output contains the mount point unescaped, so it is read here and the caller escapes it. */
	int output = memfd_create("fusermount3", MFD_CLOEXEC);
	int error = options && environment ? spawn_helper(argv, environment, ends[1], output, &child) : ENOMEM;
	close(ends[1]);
	free(options);
	free(environment);
	int device = error ? -error : receive_descriptor(ends[0]);
	close(ends[0]);
	if (!error)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	if (output >= 0) {
		ssize_t count = pread(output, reason, room - 1, 0);
		reason[count > 0 ? count : 0] = 0;
		close(output);
	}
	return device;
}
