/* What the C files share. */
#ifndef ACLFS_FUSE_INTERNAL_H
#define ACLFS_FUSE_INTERNAL_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "cfuseshim.h"
#include "wire.h"

/* The threads of the io_uring transport; guarded by the session's lock. */
struct rings {
	struct ring_thread *threads;
	struct ring_queue *queues;
	size_t payload_size;
	unsigned opened;
	int failure;
	/* The kernel is promised no rings. */
	bool abandoned;
	/* Requests come through them; the device brings the rest. */
	atomic_bool in_use;
};

/* Whether it is worth while to look for the next request before sleeping; hints, not guarded by anything. */
struct busy_poll {
	/* Before the workers are. */
	bool possible;
	/* The thread that asked last, and how many requests in a row are its. */
	atomic_uint caller, streak;
};

struct aclfs_fuse_session {
	struct fuse_session *library;
	int device;
	struct aclfs_fuse_handlers handlers;
	void *userdata;
	struct aclfs_fuse_configuration configuration;

	/* A reply may outlive the worker that received its request: run waits for this to be 0. */
	atomic_ulong unanswered;

	/* Workers that wait for a request or are at one without waiting for anything else. */
	atomic_int serving;

	/* Of these: who wait for a request. */
	atomic_int idle;

	struct busy_poll busy_poll;

	/* Held by the one who reads from the device, where rings are in use. */
	pthread_mutex_t turn;

	/* Guards everything below. */
	pthread_mutex_t lock;
	pthread_cond_t changed, wanted;
	struct aclfs_fuse_negotiated negotiated;
	bool ready, running;
	/* A worker says that it waits, and nobody is parked who could take its place. */
	bool wished;
	unsigned live;
	/* Of the workers: how many shall serve, were started, are parked, and are called back. */
	unsigned count, started, parked, called;
	struct worker *workers;
	struct rings rings;
	int failure;
};

struct worker {
	aclfs_fuse_session *session;
	pthread_t thread;
	struct fuse_buf buffer;
	/* Waiting for a request: may be woken by a signal without disturbing a handler. */
	atomic_bool waiting;
	/* How many times its handler has said that it waits. */
	unsigned blocks;
	/* The same, as long as others are there for the requests that come. */
	unsigned light_blocks;
};

/* What this thread is at: the library's callbacks see only a part of the message. */
struct fuse_thread {
	/* One of these, or neither if it only answers. */
	struct worker *worker;
	struct ring_thread *ring;
	/* Whose request the next reply may be for; NULL if it came through the device. */
	struct ring_thread *answering;
	/* The message being dispatched, or NULL. */
	struct wire_in_header *message;
	/* For the open or create reply being sent: what the library has no field for. */
	uint32_t open_flags;
	int32_t backing_id;
};
extern _Thread_local struct fuse_thread fuse_thread;

extern const struct fuse_lowlevel_ops aclfs_fuse_operations;

/* Serves one message; it is answered by the time this returns, or will be by another thread. */
void aclfs_fuse_process(aclfs_fuse_session *session, const struct fuse_buf *buffer);
/* Sends a reply the way that its request came: as writev(2). */
ssize_t aclfs_fuse_send(aclfs_fuse_session *session, const struct iovec *iov, int count);
int aclfs_fuse_wake_signal(void);
/* For the threads of this process. */
void aclfs_busy_poll_begin(struct busy_poll *busy_poll);
/* A request has come from this thread. */
void aclfs_busy_poll_note(struct busy_poll *busy_poll, uint32_t caller);
/* Behind an answer: returns when there is another request, or no more reason to expect one soon. */
void aclfs_busy_poll(struct busy_poll *busy_poll, int device);
/* Called with the lock held. */
void aclfs_workers_wake(aclfs_fuse_session *session);
/* Called with the lock held. */
void aclfs_fuse_stop_locked(aclfs_fuse_session *session);

/* Serves a request that the library does not know; false leaves it to the library. */
bool aclfs_fuse_serve_unknown(aclfs_fuse_session *session, const struct wire_in_header *header, size_t size);

#endif
