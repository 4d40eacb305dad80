/*
 * The messages of the kernel's FUSE protocol that this target reads or writes without the library: those that libfuse
 * 3.14 (protocol 7.38) does not know, and fields of known requests that it does not pass on.
 */
#ifndef ACLFS_WIRE_H
#define ACLFS_WIRE_H

#include <stdint.h>
#include <sys/ioctl.h>

#include "cfusetransport.h"

enum wire_opcode {
	WIRE_SETATTR = 4,
	WIRE_FSYNC = 20,
	WIRE_FLUSH = 25,
	WIRE_INIT = 26,
	WIRE_FSYNCDIR = 30,
	WIRE_IOCTL = 39,
	WIRE_FALLOCATE = 43,
	WIRE_RENAME2 = 45,
	WIRE_LSEEK = 46,
	WIRE_COPY_FILE_RANGE = 47,
	WIRE_SYNCFS = 50,
	WIRE_TMPFILE = 51,
	WIRE_STATX = 52,
	WIRE_COPY_FILE_RANGE_64 = 53,
};

/* Of the number of a request that is sent again. */
#define WIRE_UNIQUE_RESEND (UINT64_C(1) << 63)

enum wire_notification {
	WIRE_NOTIFY_INVAL_INODE = 2,
	WIRE_NOTIFY_INVAL_ENTRY = 3,
	WIRE_NOTIFY_RESEND = 7,
	WIRE_NOTIFY_INC_EPOCH = 8,
};

/* INIT's 64 flags: the upper half is in flags2 and valid only with INIT_EXT. */
#define WIRE_INIT_PARALLEL_DIROPS (1ull << 18)
#define WIRE_INIT_HANDLE_KILLPRIV (1ull << 19)
#define WIRE_INIT_HANDLE_KILLPRIV_V2 (1ull << 28)
#define WIRE_INIT_EXT (1ull << 30)
#define WIRE_INIT_HAS_EXPIRE_ONLY (1ull << 35)
#define WIRE_INIT_PASSTHROUGH (1ull << 37)
#define WIRE_INIT_OVER_IO_URING (1ull << 41)

#define WIRE_GETATTR_FH (1u << 0)
#define WIRE_OPEN_KILL_SUIDGID (1u << 0)
#define WIRE_INVAL_EXPIRE_ONLY (1u << 0)

struct wire_init_in {
	uint32_t major, minor, max_readahead, flags, flags2, unused[11];
};
_Static_assert(sizeof(struct wire_init_in) == 64, "init_in");

struct wire_init_out {
	uint32_t major, minor, max_readahead, flags;
	uint16_t max_background, congestion_threshold;
	uint32_t max_write, time_gran;
	uint16_t max_pages, map_alignment;
	uint32_t flags2, max_stack_depth, unused[6];
};
_Static_assert(sizeof(struct wire_init_out) == 64, "init_out");

struct wire_open_in {
	uint32_t flags, open_flags;
};

struct wire_create_in {
	uint32_t flags, mode, umask, open_flags;
};

struct wire_open_out {
	uint64_t fh;
	uint32_t open_flags;
	int32_t backing_id;
};
_Static_assert(sizeof(struct wire_open_out) == 16, "open_out");

#define WIRE_SETATTR_HANDLE (1u << 6)
struct wire_setattr_in {
	uint32_t valid, padding;
	uint64_t fh, size, lock_owner, atime, mtime, ctime;
	uint32_t atimensec, mtimensec, ctimensec, mode, unused4, uid, gid, unused5;
};
_Static_assert(sizeof(struct wire_setattr_in) == 88, "setattr_in");

struct wire_write_in {
	uint64_t fh, offset;
	uint32_t size, write_flags;
	uint64_t lock_owner;
	uint32_t flags, padding;
};
_Static_assert(sizeof(struct wire_write_in) == 40, "write_in");

struct wire_copy_file_range_in {
	uint64_t fh_in, off_in, nodeid_out, fh_out, off_out, len, flags;
};
_Static_assert(sizeof(struct wire_copy_file_range_in) == 56, "copy_file_range_in");

struct wire_attr {
	uint64_t ino, size, blocks, atime, mtime, ctime;
	uint32_t atimensec, mtimensec, ctimensec, mode, nlink, uid, gid, rdev, blksize, flags;
};
_Static_assert(sizeof(struct wire_attr) == 88, "attr");

struct wire_entry_out {
	uint64_t nodeid, generation, entry_valid, attr_valid;
	uint32_t entry_valid_nsec, attr_valid_nsec;
	struct wire_attr attr;
};
_Static_assert(sizeof(struct wire_entry_out) == 128, "entry_out");

struct wire_dirent {
	uint64_t ino, off;
	uint32_t namelen, type;
};
_Static_assert(sizeof(struct wire_dirent) == 24, "dirent");

struct wire_sx_time {
	int64_t seconds;
	uint32_t nanoseconds;
	int32_t reserved;
};

struct wire_statx_in {
	uint32_t getattr_flags, reserved;
	uint64_t fh;
	uint32_t sx_flags, sx_mask;
};
_Static_assert(sizeof(struct wire_statx_in) == 24, "statx_in");

struct wire_statx_out {
	uint64_t attr_valid;
	uint32_t attr_valid_nsec, flags;
	uint64_t spare[2];
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, spare0;
	uint64_t ino, size, blocks, attributes_mask;
	struct wire_sx_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t spare2[14];
};
_Static_assert(sizeof(struct wire_statx_out) == 288, "statx_out");

struct wire_notify_inval_inode {
	uint64_t ino;
	int64_t off, len;
};

struct wire_notify_inval_entry {
	uint64_t parent;
	uint32_t namelen, flags;
};

struct wire_backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define WIRE_IOC_BACKING_OPEN _IOW(229, 1, struct wire_backing_map)
#define WIRE_IOC_BACKING_CLOSE _IOW(229, 2, uint32_t)

#endif
