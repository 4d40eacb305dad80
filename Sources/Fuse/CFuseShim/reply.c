#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

_Thread_local struct fuse_thread fuse_thread;

ssize_t aclfs_fuse_send(aclfs_fuse_session *session, const struct iovec *iov, int count)
{
	return aclfs_transport_answer(session->transport, fuse_thread.answering, iov, count);
}

/* Answers by a call of the library or by an own message, over the transport of the request. */
#define ANSWER(request, call) (fuse_thread.answering = (request).ring, answered(request, call))

/* Every reply ends here. When the count is 0 the session may be freed. */
static int answered(struct aclfs_fuse_request request, int result)
{
	fuse_thread.answering = NULL;
	atomic_fetch_sub(&request.session->unanswered, 1);
	return result < 0 ? -result : result;
}

/* The reply to a request that the library does not know. */
static int reply_raw(struct aclfs_fuse_request request, int error, const void *body, size_t size)
{
	struct wire_out_header header = {
		.len = (uint32_t)(sizeof header + size),
		.error = -error,
		.unique = request.unique,
	};
	struct iovec iov[2] = { { &header, sizeof header }, { (void *)body, size } };
	return aclfs_fuse_send(request.session, iov, size ? 2 : 1) < 0 ? errno : 0;
}

static void split_seconds(double valid, uint64_t *seconds, uint32_t *nanoseconds)
{
	if (!(valid > 0)) {
		*seconds = *nanoseconds = 0;
		return;
	}
	if (valid > UINT32_MAX)
		valid = UINT32_MAX;
	*seconds = (uint64_t)valid;
	*nanoseconds = (uint32_t)((valid - (double)*seconds) * 1e9);
}

static struct timespec timespec_of(struct aclfs_fuse_time time)
{
	return (struct timespec){ .tv_sec = time.seconds, .tv_nsec = time.nanoseconds };
}

/* The low half of such a number is the kernel's in messages. */
static dev_t dev_of(uint64_t device)
{
	return makedev((uint32_t)(device >> 32), (uint32_t)device);
}

static struct stat stat_of(const struct aclfs_fuse_attributes *a)
{
	return (struct stat){
		.st_ino = a->ino,
		.st_size = (off_t)a->size,
		.st_blocks = (blkcnt_t)a->blocks,
		.st_rdev = dev_of(a->rdev),
		.st_atim = timespec_of(a->atime),
		.st_mtim = timespec_of(a->mtime),
		.st_ctim = timespec_of(a->ctime),
		.st_mode = a->mode,
		.st_nlink = a->nlink,
		.st_uid = a->uid,
		.st_gid = a->gid,
		.st_blksize = a->blksize,
	};
}

static struct fuse_entry_param entry_param_of(const struct aclfs_fuse_entry *entry)
{
	return (struct fuse_entry_param){
		.ino = entry->node,
		.generation = entry->generation,
		.attr = stat_of(&entry->attributes),
		.attr_timeout = entry->attributes_valid,
		.entry_timeout = entry->entry_valid,
	};
}

static struct wire_entry_out entry_out_of(const struct aclfs_fuse_entry *entry)
{
	const struct aclfs_fuse_attributes *a = &entry->attributes;
	struct wire_entry_out out = {
		.nodeid = entry->node,
		.generation = entry->generation,
		.attr = { .ino = a->ino,
			  .size = a->size,
			  .blocks = a->blocks,
			  .atime = (uint64_t)a->atime.seconds,
			  .mtime = (uint64_t)a->mtime.seconds,
			  .ctime = (uint64_t)a->ctime.seconds,
			  .atimensec = a->atime.nanoseconds,
			  .mtimensec = a->mtime.nanoseconds,
			  .ctimensec = a->ctime.nanoseconds,
			  .mode = a->mode,
			  .nlink = a->nlink,
			  .uid = a->uid,
			  .gid = a->gid,
			  .rdev = (uint32_t)dev_of(a->rdev),
			  .blksize = a->blksize },
	};
	split_seconds(entry->entry_valid, &out.entry_valid, &out.entry_valid_nsec);
	split_seconds(entry->attributes_valid, &out.attr_valid, &out.attr_valid_nsec);
	return out;
}

static struct wire_sx_time sx_time_of(struct aclfs_fuse_time time)
{
	return (struct wire_sx_time){ .seconds = time.seconds, .nanoseconds = time.nanoseconds };
}

static int reply_statx(struct aclfs_fuse_request request, const struct aclfs_fuse_attributes *a, double valid)
{
	/* STATX_BASIC_STATS, and STATX_BTIME: the bits of statx(2). */
	struct wire_statx_out out = {
		.mask = 0x7ff | (a->has_btime ? 0x800 : 0),
		.blksize = a->blksize,
		.nlink = a->nlink,
		.uid = a->uid,
		.gid = a->gid,
		.mode = (uint16_t)a->mode,
		.ino = a->ino,
		.size = a->size,
		.blocks = a->blocks,
		.atime = sx_time_of(a->atime),
		.btime = sx_time_of(a->btime),
		.ctime = sx_time_of(a->ctime),
		.mtime = sx_time_of(a->mtime),
		.rdev_major = (uint32_t)(a->rdev >> 32),
		.rdev_minor = (uint32_t)a->rdev,
	};
	split_seconds(valid, &out.attr_valid, &out.attr_valid_nsec);
	return reply_raw(request, 0, &out, sizeof out);
}

/* After ENOSYS the kernel never sends the opcode again. That is harmless only where it then sends another one. */
static bool may_be_unimplemented(uint32_t opcode)
{
	switch (opcode) {
	case WIRE_FSYNC:
	case WIRE_FSYNCDIR:
	case WIRE_FLUSH:
	case WIRE_IOCTL:
	case WIRE_FALLOCATE:
	case WIRE_RENAME2:
	case WIRE_LSEEK:
	case WIRE_COPY_FILE_RANGE:
	case WIRE_COPY_FILE_RANGE_64:
	case WIRE_SYNCFS:
	case WIRE_TMPFILE:
	case WIRE_STATX:
		return true;
	}
	return false;
}

int aclfs_fuse_reply_error(struct aclfs_fuse_request request, int error)
{
	/* 512 and above are internal to the kernel (ERESTARTSYS); 0 would be success without a body. */
	if (error <= 0 || error >= 512)
		error = EIO;
	/* The kernel would repeat the walk without its caches (docs/internals/coherence.md R9). */
	if (error == ESTALE)
		error = ENOENT;
	if (error == ENOSYS && !may_be_unimplemented(request.opcode))
		error = EPERM;
	return ANSWER(request, request.fuse_request ? fuse_reply_err(request.fuse_request, error)
						 : reply_raw(request, error, NULL, 0));
}

bool aclfs_fuse_interrupted(struct aclfs_fuse_request request)
{
	return request.fuse_request && fuse_req_interrupted(request.fuse_request);
}

int aclfs_fuse_reply_done(struct aclfs_fuse_request request)
{
	return ANSWER(request, request.fuse_request ? fuse_reply_err(request.fuse_request, 0)
						 : reply_raw(request, 0, NULL, 0));
}

int aclfs_fuse_reply_entry(struct aclfs_fuse_request request, const struct aclfs_fuse_entry *entry)
{
	struct fuse_entry_param param = entry_param_of(entry);
	return ANSWER(request, fuse_reply_entry(request.fuse_request, &param));
}

int aclfs_fuse_reply_attributes(struct aclfs_fuse_request request, const struct aclfs_fuse_attributes *attributes,
				double valid)
{
	if (!request.fuse_request)
		return ANSWER(request, reply_statx(request, attributes, valid));
	struct stat stat = stat_of(attributes);
	return ANSWER(request, fuse_reply_attr(request.fuse_request, &stat, valid));
}

/* This thread writes the reply before the library returns. */
static struct fuse_file_info file_info_of(const struct aclfs_fuse_open *open)
{
	fuse_thread.open_flags = open->flags;
	fuse_thread.backing_id = open->flags & ACLFS_FUSE_OPEN_PASSTHROUGH ? open->backing_id : 0;
	return (struct fuse_file_info){ .fh = open->handle };
}

int aclfs_fuse_reply_create(struct aclfs_fuse_request request, const struct aclfs_fuse_entry *entry,
			    const struct aclfs_fuse_open *open)
{
	if (!request.fuse_request) {
		struct {
			struct wire_entry_out entry;
			struct wire_open_out open;
		} out = {
			.entry = entry_out_of(entry),
			.open = { open->handle, open->flags,
				  open->flags & ACLFS_FUSE_OPEN_PASSTHROUGH ? open->backing_id : 0 },
		};
		return ANSWER(request, reply_raw(request, 0, &out, sizeof out));
	}
	struct fuse_entry_param param = entry_param_of(entry);
	struct fuse_file_info info = file_info_of(open);
	int result = fuse_reply_create(request.fuse_request, &param, &info);
	fuse_thread.open_flags = 0;
	return ANSWER(request, result);
}

int aclfs_fuse_reply_open(struct aclfs_fuse_request request, const struct aclfs_fuse_open *open)
{
	struct fuse_file_info info = file_info_of(open);
	int result = fuse_reply_open(request.fuse_request, &info);
	fuse_thread.open_flags = 0;
	return ANSWER(request, result);
}

int aclfs_fuse_reply_bytes(struct aclfs_fuse_request request, const void *bytes, size_t size)
{
	return ANSWER(request, fuse_reply_buf(request.fuse_request, bytes, size));
}

int aclfs_fuse_reply_written(struct aclfs_fuse_request request, uint64_t count)
{
	return ANSWER(request, request.fuse_request ? fuse_reply_write(request.fuse_request, count)
						 : reply_raw(request, 0, &count, sizeof count));
}

int aclfs_fuse_reply_xattr_size(struct aclfs_fuse_request request, size_t size)
{
	return ANSWER(request, fuse_reply_xattr(request.fuse_request, size));
}

int aclfs_fuse_reply_statfs(struct aclfs_fuse_request request, const struct aclfs_fuse_statfs *s)
{
	struct statvfs statvfs = {
		.f_bsize = s->block_size,
		.f_frsize = s->fragment_size,
		.f_blocks = s->blocks,
		.f_bfree = s->blocks_free,
		.f_bavail = s->blocks_available,
		.f_files = s->files,
		.f_ffree = s->files_free,
		.f_favail = s->files_free,
		.f_namemax = s->name_length,
	};
	return ANSWER(request, fuse_reply_statfs(request.fuse_request, &statvfs));
}

int aclfs_fuse_reply_offset(struct aclfs_fuse_request request, int64_t offset)
{
	return ANSWER(request, fuse_reply_lseek(request.fuse_request, offset));
}

int aclfs_fuse_reply_ioctl(struct aclfs_fuse_request request, int32_t result, const void *output, size_t size)
{
	return ANSWER(request, fuse_reply_ioctl(request.fuse_request, result, output, size));
}

/* ---- directory listings ---- */

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static void put_dirent(char *at, const char *name, size_t length, uint64_t ino, uint32_t type, uint64_t offset)
{
	struct wire_dirent dirent = { ino, offset, (uint32_t)length, type };
	memcpy(at, &dirent, sizeof dirent);
	memcpy(at + sizeof dirent, name, length);
	size_t end = sizeof dirent + length;
	memset(at + end, 0, padded(end) - end);
}

size_t aclfs_fuse_add_dirent(void *buffer, size_t room, const char *name, uint64_t ino, uint32_t type,
			     uint64_t offset)
{
	size_t length = strlen(name), size = padded(sizeof(struct wire_dirent) + length);
	if (size > room)
		return 0;
	put_dirent(buffer, name, length, ino, type, offset);
	return size;
}

size_t aclfs_fuse_add_direntplus(void *buffer, size_t room, const char *name, const struct aclfs_fuse_entry *entry,
				 uint64_t offset)
{
	size_t length = strlen(name);
	size_t size = sizeof(struct wire_entry_out) + padded(sizeof(struct wire_dirent) + length);
	if (size > room)
		return 0;
	struct wire_entry_out out = entry_out_of(entry);
	memcpy(buffer, &out, sizeof out);
	put_dirent((char *)buffer + sizeof out, name, length, entry->attributes.ino,
		   (entry->attributes.mode & S_IFMT) >> 12, offset);
	return size;
}

/* ---- scratch ---- */

struct scratch {
	size_t size;
	char bytes[];
};

static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static bool scratch_usable;

static void make_scratch_key(void)
{
	scratch_usable = pthread_key_create(&scratch_key, free) == 0;
}

void *aclfs_fuse_scratch(size_t size)
{
	pthread_once(&scratch_once, make_scratch_key);
	if (!scratch_usable)
		return NULL;
	struct scratch *scratch = pthread_getspecific(scratch_key);
	if (scratch && scratch->size >= size)
		return scratch->bytes;
	struct scratch *larger = malloc(sizeof *larger + size);
	if (!larger || pthread_setspecific(scratch_key, larger)) {
		free(larger);
		return NULL;
	}
	free(scratch);
	larger->size = size;
	return larger->bytes;
}
