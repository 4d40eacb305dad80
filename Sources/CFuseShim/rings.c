#include "ring.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <string.h>

/*
 * Threads of a queue that wait for a request, at least, while others work.
 * More than one, because the kernel hands a request that found nobody waiting
 * to the next thread that answers, and not to one that comes anew: where all
 * block, it would wait for one of them.
 */
enum { FEWEST_SPARE = 2, MOST_SPARE = 8, SPARE_ON_ALL_QUEUES = 128 };

/* The number of possible processors, which is that of the kernel's queues; 0 if it cannot be told. */
static unsigned possible_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	if (!file)
		return 0;
	unsigned first, last;
	int n = fscanf(file, "%u-%u", &first, &last);
	int end = fgetc(file);
	fclose(file);
	/* Several ranges, with numbers missing between them, would not fit the kernel's queues either. */
	if (n < 1 || first != 0 || (end != '\n' && end != EOF))
		return 0;
	return n == 1 ? 1 : last + 1;
}

/* ---- one thread ---- */

static void start_more(struct ring_thread *thread);

/* The library answers all that it can read; this is for what it cannot. */
static void refuse(struct ring_thread *thread, uint64_t unique)
{
	struct wire_out_header header = { .len = sizeof header, .error = -EIO, .unique = unique };
	struct iovec iov = { &header, sizeof header };
	aclfs_ring_answer(thread, &iov, 1);
}

static void handle(struct ring_thread *thread)
{
	aclfs_fuse_session *session = thread->session;
	start_more(thread);
	struct wire_in_header header;
	memcpy(&header, thread->ring.memory, sizeof header);
	atomic_store_explicit(&thread->unique, header.unique, memory_order_relaxed);
	thread->commit = aclfs_ring_commit_id(&thread->ring);
	struct fuse_buf message = aclfs_ring_message(&thread->ring);
	fuse_thread.answering = thread;
	if (message.size)
		aclfs_fuse_process(session, &message);
	else
		refuse(thread, header.unique);
	fuse_thread.answering = NULL;
	if (atomic_load_explicit(&thread->unique, memory_order_acquire)) {
		/* Another thread will answer. */
		pthread_mutex_lock(&session->lock);
		while (atomic_load_explicit(&thread->unique, memory_order_relaxed))
			pthread_cond_wait(&session->changed, &session->lock);
		pthread_mutex_unlock(&session->lock);
	}
	atomic_fetch_add(&thread->queue->idle, 1);
}

int aclfs_ring_answer(struct ring_thread *thread, const struct iovec *iov, int count)
{
	int result = aclfs_ring_put_reply(&thread->ring, iov, count);
	if (result) {
		struct wire_out_header *header = iov[0].iov_base;
		*header = (struct wire_out_header){ .len = sizeof *header, .error = -EIO, .unique = header->unique };
		aclfs_ring_put_reply(&thread->ring, iov, 1);
	}
	if (fuse_thread.ring == thread) {
		atomic_store_explicit(&thread->unique, 0, memory_order_relaxed);
		return result;
	}
	pthread_mutex_lock(&thread->session->lock);
	atomic_store_explicit(&thread->unique, 0, memory_order_release);
	pthread_cond_broadcast(&thread->session->changed);
	pthread_mutex_unlock(&thread->session->lock);
	return result;
}

/* Until the mount is gone (0) or the session is stopped (0), else -errno. */
static int serve(struct ring_thread *thread)
{
	struct ring *ring = &thread->ring;
	aclfs_ring_submit(ring, WIRE_RING_REGISTER, thread->queue->cpu, 0);
	unsigned pending = 1;
	bool registered = false;
	while (!fuse_session_exited(thread->session->library)) {
		atomic_store(&thread->waiting, true);
		int n = aclfs_ring_enter(ring, pending, true);
		atomic_store(&thread->waiting, false);
		if (n < 0 && n != -EINTR && n != -EAGAIN && n != -EBUSY)
			return n;
		if (n > 0)
			pending -= (unsigned)n;
		int32_t result;
		if (!aclfs_ring_take(ring, &result))
			continue;
		if (result == -ENOTCONN || result == -ECANCELED)
			return 0;
		/* A kernel that refuses an entry at first goes on with the device; an answer that it refuses is lost. */
		if (result < 0)
			return registered ? result : 0;
		if (!registered)
			atomic_store_explicit(&thread->session->rings.in_use, true, memory_order_relaxed);
		registered = true;
		handle(thread);
		aclfs_ring_submit(ring, WIRE_RING_COMMIT_AND_FETCH, thread->queue->cpu, thread->commit);
		pending = 1;
	}
	if (registered && pending)
		aclfs_ring_enter(ring, pending, false);
	return 0;
}

/* On the processor whose requests it serves.  Where that is not allowed it serves from elsewhere. */
static void stay_on(unsigned cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (cpu < CPU_SETSIZE) {
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
}

static void *ring_main(void *argument)
{
	struct ring_thread *thread = argument;
	aclfs_fuse_session *session = thread->session;
	fuse_thread.ring = thread;
	stay_on(thread->queue->cpu);
	int opened = aclfs_ring_open(&thread->ring, session->device, session->rings.payload_size);
	pthread_mutex_lock(&session->lock);
	if (!opened)
		session->rings.opened++;
	else if (!session->ready)
		session->rings.failure = opened;
	pthread_cond_broadcast(&session->changed);
	/* The kernel takes entries when INIT is answered. */
	while (!session->ready && !session->rings.abandoned && !fuse_session_exited(session->library))
		pthread_cond_wait(&session->changed, &session->lock);
	bool serves = !opened && !session->rings.abandoned;
	pthread_mutex_unlock(&session->lock);
	int result = serves ? serve(thread) : 0;
	/* It takes no more requests; another may be started in its place. */
	atomic_fetch_sub(&thread->queue->idle, 1);
	atomic_fetch_sub(&thread->queue->started, 1);
	aclfs_ring_close(&thread->ring);
	pthread_mutex_lock(&session->lock);
	if (result) {
		session->failure = result;
		aclfs_fuse_stop_locked(session);
	}
	session->live--;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	return NULL;
}

/* ---- all of them ---- */

/* Called with the lock held. */
static int start(aclfs_fuse_session *session, struct ring_queue *queue)
{
	struct ring_thread *thread = calloc(1, sizeof *thread);
	if (!thread)
		return -ENOMEM;
	thread->session = session;
	thread->queue = queue;
	thread->ring.descriptor = -1;
	int error = pthread_create(&thread->thread, NULL, ring_main, thread);
	if (error) {
		free(thread);
		return -error;
	}
	thread->next = session->rings.threads;
	session->rings.threads = thread;
	session->live++;
	atomic_fetch_add(&queue->idle, 1);
	atomic_fetch_add(&queue->started, 1);
	return 0;
}

/* A thread has taken a request. */
static void start_more(struct ring_thread *thread)
{
	struct ring_queue *queue = thread->queue;
	if (atomic_fetch_sub(&queue->idle, 1) > queue->spare || atomic_load(&queue->started) >= queue->most)
		return;
	aclfs_fuse_session *session = thread->session;
	pthread_mutex_lock(&session->lock);
	/* If it fails, requests wait in the kernel for those that are there. */
	while (session->running && !fuse_session_exited(session->library) && atomic_load(&queue->idle) < queue->spare &&
	       atomic_load(&queue->started) < queue->most)
		if (start(session, queue))
			break;
	pthread_mutex_unlock(&session->lock);
}

/* A ring takes a descriptor while it is made, and each request some: where there are few, not too many at a time. */
static unsigned most_threads(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= RING_THREADS_PER_QUEUE * 16)
		return RING_THREADS_PER_QUEUE;
	return limit.rlim_cur < 64 ? 4 : (unsigned)limit.rlim_cur / 16;
}

int aclfs_rings_prepare(aclfs_fuse_session *session, size_t payload_size)
{
	unsigned count = possible_cpus();
	if (!count || count > UINT16_MAX)
		return -ENODEV;
	struct ring_queue *queues = calloc(count, sizeof *queues);
	if (!queues)
		return -ENOMEM;
	pthread_mutex_lock(&session->lock);
	struct rings *rings = &session->rings;
	rings->queues = queues;
	rings->payload_size = payload_size;
	unsigned spare = SPARE_ON_ALL_QUEUES / count;
	spare = spare > MOST_SPARE ? MOST_SPARE : spare < FEWEST_SPARE ? FEWEST_SPARE : spare;
	unsigned most = most_threads();
	if (spare > most / 2)
		spare = most / 2;
	for (unsigned i = 0; i < count; i++) {
		queues[i].cpu = (uint16_t)i;
		queues[i].most = (uint16_t)most;
		queues[i].spare = (uint16_t)spare;
		for (unsigned j = 0; j < spare && !rings->failure; j++)
			rings->failure = start(session, &queues[i]);
	}
	count *= spare;
	while (!rings->failure && rings->opened < count && !fuse_session_exited(session->library))
		pthread_cond_wait(&session->changed, &session->lock);
	rings->abandoned = rings->failure || rings->opened < count;
	int result = rings->abandoned && !rings->failure ? -ECANCELED : rings->failure;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	return result;
}

void aclfs_rings_wake(aclfs_fuse_session *session)
{
	for (struct ring_thread *thread = session->rings.threads; thread; thread = thread->next)
		if (atomic_load(&thread->waiting))
			pthread_kill(thread->thread, aclfs_fuse_wake_signal());
}

void aclfs_rings_join(aclfs_fuse_session *session)
{
	while (session->rings.threads) {
		struct ring_thread *thread = session->rings.threads;
		session->rings.threads = thread->next;
		pthread_join(thread->thread, NULL);
		free(thread);
	}
	free(session->rings.queues);
	session->rings = (struct rings){ 0 };
}
