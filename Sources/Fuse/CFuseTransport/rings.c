#include "rings.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/*
 * The minimum of threads of a queue that wait for a request while others work. It is more than one: if no thread
 * waits, the kernel assigns a request to the next thread that answers, not to one that starts later. If all block,
 * the request would wait for one of them.
 */
enum { FEWEST_SPARE = 2, MOST_SPARE = 8, SPARE_ON_ALL_QUEUES = 128 };

/* The number of possible processors, which the kernel's queues have; 0 if unknown. */
static unsigned possible_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	if (!file)
		return 0;
	unsigned first, last;
	int n = fscanf(file, "%u-%u", &first, &last);
	int end = fgetc(file);
	fclose(file);
	/* Several ranges with gaps do not match the kernel's queues. */
	if (n < 1 || first != 0 || (end != '\n' && end != EOF))
		return 0;
	return n == 1 ? 1 : last + 1;
}

/* The ring thread that is the calling thread, if any. */
static _Thread_local struct aclfs_ring_thread *current;

/* ---- one thread ---- */

static void start_more(struct aclfs_ring_thread *thread);

/* Answers a request that cannot be parsed; the owner answers all others. */
static void refuse(struct aclfs_ring_thread *thread, uint64_t unique)
{
	struct wire_out_header header = { .len = sizeof header, .error = -EIO, .unique = unique };
	struct iovec iov = { &header, sizeof header };
	aclfs_rings_answer(thread, &iov, 1);
}

static void handle(struct aclfs_ring_thread *thread)
{
	struct shared *shared = thread->rings->shared;
	start_more(thread);
	struct wire_in_header header;
	memcpy(&header, thread->ring.entry.memory, sizeof header);
	atomic_store_explicit(&thread->unique, header.unique, memory_order_relaxed);
	thread->commit = aclfs_entry_commit_id(&thread->ring.entry);
	struct ring_message message = aclfs_entry_message(&thread->ring.entry);
	if (message.size)
		shared->owner.process(shared->owner.userdata, message.start, message.size, thread);
	else
		refuse(thread, header.unique);
	if (atomic_load_explicit(&thread->unique, memory_order_acquire)) {
		/* Another thread will answer. */
		pthread_mutex_lock(&shared->lock);
		while (atomic_load_explicit(&thread->unique, memory_order_relaxed))
			pthread_cond_wait(&shared->changed, &shared->lock);
		pthread_mutex_unlock(&shared->lock);
	}
	atomic_fetch_add(&thread->queue->idle, 1);
}

int aclfs_rings_answer(struct aclfs_ring_thread *thread, const struct iovec *iov, int count)
{
	int result = aclfs_entry_put_reply(&thread->ring.entry, iov, count);
	if (result) {
		struct wire_out_header *header = iov[0].iov_base;
		*header = (struct wire_out_header){ .len = sizeof *header, .error = -EIO, .unique = header->unique };
		aclfs_entry_put_reply(&thread->ring.entry, iov, 1);
	}
	if (current == thread) {
		atomic_store_explicit(&thread->unique, 0, memory_order_relaxed);
		return result;
	}
	struct shared *shared = thread->rings->shared;
	pthread_mutex_lock(&shared->lock);
	atomic_store_explicit(&thread->unique, 0, memory_order_release);
	pthread_cond_broadcast(&shared->changed);
	pthread_mutex_unlock(&shared->lock);
	return result;
}

/* Serves until the mount ends (0) or the transport is stopped (0), else -errno. */
static int serve(struct aclfs_ring_thread *thread)
{
	struct shared *shared = thread->rings->shared;
	struct ring *ring = &thread->ring;
	aclfs_ring_submit(ring, WIRE_RING_REGISTER, thread->queue->cpu, 0);
	unsigned pending = 1;
	bool registered = false;
	while (!is_ended(shared)) {
		atomic_store(&thread->thread.waiting, true);
		int n = aclfs_ring_enter(ring, pending, true);
		atomic_store(&thread->thread.waiting, false);
		if (n < 0 && n != -EINTR && n != -EAGAIN && n != -EBUSY)
			return n;
		if (n > 0)
			pending -= (unsigned)n;
		int32_t result;
		if (!aclfs_ring_take(ring, &result))
			continue;
		if (result == -ENOTCONN || result == -ECANCELED)
			return 0;
		/* A kernel that refuses an entry at first continues with the device; later the reply is lost. */
		if (result < 0)
			return registered ? result : 0;
		if (!registered)
			atomic_store_explicit(&shared->rings_in_use, true, memory_order_relaxed);
		registered = true;
		handle(thread);
		aclfs_ring_submit(ring, WIRE_RING_COMMIT_AND_FETCH, thread->queue->cpu, thread->commit);
		pending = 1;
	}
	if (registered && pending)
		aclfs_ring_enter(ring, pending, false);
	return 0;
}

/* Binds the thread to its queue's processor. If that fails, it serves from another one. */
static void bind_to(unsigned cpu)
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
	struct aclfs_ring_thread *thread = argument;
	struct rings *rings = thread->rings;
	struct shared *shared = rings->shared;
	current = thread;
	bind_to(thread->queue->cpu);
	int opened = aclfs_ring_open(&thread->ring, shared->device, rings->payload_size);
	pthread_mutex_lock(&shared->lock);
	if (!opened)
		rings->opened++;
	else if (!shared->ready)
		rings->failure = opened;
	pthread_cond_broadcast(&shared->changed);
	/* The kernel accepts entries after the reply to INIT. */
	while (!shared->ready && !rings->abandoned && !is_ended(shared))
		pthread_cond_wait(&shared->changed, &shared->lock);
	bool serves = !opened && !rings->abandoned;
	pthread_mutex_unlock(&shared->lock);
	int result = serves ? serve(thread) : 0;
	/* This thread serves no more requests; another one may be started instead. */
	atomic_fetch_sub(&thread->queue->idle, 1);
	atomic_fetch_sub(&thread->queue->started, 1);
	aclfs_ring_close(&thread->ring);
	aclfs_shared_leave(shared, result);
	return NULL;
}

/* ---- all of them ---- */

/* Called with the lock held. */
static int start(struct rings *rings, struct ring_queue *queue)
{
	struct aclfs_ring_thread *thread = calloc(1, sizeof *thread);
	if (!thread)
		return -ENOMEM;
	thread->rings = rings;
	thread->queue = queue;
	thread->ring.descriptor = -1;
	int error = pthread_create(&thread->thread.id, NULL, ring_main, thread);
	if (error) {
		free(thread);
		return -error;
	}
	thread->next = rings->threads;
	rings->threads = thread;
	aclfs_shared_add(rings->shared, &thread->thread);
	atomic_fetch_add(&queue->idle, 1);
	atomic_fetch_add(&queue->started, 1);
	return 0;
}

/* A thread has taken a request. */
static void start_more(struct aclfs_ring_thread *thread)
{
	struct ring_queue *queue = thread->queue;
	if (atomic_fetch_sub(&queue->idle, 1) > queue->spare || atomic_load(&queue->started) >= queue->most)
		return;
	struct shared *shared = thread->rings->shared;
	pthread_mutex_lock(&shared->lock);
	/* If this fails, requests wait in the kernel for the existing threads. */
	while (shared->running && !is_ended(shared) && atomic_load(&queue->idle) < queue->spare &&
	       atomic_load(&queue->started) < queue->most)
		if (start(thread->rings, queue))
			break;
	pthread_mutex_unlock(&shared->lock);
}

/* Creating a ring needs a descriptor, and each request some: with few descriptors there are fewer threads. */
static unsigned most_threads(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= RING_THREADS_PER_QUEUE * 16)
		return RING_THREADS_PER_QUEUE;
	return limit.rlim_cur < 64 ? 4 : (unsigned)limit.rlim_cur / 16;
}

int aclfs_rings_prepare(struct rings *rings, size_t payload_size)
{
	unsigned count = possible_cpus();
	if (!count || count > UINT16_MAX)
		return -ENODEV;
	struct ring_queue *queues = calloc(count, sizeof *queues);
	if (!queues)
		return -ENOMEM;
	struct shared *shared = rings->shared;
	pthread_mutex_lock(&shared->lock);
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
			rings->failure = start(rings, &queues[i]);
	}
	count *= spare;
	while (!rings->failure && rings->opened < count && !is_ended(shared))
		pthread_cond_wait(&shared->changed, &shared->lock);
	rings->abandoned = rings->failure || rings->opened < count;
	int result = rings->abandoned && !rings->failure ? -ECANCELED : rings->failure;
	pthread_cond_broadcast(&shared->changed);
	pthread_mutex_unlock(&shared->lock);
	return result;
}

void aclfs_rings_join(struct rings *rings)
{
	while (rings->threads) {
		struct aclfs_ring_thread *thread = rings->threads;
		rings->threads = thread->next;
		pthread_join(thread->thread.id, NULL);
		free(thread);
	}
	free(rings->queues);
	*rings = (struct rings){ .shared = rings->shared };
	atomic_store(&rings->shared->rings_in_use, false);
}
