/*
 * Requests that wait in the daemon, and whose turn it is. The kernel's queue is one for all users: a user who sends sixteen requests at a time would
 * let others wait for them all.
 */
#ifndef ACLFS_TRANSPORT_QUEUE_H
#define ACLFS_TRANSPORT_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Users are told apart by this many numbers; those with the same one take turns together. */
	USERS = 256,
	/* As many requests, and none larger, are copied. Larger ones bring data, which takes longer than a turn. */
	MOST_QUEUED = 64,
	LARGEST_QUEUED = 16384,
};

struct queued {
	struct queued *next;
	int user;
	size_t size;
	_Alignas(8) char message[];
};

struct queue {
	/* Held by the worker that reads more from the device, too. */
	pthread_mutex_t lock;
	/* Changed with the lock held. */
	atomic_uint length;
	/* How many requests are handled without waiting: in all, and of each user. */
	atomic_int busy;
	atomic_int busy_for[USERS];
	/* Protected by the lock: those that wait, in the order in which they came; when each user had a turn last. */
	struct queued *first, **end;
	uint64_t turn, last_turn[USERS];
};

void aclfs_queue_begin(struct queue *queue);
/* Frees what still waits: its callers get an error from the kernel. */
void aclfs_queue_end(struct queue *queue);
int aclfs_queue_user(uint32_t uid);
/* Called with the lock held. Returns false without memory for it. */
bool aclfs_queue_add(struct queue *queue, int user, const void *message, size_t size);
/*
 * Called with the lock held: takes out the request whose turn it is. It is of the user with the fewest that are handled, and of several such of the
 * one who has waited longest for a turn. If `enough` are handled, only users without any have a turn. The caller frees it.
 */
struct queued *aclfs_queue_take(struct queue *queue, int enough);

/* A request is handled, or its handler no longer waits; and the reverse. */
static inline void aclfs_queue_busy(struct queue *queue, int user)
{
	atomic_fetch_add(&queue->busy, 1);
	if (user >= 0)
		atomic_fetch_add(&queue->busy_for[user], 1);
}

static inline void aclfs_queue_not_busy(struct queue *queue, int user)
{
	if (user >= 0)
		atomic_fetch_sub(&queue->busy_for[user], 1);
	atomic_fetch_sub(&queue->busy, 1);
}

#endif
