/* The pool of threads that read requests from the device. */
#ifndef ACLFS_TRANSPORT_WORKERS_H
#define ACLFS_TRANSPORT_WORKERS_H

#include "busy_poll.h"
#include "queue.h"
#include "shared.h"

/*
 * Requests do not wait for handlers that wait (aclfs_transport_block): other workers, at most this number, replace
 * theirs. More threads than processors would slow down every request, so a worker in excess is parked when its
 * handler ends.
 */
enum { MOST_SPARE_WORKERS = 160 };

struct worker {
	struct transport_thread thread;
	struct workers *workers;
	struct fuse_buf buffer;
	/* The nesting depth of aclfs_transport_block. */
	unsigned blocks;
	/* The nesting depth of light blocks, which count only if no other worker is idle. */
	unsigned light_blocks;
	/* The user whose request it handles, as in the queue; -1 = none. */
	int user;
	/* The number of requests that it has begun. */
	_Atomic unsigned long begun;
};

struct workers {
	struct shared *shared;
	/* The number of workers that wait for a request, or handle one without waiting. */
	atomic_int serving;
	/* The number of these that wait for a request. */
	atomic_int idle;
	struct busy_poll busy_poll;
	/* Requests that were read and wait for their turn. */
	struct queue queue;
	/* A worker was the last idle one since the last look at them, and there are such looks. */
	atomic_bool contended, watched;
	/* Held by the worker that reads from the device, if rings are in use. */
	pthread_mutex_t device_lock;

	/* Protected by the shared lock. */
	struct worker *all;
	/* The number of workers that should serve, were started, are parked, and are recalled from there. */
	unsigned count, started, parked, recalled;
	/* How many rest because the transport is paused. */
	unsigned resting;
	/* How many more than `count` should serve, because all were busy for long. */
	atomic_uint extra;
	/* What they had begun at the last look, and for how many looks all was quiet. */
	unsigned long begun;
	unsigned quiet;
	/* A worker waits, and no parked one can replace it. */
	bool needs_worker;
};

void aclfs_workers_begin(struct workers *workers, struct shared *shared);
void aclfs_workers_end(struct workers *workers);
/* Starts this number of workers: 0, or -errno and nothing is changed. */
int aclfs_workers_start(struct workers *workers, unsigned count);
/* No more is read, and what was read is handled: whether that is so within a time. */
bool aclfs_workers_pause(struct workers *workers, uint64_t nanoseconds);
void aclfs_workers_go_on(struct workers *workers);
/* Starts more workers as needed, until all threads have ended, ring threads too: 0 or -errno. */
int aclfs_workers_join(struct workers *workers);

#endif
