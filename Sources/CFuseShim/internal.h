/* What the C files share. */
#ifndef ACLFS_FUSE_INTERNAL_H
#define ACLFS_FUSE_INTERNAL_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cfuseshim.h"
#include "wire.h"

struct aclfs_fuse_session {
	struct fuse_session *library;
	int device;
	struct aclfs_fuse_handlers handlers;
	void *userdata;
	struct aclfs_fuse_configuration configuration;

	/* A reply may outlive the worker that received its request: run waits for this to be 0. */
	atomic_ulong unanswered;

	/* Guards everything below. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct aclfs_fuse_negotiated negotiated;
	bool ready, running;
	unsigned live, started;
	struct worker *workers;
	int failure;
};

struct worker {
	aclfs_fuse_session *session;
	pthread_t thread;
	struct fuse_buf buffer;
	/* Waiting for a request: may be woken by a signal without disturbing a handler. */
	atomic_bool waiting;
};

/* What this thread is at: the library's callbacks see only a part of the message. */
struct fuse_thread {
	struct worker *worker;
	/* The message being dispatched, or NULL. */
	struct wire_in_header *message;
	/* For the open or create reply being sent: what the library has no field for. */
	uint32_t open_flags;
	int32_t backing_id;
};
extern _Thread_local struct fuse_thread fuse_thread;

extern const struct fuse_lowlevel_ops aclfs_fuse_operations;

/* Serves a request that the library does not know; false leaves it to the library. */
bool aclfs_fuse_serve_unknown(aclfs_fuse_session *session, const struct wire_in_header *header, size_t size);

#endif
