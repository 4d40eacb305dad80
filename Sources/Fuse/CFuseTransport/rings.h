/*
 * Requests over io_uring (since Linux 6.14): requests and replies are in shared memory, on the caller's processor.
 *
 * The kernel has one queue for each possible processor and uses rings only when each queue has an entry. Each entry
 * here has its own thread and io_uring (decision 15). So the kernel assigns a request only to a thread that waits: a
 * blocked handler delays no other request, and a queue whose last waiting thread gets a request starts another one.
 */
#ifndef ACLFS_TRANSPORT_RINGS_H
#define ACLFS_TRANSPORT_RINGS_H

#include "ring.h"
#include "shared.h"

/* The maximum of threads for one processor; further requests wait in the kernel. */
enum { RING_THREADS_PER_QUEUE = 160 };

struct ring_queue {
	uint16_t cpu;
	/* The minimum of threads that wait for a request while others work. */
	uint16_t spare;
	/* The maximum of threads that are started. */
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
	/* The unique number of the current request; 0 once it is answered. Another thread may send the reply. */
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
	/* The reply to INIT does not promise rings. */
	bool abandoned;
};

/* Starts the threads of each queue before the reply to INIT: 0, or -errno and the threads end. */
int aclfs_rings_prepare(struct rings *rings, size_t payload_size);
/* After all threads have ended. */
void aclfs_rings_join(struct rings *rings);

/* Whether the thread holds this request, unanswered. */
static inline bool ring_holds(struct aclfs_ring_thread *thread, uint64_t unique)
{
	return atomic_load_explicit(&thread->unique, memory_order_relaxed) == unique;
}

/* Answers the request that the thread holds; any thread may call it. 0, or -errno and the reply is EIO. */
int aclfs_rings_answer(struct aclfs_ring_thread *thread, const struct iovec *iov, int count);

#endif
