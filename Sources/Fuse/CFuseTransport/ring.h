/*
 * An io_uring with one entry of a queue. libc has no functions for its system calls, and liburing is not always
 * installed. Only the thread that opened it uses it, except for the reply in the entry.
 */
#ifndef ACLFS_TRANSPORT_RING_H
#define ACLFS_TRANSPORT_RING_H

#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "entry.h"

/* Missing in headers before Linux 6.1. */
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

/* FUSE over io_uring: protocol 7.42. */
enum wire_ring_command {
	WIRE_RING_REGISTER = 1,
	WIRE_RING_COMMIT_AND_FETCH = 2,
};

/* The content of a command. */
struct wire_ring_request {
	uint64_t flags, commit_id;
	uint16_t qid;
	uint8_t padding[6];
};
_Static_assert(sizeof(struct wire_ring_request) == 24, "ring_request");

/* A ring, whose memory the kernel shares. */
struct ring {
	int descriptor;
	/* It has an index in the thread's table of rings instead of a descriptor. */
	bool is_registered;
	void *indexes, *submissions;
	size_t indexes_size, submissions_size;
	_Atomic uint32_t *submission_tail, *completion_head, *completion_tail;
	uint32_t submission_mask, completion_mask;
	struct io_uring_cqe *completions;
	struct ring_entry entry;
};

/* 0 or -errno. */
int aclfs_ring_open(struct ring *ring, int device, size_t payload_size);
void aclfs_ring_close(struct ring *ring);
/* Adds one command to the ring; the next enter submits it. */
void aclfs_ring_submit(struct ring *ring, enum wire_ring_command command, uint16_t cpu, uint64_t commit);
/* Submits commands, and waits for a completion if `wait`. Returns the number of submitted commands, or -errno. */
int aclfs_ring_enter(struct ring *ring, unsigned submit, bool wait);
/* Takes a completion: false if there is none. */
bool aclfs_ring_take(struct ring *ring, int32_t *result);

#endif
