/*
 * The io_uring transport (Linux 6.14 and newer): requests come in and answers
 * go out through shared memory, on the processor of whoever asks.
 *
 * The kernel keeps one queue for each possible processor and uses the rings
 * only when each queue has an entry.  Here every entry has a thread and an
 * io_uring of its own.  So a request only ever goes to a thread that waits for
 * one: a handler that blocks holds up nobody behind it, and a queue whose last
 * waiting thread takes a request starts one more.
 */
#ifndef ACLFS_FUSE_RING_H
#define ACLFS_FUSE_RING_H

#include <linux/io_uring.h>
#include <sys/uio.h>

#include "internal.h"

/* What headers of Linux before 6.1 do not have. */
enum {
	RING_REGISTER_RING_FDS = 20,
	RING_UNREGISTER_RING_FDS = 21,
	RING_ENTER_REGISTERED_RING = 1u << 4,
	RING_OP_URING_CMD = 46,
	RING_SETUP_SQE128 = 1u << 10,
	RING_SETUP_SINGLE_ISSUER = 1u << 12,
	RING_SETUP_DEFER_TASKRUN = 1u << 13,
	RING_SETUP_NO_SQARRAY = 1u << 16,
};

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

/* What is shared with the kernel. */
struct ring {
	int descriptor;
	/* It has a number among the thread's rings instead of a descriptor. */
	bool is_registered;
	void *indexes, *submissions;
	size_t indexes_size, submissions_size;
	_Atomic uint32_t *submission_tail, *completion_head, *completion_tail;
	uint32_t submission_mask, completion_mask;
	struct io_uring_cqe *completions;
	/* The entry: headers, room for the head of a message, and the payload behind it, in one mapping. */
	char *memory;
	size_t payload_size;
};

struct ring_thread {
	aclfs_fuse_session *session;
	struct ring_thread *next;
	struct ring_queue *queue;
	struct ring ring;
	pthread_t thread;
	/* Waits for a request: may be woken by a signal without disturbing a handler. */
	atomic_bool waiting;
	/* Of the request in hand; 0 once it is answered.  Its reply may come from another thread. */
	_Atomic uint64_t unique;
	uint64_t commit;
};

/* 0 or -errno. */
int aclfs_ring_open(struct ring *ring, int device, size_t payload_size);
void aclfs_ring_close(struct ring *ring);
/* Puts one command into the ring; the next enter hands it to the kernel. */
void aclfs_ring_submit(struct ring *ring, enum wire_ring_command command, uint16_t cpu, uint64_t commit);
/* Submits so many commands, and waits for a completion if asked to: how many it took, or -errno. */
int aclfs_ring_enter(struct ring *ring, unsigned submit, bool wait);
/* Takes a completion: false if there is none. */
bool aclfs_ring_take(struct ring *ring, int32_t *result);

/* The message that the entry holds, in one piece; size 0 if it makes no sense. */
struct fuse_buf aclfs_ring_message(struct ring *ring);
/* Puts a reply into the entry: 0 or -errno. */
int aclfs_ring_put_reply(struct ring *ring, const struct iovec *iov, int count);
uint64_t aclfs_ring_commit_id(const struct ring *ring);

/* Starts a thread for each queue before the kernel is promised rings: 0, or -errno and nothing is left of them. */
int aclfs_rings_prepare(aclfs_fuse_session *session, size_t payload_size);
/* Called with the lock held. */
void aclfs_rings_wake(aclfs_fuse_session *session);
/* After all threads have ended. */
void aclfs_rings_join(aclfs_fuse_session *session);
/* Answers the request in the thread's entry; from any thread. */
int aclfs_ring_answer(struct ring_thread *thread, const struct iovec *iov, int count);

#endif
