#include "transportharness.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport.h"

/* ---- sessions ---- */

/* A socket whose other side is closed reads nothing; /dev/fuse of a mount that is gone says ENODEV. */
static ssize_t read_socket(int device, void *buffer, size_t size, void *userdata)
{
    ssize_t n = aclfs_transport_read(device, buffer, size, userdata);
    if (n != 0)
        return n;
    errno = ENODEV;
    return -1;
}

static ssize_t write_socket(int device, struct iovec *iov, int count, void *userdata)
{
    (void)userdata;
    return writev(device, iov, count);
}

struct fuse_session *harness_session_new(int device)
{
    static const struct fuse_lowlevel_ops operations;
    static const struct fuse_custom_io io = {.read = read_socket, .writev = write_socket};
    char *name[] = {"transport-tests", NULL};
    struct fuse_args arguments = FUSE_ARGS_INIT(1, name);
    struct fuse_session *session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
    fuse_opt_free_args(&arguments);
    if (session && fuse_session_custom_io(session, &io, device)) {
        fuse_session_destroy(session);
        session = NULL;
    }
    return session;
}

void harness_session_free(struct fuse_session *session)
{
    fuse_session_destroy(session);
}

struct harness_counts harness_counts(struct aclfs_transport *transport)
{
    pthread_mutex_lock(&transport->shared.lock);
    struct harness_counts counts = {
        .serving = atomic_load(&transport->workers.serving),
        .idle = atomic_load(&transport->workers.idle),
        .live = transport->shared.live,
        .started = transport->workers.started,
        .parked = transport->workers.parked,
        .rings_in_use = atomic_load(&transport->shared.rings_in_use),
    };
    pthread_mutex_unlock(&transport->shared.lock);
    return counts;
}

unsigned harness_most_spare_workers(void)
{
    return MOST_SPARE_WORKERS;
}

int harness_wake_signal(void)
{
    return aclfs_wake_signal();
}

/* ---- rings ---- */

size_t harness_ring_processors(struct aclfs_transport *transport, int *processors, size_t room)
{
    size_t count = 0;
    pthread_mutex_lock(&transport->shared.lock);
    for (struct aclfs_ring_thread *thread = transport->rings.threads; thread; thread = thread->next) {
        cpu_set_t set;
        bool is_bound = !pthread_getaffinity_np(thread->thread.id, sizeof set, &set) && CPU_COUNT(&set) == 1 && CPU_ISSET(thread->queue->cpu, &set);
        if (count < room)
            processors[count] = is_bound ? thread->queue->cpu : -1;
        count++;
    }
    pthread_mutex_unlock(&transport->shared.lock);
    return count;
}

struct aclfs_ring_thread *harness_ring_thread_new(
    struct aclfs_transport *transport, struct ring_entry entry, uint64_t unique)
{
    struct aclfs_ring_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        abort();
    thread->rings = &transport->rings;
    thread->ring.entry = entry;
    atomic_store(&thread->unique, unique);
    return thread;
}

uint64_t harness_ring_thread_unique(struct aclfs_ring_thread *thread)
{
    return atomic_load(&thread->unique);
}

void harness_ring_thread_free(struct aclfs_ring_thread *thread)
{
    free(thread);
}

_Static_assert((int)HARNESS_RING_REGISTER == (int)WIRE_RING_REGISTER, "register");
_Static_assert((int)HARNESS_RING_COMMIT_AND_FETCH == (int)WIRE_RING_COMMIT_AND_FETCH, "commit and fetch");
_Static_assert((int)HARNESS_SUBMISSION_SIZE == 2 * (int)sizeof(struct io_uring_sqe), "submission");

enum { PLACES = 2 };

struct harness_ring {
    struct ring ring;
    _Atomic uint32_t submission_tail, completion_head, completion_tail;
    struct io_uring_cqe completions[PLACES];
    _Alignas(struct io_uring_sqe) uint8_t submissions[PLACES][HARNESS_SUBMISSION_SIZE];
};

struct harness_ring *harness_ring_new(struct ring_entry entry)
{
    struct harness_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        abort();
    /* What lies there must be overwritten. */
    memset(ring->submissions, 0xee, sizeof ring->submissions);
    ring->ring = (struct ring){
        .descriptor = -1,
        .submissions = ring->submissions,
        .submission_tail = &ring->submission_tail,
        .completion_head = &ring->completion_head,
        .completion_tail = &ring->completion_tail,
        .submission_mask = PLACES - 1,
        .completion_mask = PLACES - 1,
        .completions = ring->completions,
        .entry = entry,
    };
    return ring;
}

void harness_ring_free(struct harness_ring *ring)
{
    free(ring);
}

void harness_ring_submit(struct harness_ring *ring, int command, uint16_t cpu, uint64_t commit)
{
    aclfs_ring_submit(&ring->ring, (enum wire_ring_command)command, cpu, commit);
}

const uint8_t *harness_ring_submission(struct harness_ring *ring, unsigned place)
{
    return ring->submissions[place];
}

uint32_t harness_ring_submitted(struct harness_ring *ring)
{
    return atomic_load(&ring->submission_tail);
}

void harness_ring_complete(struct harness_ring *ring, int32_t result)
{
    uint32_t tail = atomic_load(&ring->completion_tail);
    ring->completions[tail % PLACES].res = result;
    atomic_store(&ring->completion_tail, tail + 1);
}

bool harness_ring_take(struct harness_ring *ring, int32_t *result)
{
    return aclfs_ring_take(&ring->ring, result);
}

/* ---- the wait before sleep ---- */

struct harness_busy_poll {
    struct busy_poll busy_poll;
};

struct harness_busy_poll *harness_busy_poll_new(bool possible)
{
    struct harness_busy_poll *result = calloc(1, sizeof *result);
    if (!result)
        abort();
    aclfs_busy_poll_begin(&result->busy_poll);
    /* Whatever this machine has. */
    result->busy_poll.possible = possible;
    return result;
}

void harness_busy_poll_free(struct harness_busy_poll *busy_poll)
{
    free(busy_poll);
}

void harness_busy_poll_note(struct harness_busy_poll *busy_poll, uint32_t caller)
{
    aclfs_busy_poll_note(&busy_poll->busy_poll, caller);
}

void harness_busy_poll(struct harness_busy_poll *busy_poll, int device)
{
    aclfs_busy_poll(&busy_poll->busy_poll, device);
}

unsigned harness_busy_poll_streak(struct harness_busy_poll *busy_poll)
{
    return atomic_load(&busy_poll->busy_poll.streak);
}
