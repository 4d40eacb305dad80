/*
 * Requests over io_uring (Linux 6.14 and newer): they come in and replies go out through shared memory, on the
 * processor of the caller.
 *
 * The kernel keeps one queue for each possible processor and uses the rings only when each queue has an entry.  Here
 * every entry has a thread and an io_uring of its own (decision 15).  So a request only ever goes to a thread that
 * waits for one: a handler that blocks holds up nothing behind it, and a queue whose last waiting thread takes a
 * request starts one more.
 */
#ifndef ACLFS_TRANSPORT_RINGS_H
#define ACLFS_TRANSPORT_RINGS_H

#include "ring.h"
#include "shared.h"

/* More threads than this for one processor are not started; requests then wait in the kernel. */
enum { RING_THREADS_PER_QUEUE = 160 };

struct ring_queue {
	uint16_t cpu;
	/* So many wait for a request, at least, while others work. */
	uint16_t spare;
	/* No more than so many are started. */
	uint16_t most;
	/* Threads that wait for a request, and all that were started. */
	atomic_uint idle, started;
};

struct aclfs_ring_thread {
	struct transport_thread thread;
	struct aclfs_ring_thread *next;
	struct rings *rings;
	struct ring_queue *queue;
	struct ring ring;
	/* Of the request in hand; 0 once it is answered.  Its reply may come from another thread. */
	_Atomic uint64_t unique;
	uint64_t commit;
};

/* Guarded by the shared lock. */
struct rings {
	struct shared *shared;
	struct aclfs_ring_thread *threads;
	struct ring_queue *queues;
	size_t payload_size;
	unsigned opened;
	int failure;
	/* The kernel is promised no rings. */
	bool abandoned;
};

/* Starts the threads of each queue before the kernel is promised rings: 0, or -errno and they end. */
int aclfs_rings_prepare(struct rings *rings, size_t payload_size);
/* After all threads have ended. */
void aclfs_rings_join(struct rings *rings);

/* Whether the thread holds this request, unanswered. */
static inline bool ring_holds(struct aclfs_ring_thread *thread, uint64_t unique)
{
	return atomic_load_explicit(&thread->unique, memory_order_relaxed) == unique;
}

/* Answers the request that the thread holds; from any thread.  0, or -errno and the reply is EIO. */
int aclfs_rings_answer(struct aclfs_ring_thread *thread, const struct iovec *iov, int count);

#endif
