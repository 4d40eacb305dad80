#include "workers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The opcodes of requests that no caller waits for. */
enum {
	FORGET = 2,
	BATCH_FORGET = 42,
};

/* The worker that is the calling thread, if any. */
static _Thread_local struct worker *current;

static void *worker_main(void *argument);

/* Workers handle only signals of their own faults and the wake signal. */
static void block_signals(sigset_t *before)
{
	sigset_t all;
	sigfillset(&all);
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&all, faults[i]);
	sigdelset(&all, aclfs_wake_signal());
	pthread_sigmask(SIG_SETMASK, &all, before);
}

/* Called with the lock held, for which the new thread waits first. Returns 0 or an errno. */
static int start_worker(struct workers *workers)
{
	struct worker *worker = &workers->all[workers->started];
	worker->workers = workers;
	sigset_t before;
	block_signals(&before);
	int error = pthread_create(&worker->thread.id, NULL, worker_main, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return error;
	aclfs_shared_add(workers->shared, &worker->thread);
	workers->started++;
	atomic_fetch_add(&workers->serving, 1);
	return 0;
}

/* ---- handlers that wait ---- */

void aclfs_transport_block(void)
{
	struct worker *worker = current;
	/* Rings always have spare threads. */
	if (!worker || worker->blocks++)
		return;
	struct workers *workers = worker->workers;
	struct shared *shared = workers->shared;
	pthread_mutex_lock(&shared->lock);
	int serving = atomic_fetch_sub(&workers->serving, 1) - 1;
	if (serving < (int)workers->count && !is_ended(shared)) {
		if (workers->parked) {
			workers->parked--;
			workers->recalled++;
			atomic_fetch_add(&workers->serving, 1);
			pthread_cond_signal(&shared->wanted);
		} else if (workers->started < workers->count + MOST_SPARE_WORKERS) {
			/* Another thread starts it: this one may have its caller's credentials. */
			workers->needs_worker = true;
			pthread_cond_broadcast(&shared->changed);
		}
	}
	pthread_mutex_unlock(&shared->lock);
}

void aclfs_transport_unblock(void)
{
	struct worker *worker = current;
	if (worker && !--worker->blocks)
		atomic_fetch_add(&worker->workers->serving, 1);
}

/*
 * A worker that replaces the last idle one sees that none is idle, and starts another. So when all but one sleep for
 * long, that one does not block before there is another.
 */
void aclfs_transport_block_lightly(void)
{
	struct worker *worker = current;
	if (worker && (worker->light_blocks || (!worker->blocks && atomic_load(&worker->workers->idle) > 0)))
		worker->light_blocks++;
	else
		aclfs_transport_block();
}

void aclfs_transport_unblock_lightly(void)
{
	struct worker *worker = current;
	if (worker && worker->light_blocks)
		worker->light_blocks--;
	else
		aclfs_transport_unblock();
}

static void park(struct workers *workers)
{
	struct shared *shared = workers->shared;
	pthread_mutex_lock(&shared->lock);
	if (atomic_load(&workers->serving) > (int)workers->count) {
		atomic_fetch_sub(&workers->serving, 1);
		workers->parked++;
		while (!workers->recalled && !is_ended(shared))
			pthread_cond_wait(&shared->wanted, &shared->lock);
		/* The worker that recalled this one has counted it as serving. */
		if (workers->recalled)
			workers->recalled--;
	}
	pthread_mutex_unlock(&shared->lock);
}

/* ---- serving ---- */

ssize_t aclfs_transport_read(int device, void *buffer, size_t size, void *userdata)
{
	(void)userdata;
	atomic_store(&current->thread.waiting, true);
	ssize_t n = read(device, buffer, size);
	int error = errno;
	atomic_store(&current->thread.waiting, false);
	errno = error;
	return n;
}

static bool is_forget(const struct fuse_buf *buffer)
{
	const struct wire_in_header *header = buffer->mem;
	return header->opcode == FORGET || header->opcode == BATCH_FORGET;
}

/*
 * If requests come through rings, the device has little besides FORGET, for which no caller waits. A thread that
 * waits for each of them would be woken by each unlink(2), mostly on another processor and at the caller's expense.
 * So one thread at a time reads, and collects requests for a moment (decision 18).
 */
enum { FORGET_DELAY_NS = 1000000 };

static int receive_beside_rings(struct worker *worker)
{
	struct workers *workers = worker->workers;
	struct fuse_session *library = workers->shared->library;
	pthread_mutex_lock(&workers->device_lock);
	/* A worker that waited for the lock was not woken by the end. */
	int n = is_ended(workers->shared) ? 0 : fuse_session_receive_buf(library, &worker->buffer);
	if (n > 0 && is_forget(&worker->buffer))
		nanosleep(&(struct timespec){ .tv_nsec = FORGET_DELAY_NS }, NULL);
	pthread_mutex_unlock(&workers->device_lock);
	return n;
}

/* Serves until the mount ends (0) or the transport is stopped (0), else -errno. */
static int serve(struct worker *worker)
{
	struct workers *workers = worker->workers;
	struct shared *shared = workers->shared;
	while (!is_ended(shared)) {
		bool rings = atomic_load_explicit(&shared->rings_in_use, memory_order_relaxed);
		atomic_fetch_add_explicit(&workers->idle, 1, memory_order_relaxed);
		int n = rings ? receive_beside_rings(worker) : fuse_session_receive_buf(shared->library, &worker->buffer);
		atomic_fetch_sub_explicit(&workers->idle, 1, memory_order_seq_cst);
		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0)
			return n;
		struct wire_in_header *header = worker->buffer.mem;
		aclfs_busy_poll_note(&workers->busy_poll, header->pid);
		shared->owner.process(shared->owner.userdata, header, worker->buffer.size, NULL);
		if (atomic_load_explicit(&workers->serving, memory_order_relaxed) > (int)workers->count)
			park(workers);
		else if (!rings)
			aclfs_busy_poll(&workers->busy_poll, shared->device);
	}
	return 0;
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct shared *shared = worker->workers->shared;
	current = worker;
	pthread_mutex_lock(&shared->lock);
	/* One worker answers INIT; the others wait until the owner knows what was negotiated. */
	while (worker != worker->workers->all && !shared->ready && !is_ended(shared))
		pthread_cond_wait(&shared->changed, &shared->lock);
	pthread_mutex_unlock(&shared->lock);
	int failure = serve(worker);
	free(worker->buffer.mem);
	aclfs_shared_leave(shared, failure);
	return NULL;
}

/* ---- all of them ---- */

void aclfs_workers_begin(struct workers *workers, struct shared *shared)
{
	workers->shared = shared;
	pthread_mutex_init(&workers->device_lock, NULL);
}

void aclfs_workers_end(struct workers *workers)
{
	pthread_mutex_destroy(&workers->device_lock);
}

int aclfs_workers_start(struct workers *workers, unsigned count)
{
	if (!count)
		return -EINVAL;
	aclfs_wake_signal_install();
	struct worker *all = calloc(count + MOST_SPARE_WORKERS, sizeof *all);
	if (!all)
		return -ENOMEM;
	struct shared *shared = workers->shared;
	pthread_mutex_lock(&shared->lock);
	if (shared->running) {
		pthread_mutex_unlock(&shared->lock);
		free(all);
		return -EBUSY;
	}
	shared->running = true;
	shared->live = 0;
	shared->failure = 0;
	workers->all = all;
	workers->count = count;
	workers->started = workers->parked = workers->recalled = 0;
	workers->needs_worker = false;
	atomic_store(&workers->serving, 0);
	atomic_store(&workers->idle, 0);
	aclfs_busy_poll_begin(&workers->busy_poll);
	for (unsigned i = 0; i < count; i++) {
		int error = start_worker(workers);
		if (error) {
			aclfs_shared_stop_locked(shared, -error);
			break;
		}
	}
	pthread_mutex_unlock(&shared->lock);
	return 0;
}

/* Called with the lock held. */
static void start_needed(struct workers *workers)
{
	workers->needs_worker = false;
	/* Without memory for another worker requests wait. */
	while (atomic_load(&workers->serving) < (int)workers->count &&
	       workers->started < workers->count + MOST_SPARE_WORKERS)
		if (start_worker(workers))
			return;
}

/* Called with the lock held. */
static void wait_for_threads(struct workers *workers)
{
	struct shared *shared = workers->shared;
	while (shared->live) {
		if (workers->needs_worker && !is_ended(shared))
			start_needed(workers);
		if (!is_ended(shared)) {
			pthread_cond_wait(&shared->changed, &shared->lock);
			continue;
		}
		/* A signal just before read(2) is lost: wake again until all threads have ended. */
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 5000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&shared->changed, &shared->lock, &until);
		aclfs_shared_wake(shared);
	}
}

int aclfs_workers_join(struct workers *workers)
{
	struct shared *shared = workers->shared;
	pthread_mutex_lock(&shared->lock);
	wait_for_threads(workers);
	/* Now stop wakes no thread, so that they can be joined. */
	shared->running = false;
	shared->threads = NULL;
	struct worker *all = workers->all;
	workers->all = NULL;
	unsigned started = workers->started;
	int failure = shared->failure;
	pthread_mutex_unlock(&shared->lock);
	for (unsigned i = 0; i < started; i++)
		pthread_join(all[i].thread.id, NULL);
	free(all);
	return failure;
}
