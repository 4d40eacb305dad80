/* Whether to look for the next request before sleeping, and for how long (decision 19). */
#ifndef ACLFS_TRANSPORT_BUSY_POLL_H
#define ACLFS_TRANSPORT_BUSY_POLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Hints, not guarded by anything. */
struct busy_poll {
	/* There is more than one processor. */
	bool possible;
	/* The thread that asked last, and how many requests in a row are its. */
	atomic_uint caller, streak;
};

/* For the threads of this process. */
void aclfs_busy_poll_begin(struct busy_poll *busy_poll);
/* A request has come from this thread. */
void aclfs_busy_poll_note(struct busy_poll *busy_poll, uint32_t caller);
/* After a reply: returns when there is another request, or no more reason to expect one soon. */
void aclfs_busy_poll(struct busy_poll *busy_poll, int device);

#endif
