/* The pool of threads that read requests from the device. */
#ifndef ACLFS_TRANSPORT_WORKERS_H
#define ACLFS_TRANSPORT_WORKERS_H

#include "busy_poll.h"
#include "shared.h"

/*
 * Requests do not wait for handlers that say that they wait (aclfs_transport_block): other workers take their places,
 * up to so many.  More threads than processors would make every request slower, so a worker that is too many when its
 * handler is done is parked.
 */
enum { MOST_SPARE_WORKERS = 160 };

struct worker {
	struct transport_thread thread;
	struct workers *workers;
	struct fuse_buf buffer;
	/* How many times its handler has said that it waits. */
	unsigned blocks;
	/* The same, as long as others are there for the requests that come. */
	unsigned light_blocks;
};

struct workers {
	struct shared *shared;
	/* Those that wait for a request, or are at one without waiting for anything else. */
	atomic_int serving;
	/* Of these, those that wait for a request. */
	atomic_int idle;
	struct busy_poll busy_poll;
	/* Held by the one that reads from the device, where rings are in use. */
	pthread_mutex_t turn;

	/* Guarded by the shared lock. */
	struct worker *all;
	/* How many shall serve, were started, are parked, and are called back from there. */
	unsigned count, started, parked, called;
	/* A worker waits, and none is parked that could take its place. */
	bool wished;
};

void aclfs_workers_begin(struct workers *workers, struct shared *shared);
void aclfs_workers_end(struct workers *workers);
/* Starts so many: 0, or -errno and nothing has changed. */
int aclfs_workers_start(struct workers *workers, unsigned count);
/* Starts more as they are needed, until all threads have ended, also those with rings: 0 or -errno. */
int aclfs_workers_join(struct workers *workers);

#endif
