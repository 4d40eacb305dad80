/*
 * The part of libfuse that Swift uses: own types of fixed width and functions prefixed aclfs_fuse_. Swift cannot
 * import libfuse's headers next to _GNU_SOURCE, so none is included here.
 */
#ifndef ACLFS_CFUSESHIM_H
#define ACLFS_CFUSESHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef struct aclfs_fuse_session aclfs_fuse_session;

/* One unanswered request. It is plain data, so that another thread may send the reply. */
struct aclfs_fuse_request {
	aclfs_fuse_session *session;
	/* NULL if the library does not know the request. */
	void *_Nullable fuse_request;
	/* The thread that holds it; NULL if it came through the device. */
	void *_Nullable ring;
	uint64_t unique;
	uint32_t opcode;
};

/* The caller. The ids are fsuid and fsgid; tid is the thread. */
struct aclfs_fuse_caller {
	uint32_t uid, gid, tid, umask;
};

struct aclfs_fuse_time {
	int64_t seconds;
	uint32_t nanoseconds;
};

struct aclfs_fuse_attributes {
	uint64_t ino, size, blocks;
	/* major << 32 | minor, as in mknod below */
	uint64_t rdev;
	struct aclfs_fuse_time atime, mtime, ctime, btime;
	uint32_t mode, nlink, uid, gid, blksize;
	bool has_btime;
};

struct aclfs_fuse_entry {
	uint64_t node, generation;
	struct aclfs_fuse_attributes attributes;
	double attributes_valid, entry_valid;
};

/* The bits of the kernel's FOPEN_ word that aclfs uses. */
enum {
	ACLFS_FUSE_OPEN_DIRECT_IO = 1 << 0,
	ACLFS_FUSE_OPEN_KEEP_CACHE = 1 << 1,
	ACLFS_FUSE_OPEN_CACHE_DIR = 1 << 3,
	ACLFS_FUSE_OPEN_NOFLUSH = 1 << 5,
	ACLFS_FUSE_OPEN_PASSTHROUGH = 1 << 7,
};

struct aclfs_fuse_open {
	uint64_t handle;
	uint32_t flags;
	/* Valid with ACLFS_FUSE_OPEN_PASSTHROUGH only. */
	int32_t backing_id;
};

/* The kernel's FATTR_ bits, unfiltered. */
struct aclfs_fuse_setattr {
	uint32_t valid, mode, uid, gid;
	uint64_t size, handle, lock_owner;
	struct aclfs_fuse_time atime, mtime, ctime;
};

struct aclfs_fuse_statfs {
	uint64_t blocks, blocks_free, blocks_available, files, files_free;
	uint32_t block_size, fragment_size, name_length;
};

enum {
	ACLFS_FUSE_MASK_KILLPRIV2 = 1 << 0,
	ACLFS_FUSE_MASK_STATX = 1 << 1,
	ACLFS_FUSE_MASK_PASSTHROUGH = 1 << 2,
	ACLFS_FUSE_MASK_URING = 1 << 3,
	ACLFS_FUSE_MASK_EPOCH = 1 << 4,
	ACLFS_FUSE_MASK_EXPIRE = 1 << 5,
};

enum aclfs_fuse_transport {
	/* io_uring if the kernel offers it and rings can be created. */
	ACLFS_FUSE_TRANSPORT_AUTO,
	/* io_uring, or the mount is not served. */
	ACLFS_FUSE_TRANSPORT_URING,
	ACLFS_FUSE_TRANSPORT_DEV,
};

struct aclfs_fuse_configuration {
	uint32_t masked;
	enum aclfs_fuse_transport transport;
	uint32_t max_background;
	/* Not 0: negotiate FUSE_PASSTHROUGH; 1, or 2 for a backing file system that is stacked itself. */
	uint32_t max_stack_depth;
	bool readdirplus;
	bool exported;
	/* The library prints each request and reply on standard error. */
	bool debug;
};

/* Bytes of the longest INIT that is kept. */
enum { ACLFS_FUSE_MOST_INIT = 256 };

struct aclfs_fuse_negotiated {
	uint32_t kernel_major, kernel_minor;
	uint64_t offered, used;
	uint32_t max_write;
	bool parallel_dirops, killpriv_v2, passthrough, statx, expire, epoch, uring;
	/* The error because of which requests come through the device instead of io_uring; EOPNOTSUPP: not offered. */
	int32_t uring_failure;
};

/* Set by Swift. Each function answers its request exactly once. */
struct aclfs_fuse_handlers {
	void (*initialized)(void *userdata, const struct aclfs_fuse_negotiated *negotiated);
	/* A request that the kernel sends again. True: it is answered with EIO. */
	bool (*repeated)(void *userdata, uint64_t unique);
	void (*lookup)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		       uint64_t parent, const char *name);
	void (*forget)(void *userdata, uint64_t node, uint64_t count);
	void (*getattr)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			uint64_t node, bool has_handle, uint64_t handle);
	void (*statx)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t node, bool has_handle, uint64_t handle, uint32_t mask);
	void (*setattr)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			uint64_t node, const struct aclfs_fuse_setattr *changes);
	void (*readlink)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			 uint64_t node);
	void (*mknod)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t parent, const char *name, uint32_t mode, uint64_t rdev);
	void (*mkdir)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t parent, const char *name, uint32_t mode);
	void (*unlink)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		       uint64_t parent, const char *name);
	void (*rmdir)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t parent, const char *name);
	void (*symlink)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			const char *target, uint64_t parent, const char *name);
	void (*rename)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		       uint64_t parent, const char *name, uint64_t new_parent, const char *new_name, uint32_t flags);
	void (*link)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		     uint64_t node, uint64_t new_parent, const char *new_name);
	void (*open)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		     uint64_t node, int32_t flags, bool kill_set_id);
	void (*read)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		     uint64_t node, uint64_t handle, int64_t offset, size_t size, int32_t flags);
	void (*write)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t node, uint64_t handle, int64_t offset, const void *bytes, size_t size, int32_t flags,
		      uint32_t write_flags, uint64_t lock_owner);
	void (*flush)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t node, uint64_t handle, uint64_t lock_owner);
	void (*release)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			uint64_t node, uint64_t handle, int32_t flags, uint64_t lock_owner);
	void (*fsync)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t node, uint64_t handle, bool data_only);
	void (*opendir)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			uint64_t node, int32_t flags);
	void (*readdir)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			uint64_t node, uint64_t handle, int64_t offset, size_t size);
	void (*readdirplus)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			    uint64_t node, uint64_t handle, int64_t offset, size_t size);
	void (*releasedir)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			   uint64_t node, uint64_t handle, int32_t flags);
	void (*fsyncdir)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			 uint64_t node, uint64_t handle, bool data_only);
	void (*statfs)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		       uint64_t node);
	void (*syncfs)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		       uint64_t node);
	void (*setxattr)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			 uint64_t node, const char *name, const void *value, size_t size, int32_t flags);
	void (*getxattr)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			 uint64_t node, const char *name, size_t size);
	void (*listxattr)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			  uint64_t node, size_t size);
	void (*removexattr)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			    uint64_t node, const char *name);
	void (*access)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		       uint64_t node, int32_t mask);
	void (*create)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		       uint64_t parent, const char *name, int32_t flags, uint32_t mode, bool kill_set_id);
	void (*tmpfile)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			uint64_t parent, int32_t flags, uint32_t mode);
	void (*fallocate)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
			  uint64_t node, uint64_t handle, int32_t mode, int64_t offset, int64_t length);
	void (*lseek)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t node, uint64_t handle, int64_t offset, int32_t whence);
	void (*copy_file_range)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
				uint64_t node_in, uint64_t handle_in, int64_t offset_in, uint64_t node_out,
				uint64_t handle_out, int64_t offset_out, uint64_t length, uint64_t flags);
	void (*ioctl)(void *userdata, struct aclfs_fuse_request request, struct aclfs_fuse_caller caller,
		      uint64_t node, uint64_t handle, uint32_t command, uint32_t flags, const void *_Nullable input,
		      size_t input_size, size_t output_size);
};

/* ---- sessions ---- */

/* Takes ownership of device, also on failure. userdata must exist until the session's last run ends. */
int aclfs_fuse_session_new(const struct aclfs_fuse_handlers *handlers, void *userdata, int device,
			   const struct aclfs_fuse_configuration *configuration,
			   aclfs_fuse_session *_Nullable *_Nonnull session);
/* Serves on its own threads until unmounted or stopped and every request is answered; 0 or -errno. */
int aclfs_fuse_session_run(aclfs_fuse_session *session, unsigned workers);
void aclfs_fuse_session_stop(aclfs_fuse_session *session);
void aclfs_fuse_session_free(aclfs_fuse_session *session);
/*
 * Call before run: another process has served the connection, and left these. init: the kernel's INIT, `size` bytes; flags, max_write: what was
 * agreed on; resends: it died, so requests may have been read and not answered. run fails with -EPROTO if this process would agree on something else. 0 or -errno.
 */
int aclfs_fuse_session_resume(aclfs_fuse_session *session, const void *init, size_t size, uint64_t flags, uint32_t max_write,
			      bool resends);
/* The kernel's INIT as it came: its size, 0 if it is not known. */
size_t aclfs_fuse_session_init_message(const aclfs_fuse_session *session, void *buffer, size_t room);
/* Reads no more requests, once all that were read are answered. False if that takes longer, and with rings: then the session goes on. */
bool aclfs_fuse_session_pause(aclfs_fuse_session *session, uint64_t nanoseconds);
void aclfs_fuse_session_go_on(aclfs_fuse_session *session);
/* False before the kernel's INIT was answered. */
bool aclfs_fuse_session_negotiated(aclfs_fuse_session *session, struct aclfs_fuse_negotiated *negotiated);

/* Whether the kernel has sent an INTERRUPT for a request that is not answered yet. */
bool aclfs_fuse_interrupted(struct aclfs_fuse_request request);

/* ---- replies: 0, or an errno if the kernel did not accept it (ENOENT: the caller was killed) ---- */

int aclfs_fuse_reply_error(struct aclfs_fuse_request request, int error);
int aclfs_fuse_reply_done(struct aclfs_fuse_request request);
int aclfs_fuse_reply_entry(struct aclfs_fuse_request request, const struct aclfs_fuse_entry *entry);
int aclfs_fuse_reply_attributes(struct aclfs_fuse_request request, const struct aclfs_fuse_attributes *attributes,
				double valid);
int aclfs_fuse_reply_create(struct aclfs_fuse_request request, const struct aclfs_fuse_entry *entry,
			    const struct aclfs_fuse_open *open);
int aclfs_fuse_reply_open(struct aclfs_fuse_request request, const struct aclfs_fuse_open *open);
int aclfs_fuse_reply_bytes(struct aclfs_fuse_request request, const void *_Nullable bytes, size_t size);
int aclfs_fuse_reply_written(struct aclfs_fuse_request request, uint64_t count);
int aclfs_fuse_reply_xattr_size(struct aclfs_fuse_request request, size_t size);
int aclfs_fuse_reply_statfs(struct aclfs_fuse_request request, const struct aclfs_fuse_statfs *statfs);
int aclfs_fuse_reply_offset(struct aclfs_fuse_request request, int64_t offset);
int aclfs_fuse_reply_ioctl(struct aclfs_fuse_request request, int32_t result, const void *_Nullable output,
			   size_t size);

/* Append an entry to a directory listing. Return its size, or 0 if it does not fit. */
size_t aclfs_fuse_add_dirent(void *buffer, size_t room, const char *name, uint64_t ino, uint32_t type,
			     uint64_t offset);
size_t aclfs_fuse_add_direntplus(void *buffer, size_t room, const char *name, const struct aclfs_fuse_entry *entry,
				 uint64_t offset);

/* A buffer of the calling thread, valid until its next call; NULL if there is no memory. */
void *_Nullable aclfs_fuse_scratch(size_t size);

/* ---- notifications: 0 or an errno ---- */

/* offset < 0: attributes only; length 0: to the end. */
int aclfs_fuse_notify_inode(aclfs_fuse_session *session, uint64_t node, int64_t offset, int64_t length);
int aclfs_fuse_notify_entry(aclfs_fuse_session *session, uint64_t parent, const char *name, bool expire_only);
int aclfs_fuse_notify_epoch(aclfs_fuse_session *session);
/* The kernel sends all requests again that were read and not answered, with the highest bit of their numbers set. */
int aclfs_fuse_notify_resend(aclfs_fuse_session *session);

/* ---- passthrough ---- */

/* The backing id (> 0), or -errno. */
int aclfs_fuse_backing_open(aclfs_fuse_session *session, int descriptor);
int aclfs_fuse_backing_close(aclfs_fuse_session *session, int32_t backing_id);

#pragma clang assume_nonnull end
#endif
