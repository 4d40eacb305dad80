/* State that the threads of a transport share, workers and ring threads. */
#ifndef ACLFS_TRANSPORT_SHARED_H
#define ACLFS_TRANSPORT_SHARED_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cfusetransport.h"

struct transport_thread {
	struct transport_thread *next;
	pthread_t id;
	/* It waits for a request: a signal may wake it without disturbing a handler. */
	atomic_bool waiting;
};

struct shared {
	struct fuse_session *library;
	int device;
	struct aclfs_transport_owner owner;
	/* Requests come through rings; few come through the device. */
	atomic_bool rings_in_use;
	/* Nobody reads requests for the moment. */
	atomic_bool paused;

	/* Protects everything below. */
	pthread_mutex_t lock;
	/* changed: the state below, or the answer of a ring's request. wanted: for parked workers. */
	pthread_cond_t changed, wanted;
	bool ready, running;
	/* All threads that can be woken, and the number that have not ended. */
	struct transport_thread *threads;
	unsigned live;
	int failure;
};

void aclfs_shared_begin(struct shared *shared, struct fuse_session *library, int device,
			const struct aclfs_transport_owner *owner);
void aclfs_shared_end(struct shared *shared);

/* Whether the threads are to end, because the mount is gone or the transport was stopped. */
static inline bool is_ended(const struct shared *shared)
{
	return fuse_session_exited(shared->library);
}

/* Called with the lock held. */
void aclfs_shared_add(struct shared *shared, struct transport_thread *thread);
/* Called with the lock held: wakes threads that wait for a request or are parked. */
void aclfs_shared_wake(struct shared *shared);
/* Called with the lock held. failure: the result of run, if not 0. */
void aclfs_shared_stop_locked(struct shared *shared, int failure);
void aclfs_shared_stop(struct shared *shared, int failure);
/* The last step of a thread. failure: as above. */
void aclfs_shared_leave(struct shared *shared, int failure);

int aclfs_wake_signal(void);
/* Call it before a thread waits. */
void aclfs_wake_signal_install(void);

#endif
