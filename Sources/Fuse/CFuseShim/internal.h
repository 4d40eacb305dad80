/* Declarations that the C files share. */
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

	/* A reply may come after the thread that received the request has ended: run waits until this is 0. */
	atomic_ulong unanswered;

	/* Written by the reply to INIT, before other threads serve; constant once `ready` is set. */
	struct aclfs_fuse_negotiated negotiated;
	atomic_bool ready;

	/* The kernel's INIT as it came, for a process that serves the connection after this one. */
	unsigned char init[ACLFS_FUSE_MOST_INIT];
	size_t init_size;
	/* Another process has answered INIT: it is read again, and the answer must be this one. */
	bool resumes, is_refused, resends;
	uint64_t resumed_flags;
	uint32_t resumed_write;
};

/* The state of this thread: the library passes only a part of the message to its callbacks. */
struct fuse_thread {
	/* The ring of the next reply; NULL if its request came through the device. */
	aclfs_ring_thread *answering;
	/* The message being dispatched, or NULL. */
	struct wire_in_header *message;
	/* For the current open or create reply: fields that the library lacks. */
	uint32_t open_flags;
	int32_t backing_id;
};
extern _Thread_local struct fuse_thread fuse_thread;

extern const struct fuse_lowlevel_ops aclfs_fuse_operations;

/* Sends a reply by the transport of its request, like writev(2). */
ssize_t aclfs_fuse_send(aclfs_fuse_session *session, const struct iovec *iov, int count);

/* Serves a request that the library does not know; false = the library handles it. */
bool aclfs_fuse_serve_unknown(aclfs_fuse_session *session, const struct wire_in_header *header, size_t size);

#endif
