/*
 * What tests of CFuseTransport need besides its interface: a session of libfuse on a socket in place of /dev/fuse, what
 * a transport counts, and rings without a kernel.  Not shipped.
 */
#ifndef ACLFS_TRANSPORT_HARNESS_H
#define ACLFS_TRANSPORT_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../Sources/Fuse/CFuseTransport/entry.h"

#pragma clang assume_nonnull begin

struct fuse_session;
struct aclfs_transport;
struct aclfs_ring_thread;

/* ---- sessions ---- */

/*
 * A session of libfuse that reads from this descriptor through aclfs_transport_read, and closes it at its end.  When
 * the other side is closed the mount is gone, as the kernel says it.
 */
struct fuse_session *_Nullable harness_session_new(int device);
void harness_session_free(struct fuse_session *session);

struct harness_counts {
    int serving, idle;
    unsigned live, started, parked;
    bool rings_in_use;
};
struct harness_counts harness_counts(struct aclfs_transport *transport);
unsigned harness_most_spare_workers(void);
int harness_wake_signal(void);

/* ---- rings ---- */

/* The processors to which the threads with rings are bound, or -1 for one that is bound to none alone: their number. */
size_t harness_ring_processors(struct aclfs_transport *transport, int *processors, size_t room);
/* Stands for a thread that holds a request, unanswered. */
struct aclfs_ring_thread *harness_ring_thread_new(
    struct aclfs_transport *transport, struct ring_entry entry, uint64_t unique);
/* The request that it holds; 0 once it is answered. */
uint64_t harness_ring_thread_unique(struct aclfs_ring_thread *thread);
void harness_ring_thread_free(struct aclfs_ring_thread *thread);

/* A ring in memory that no kernel looks at, with two places for submissions and completions each. */
struct harness_ring;
enum {
    HARNESS_RING_REGISTER = 1,
    HARNESS_RING_COMMIT_AND_FETCH = 2,
    HARNESS_SUBMISSION_SIZE = 128,
};
struct harness_ring *harness_ring_new(struct ring_entry entry);
void harness_ring_free(struct harness_ring *ring);
void harness_ring_submit(struct harness_ring *ring, int command, uint16_t cpu, uint64_t commit);
/* What lies in that place, HARNESS_SUBMISSION_SIZE bytes; and how many were submitted. */
const uint8_t *harness_ring_submission(struct harness_ring *ring, unsigned place);
uint32_t harness_ring_submitted(struct harness_ring *ring);
/* What the kernel does. */
void harness_ring_complete(struct harness_ring *ring, int32_t result);
bool harness_ring_take(struct harness_ring *ring, int32_t *result);

/* ---- the wait before sleep ---- */

struct harness_busy_poll;
struct harness_busy_poll *harness_busy_poll_new(bool possible);
void harness_busy_poll_free(struct harness_busy_poll *busy_poll);
void harness_busy_poll_note(struct harness_busy_poll *busy_poll, uint32_t caller);
void harness_busy_poll(struct harness_busy_poll *busy_poll, int device);
/* How many requests in a row came from the same thread, after the first. */
unsigned harness_busy_poll_streak(struct harness_busy_poll *busy_poll);

#pragma clang assume_nonnull end
#endif
