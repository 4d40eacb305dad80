/* What the C files share. */
#ifndef ACLFS_FUSE_INTERNAL_H
#define ACLFS_FUSE_INTERNAL_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "cfuseshim.h"
#include "wire.h"

struct aclfs_fuse_session {
	struct fuse_session *library;
	aclfs_transport *transport;
	int device;
	struct aclfs_fuse_handlers handlers;
	void *userdata;
	struct aclfs_fuse_configuration configuration;

	/* A reply may outlive the thread that received its request: run waits for this to be 0. */
	atomic_ulong unanswered;

	/* Written while INIT is answered, when no other thread serves; does not change once `ready` is set. */
	struct aclfs_fuse_negotiated negotiated;
	atomic_bool ready;
};

/* What this thread is at: the library's callbacks see only a part of the message. */
struct fuse_thread {
	/* Which ring the next reply may go to; NULL if its request came through the device. */
	aclfs_ring_thread *answering;
	/* The message being dispatched, or NULL. */
	struct wire_in_header *message;
	/* For the open or create reply being sent: what the library has no field for. */
	uint32_t open_flags;
	int32_t backing_id;
};
extern _Thread_local struct fuse_thread fuse_thread;

extern const struct fuse_lowlevel_ops aclfs_fuse_operations;

/* Sends a reply the way that its request came: as writev(2). */
ssize_t aclfs_fuse_send(aclfs_fuse_session *session, const struct iovec *iov, int count);

/* Serves a request that the library does not know; false leaves it to the library. */
bool aclfs_fuse_serve_unknown(aclfs_fuse_session *session, const struct wire_in_header *header, size_t size);

#endif
