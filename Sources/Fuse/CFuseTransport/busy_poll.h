/* Polls for the next request before a worker sleeps, if that is worthwhile (decision 19). */
#ifndef ACLFS_TRANSPORT_BUSY_POLL_H
#define ACLFS_TRANSPORT_BUSY_POLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Hints, without a lock. */
struct busy_poll {
	/* There is more than one processor. */
	bool possible;
	/* The caller's thread of the last request, and the number of its successive requests. */
	atomic_uint caller, streak;
};

/* Resets the state. */
void aclfs_busy_poll_begin(struct busy_poll *busy_poll);
/* A request of this thread has arrived. */
void aclfs_busy_poll_note(struct busy_poll *busy_poll, uint32_t caller);
/* After a reply: returns when there is another request, or none is to be expected soon. */
void aclfs_busy_poll(struct busy_poll *busy_poll, int device);

#endif
