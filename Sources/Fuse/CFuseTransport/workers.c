#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The opcodes of requests that no caller waits for, and of one that is about another request. */
enum {
	FORGET = 2,
	INTERRUPT = 36,
	BATCH_FORGET = 42,
};

/* All workers busy for so long is long. There are so many more at most, and they are kept for so many such times. */
enum { LOOK_NS = 1000000, MOST_EXTRA = 8, QUIET_LOOKS = 50 };

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
	worker->user = -1;
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

static int wanted(struct workers *workers)
{
	return (int)(workers->count + atomic_load_explicit(&workers->extra, memory_order_relaxed));
}

/* Called with the lock held. */
static void recall_or_start(struct workers *workers)
{
	struct shared *shared = workers->shared;
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

/* ---- handlers that wait ---- */

void aclfs_transport_block(void)
{
	struct worker *worker = current;
	/* Rings always have spare threads. */
	if (!worker || worker->blocks++)
		return;
	struct workers *workers = worker->workers;
	struct shared *shared = workers->shared;
	if (!worker->light_blocks)
		aclfs_queue_not_busy(&workers->queue, worker->user);
	pthread_mutex_lock(&shared->lock);
	int serving = atomic_fetch_sub(&workers->serving, 1) - 1;
	if (serving < wanted(workers) && !is_ended(shared))
		recall_or_start(workers);
	pthread_mutex_unlock(&shared->lock);
}

void aclfs_transport_unblock(void)
{
	struct worker *worker = current;
	if (!worker || --worker->blocks)
		return;
	if (!worker->light_blocks)
		aclfs_queue_busy(&worker->workers->queue, worker->user);
	atomic_fetch_add(&worker->workers->serving, 1);
}

/*
 * A worker that replaces the last idle one sees that none is idle, and starts another. So when all but one sleep for
 * long, that one does not block before there is another.
 */
void aclfs_transport_block_lightly(void)
{
	struct worker *worker = current;
	if (worker && worker->light_blocks) {
		worker->light_blocks++;
		return;
	}
	if (!worker || worker->blocks)
		return aclfs_transport_block();
	struct workers *workers = worker->workers;
	/* The worker that reads a request then counts this one, or this one sees that it waits. */
	aclfs_queue_not_busy(&workers->queue, worker->user);
	if (atomic_load(&workers->idle) > 0 && !atomic_load(&workers->queue.length)) {
		worker->light_blocks++;
		return;
	}
	aclfs_queue_busy(&workers->queue, worker->user);
	aclfs_transport_block();
}

void aclfs_transport_unblock_lightly(void)
{
	struct worker *worker = current;
	if (!worker || !worker->light_blocks)
		return aclfs_transport_unblock();
	if (!--worker->light_blocks)
		aclfs_queue_busy(&worker->workers->queue, worker->user);
}

bool aclfs_transport_others_wait(void)
{
	struct worker *worker = current;
	return worker && !atomic_load_explicit(&worker->workers->idle, memory_order_relaxed);
}

static void park(struct workers *workers)
{
	struct shared *shared = workers->shared;
	pthread_mutex_lock(&shared->lock);
	if (atomic_load(&workers->serving) > wanted(workers)) {
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

/* ---- whose turn it is ---- */

static bool waits_in_turn(const struct wire_in_header *header)
{
	return header->opcode != FORGET && header->opcode != BATCH_FORGET && header->opcode != INTERRUPT;
}

static bool is_readable(int device)
{
	return poll(&(struct pollfd){ .fd = device, .events = POLLIN }, 1, 0) > 0;
}

/* From now on the thread that runs the session looks whether all are busy for long. */
static void note_contention(struct workers *workers)
{
	struct shared *shared = workers->shared;
	atomic_store_explicit(&workers->contended, true, memory_order_relaxed);
	if (atomic_load_explicit(&workers->watched, memory_order_relaxed))
		return;
	pthread_mutex_lock(&shared->lock);
	atomic_store(&workers->watched, true);
	workers->quiet = 0;
	pthread_cond_broadcast(&shared->changed);
	pthread_mutex_unlock(&shared->lock);
}

/*
 * Called with the lock of the queue held: reads into the queue what the kernel has, until there is nothing or no room. The device is shared by all
 * workers: another one that reads meanwhile gets EAGAIN, and waits for that lock. Returns 0, or an error of the device.
 */
static int read_more(struct worker *worker, struct wire_in_header **direct)
{
	struct workers *workers = worker->workers;
	struct shared *shared = workers->shared;
	if (atomic_load(&workers->queue.length) >= MOST_QUEUED || !is_readable(shared->device))
		return 0;
	int flags = fcntl(shared->device, F_GETFL);
	if (flags < 0 || fcntl(shared->device, F_SETFL, flags | O_NONBLOCK))
		return 0;
	int n = 0;
	while (atomic_load(&workers->queue.length) < MOST_QUEUED) {
		n = fuse_session_receive_buf(shared->library, &worker->buffer);
		if (n <= 0)
			break;
		struct wire_in_header *header = worker->buffer.mem;
		if (!waits_in_turn(header) || worker->buffer.size > LARGEST_QUEUED ||
		    !aclfs_queue_add(&workers->queue, aclfs_queue_user(header->uid), header, worker->buffer.size)) {
			*direct = header;
			break;
		}
	}
	fcntl(shared->device, F_SETFL, flags);
	return n > 0 || n == -EAGAIN || n == -EINTR ? 0 : n;
}

static void handle(struct worker *worker, void *message, size_t size)
{
	struct workers *workers = worker->workers;
	const struct wire_in_header *header = message;
	worker->user = aclfs_queue_user(header->uid);
	aclfs_queue_busy(&workers->queue, worker->user);
	atomic_store_explicit(&worker->begun, atomic_load_explicit(&worker->begun, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	workers->shared->owner.process(workers->shared->owner.userdata, message, size, NULL);
	aclfs_queue_not_busy(&workers->queue, worker->user);
	worker->user = -1;
}

/*
 * Handles a request that waits in its turn. `own`: one that was read already, or NULL. `handled`: whether one was. Returns 0, or an error of the
 * device.
 */
static int handle_in_turn(struct worker *worker, struct wire_in_header *own, bool *handled)
{
	struct workers *workers = worker->workers;
	struct queue *queue = &workers->queue;
	struct wire_in_header *direct = NULL;
	pthread_mutex_lock(&queue->lock);
	if (own && !aclfs_queue_add(queue, aclfs_queue_user(own->uid), own, worker->buffer.size))
		direct = own;
	int error = direct ? 0 : read_more(worker, &direct);
	struct queued *queued = direct || error ? NULL : aclfs_queue_take(queue, (int)workers->count);
	pthread_mutex_unlock(&queue->lock);
	*handled = direct || queued;
	if (direct)
		handle(worker, direct, worker->buffer.size);
	if (queued)
		handle(worker, queued->message, queued->size);
	free(queued);
	return error;
}

/* Whether others of the same user are handled while no worker reads: then others may wait behind it. */
static bool may_keep_others(struct workers *workers, const struct wire_in_header *header)
{
	if (atomic_load(&workers->idle) > 0)
		return false;
	note_contention(workers);
	return waits_in_turn(header) && header->len <= LARGEST_QUEUED &&
	       atomic_load(&workers->queue.busy_for[aclfs_queue_user(header->uid)]) > 0 &&
	       (atomic_load(&workers->queue.busy) >= (int)workers->count || is_readable(workers->shared->device));
}

/* Nobody reads. What was read is handled, and the worker rests. */
static void rest(struct worker *worker)
{
	struct workers *workers = worker->workers;
	struct shared *shared = workers->shared;
	struct queue *queue = &workers->queue;
	while (atomic_load(&queue->length) > 0) {
		pthread_mutex_lock(&queue->lock);
		struct queued *queued = aclfs_queue_take(queue, (int)workers->count);
		pthread_mutex_unlock(&queue->lock);
		if (queued)
			handle(worker, queued->message, queued->size);
		else
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		free(queued);
	}
	pthread_mutex_lock(&shared->lock);
	workers->resting++;
	while (atomic_load(&shared->paused) && !is_ended(shared))
		pthread_cond_wait(&shared->wanted, &shared->lock);
	workers->resting--;
	pthread_mutex_unlock(&shared->lock);
}

/* Serves until the mount ends (0) or the transport is stopped (0), else -errno. */
static int serve(struct worker *worker)
{
	struct workers *workers = worker->workers;
	struct shared *shared = workers->shared;
	while (!is_ended(shared)) {
		if (atomic_load_explicit(&shared->paused, memory_order_relaxed)) {
			rest(worker);
			continue;
		}
		bool rings = atomic_load_explicit(&shared->rings_in_use, memory_order_relaxed);
		bool handled = false, looked = false;
		if (atomic_load(&workers->queue.length) > 0) {
			looked = true;
			int error = handle_in_turn(worker, NULL, &handled);
			if (error)
				return error;
		}
		if (!handled) {
			atomic_fetch_add(&workers->idle, 1);
			/* Something came meanwhile. */
			if (!looked && atomic_load(&workers->queue.length) > 0) {
				atomic_fetch_sub(&workers->idle, 1);
				continue;
			}
			int n = rings ? receive_beside_rings(worker) : fuse_session_receive_buf(shared->library, &worker->buffer);
			atomic_fetch_sub_explicit(&workers->idle, 1, memory_order_seq_cst);
			if (n == -EAGAIN) {
				/* Another one reads for all. */
				pthread_mutex_lock(&workers->queue.lock);
				pthread_mutex_unlock(&workers->queue.lock);
				continue;
			}
			if (n == -EINTR)
				continue;
			if (n <= 0)
				return n;
			struct wire_in_header *header = worker->buffer.mem;
			aclfs_busy_poll_note(&workers->busy_poll, header->pid);
			if (rings || !may_keep_others(workers, header)) {
				handle(worker, header, worker->buffer.size);
			} else {
				int error = handle_in_turn(worker, header, &handled);
				if (error)
					return error;
			}
		}
		if (atomic_load_explicit(&workers->serving, memory_order_relaxed) > wanted(workers))
			park(workers);
		else if (!rings && !atomic_load(&workers->queue.length))
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
	aclfs_queue_begin(&workers->queue);
}

void aclfs_workers_end(struct workers *workers)
{
	pthread_mutex_destroy(&workers->device_lock);
	aclfs_queue_end(&workers->queue);
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
	workers->started = workers->parked = workers->recalled = workers->resting = 0;
	workers->needs_worker = false;
	atomic_store(&workers->serving, 0);
	atomic_store(&workers->idle, 0);
	atomic_store(&workers->extra, 0);
	atomic_store(&workers->contended, false);
	atomic_store(&workers->watched, false);
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
	while (atomic_load(&workers->serving) < wanted(workers) &&
	       workers->started < workers->count + MOST_SPARE_WORKERS)
		if (start_worker(workers))
			return;
}

/*
 * Called with the lock held, from time to time while no worker is idle: with one user's long requests on all of them, one more serves the others
 * (docs/internals/transport.md "Whose turn it is").
 */
static void look(struct workers *workers)
{
	unsigned long begun = 0;
	for (unsigned i = 0; i < workers->started; i++)
		begun += atomic_load_explicit(&workers->all[i].begun, memory_order_relaxed);
	unsigned extra = atomic_load(&workers->extra);
	if (begun == workers->begun && extra < MOST_EXTRA && atomic_load(&workers->queue.busy) >= wanted(workers)) {
		atomic_store(&workers->extra, extra + 1);
		if (atomic_load(&workers->serving) < wanted(workers))
			recall_or_start(workers);
	}
	workers->begun = begun;
	workers->quiet = atomic_exchange(&workers->contended, false) ? 0 : workers->quiet + 1;
	/* While all are busy no worker notes it. */
	if (workers->quiet >= QUIET_LOOKS && atomic_load(&workers->queue.busy) < (int)workers->count) {
		atomic_store(&workers->extra, 0);
		atomic_store(&workers->watched, false);
	}
}

/* Called with the lock held. */
static void wait_for_change(struct shared *shared, long nanoseconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += nanoseconds;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&shared->changed, &shared->lock, &until);
}

/* Called with the lock held. */
static void wait_for_threads(struct workers *workers)
{
	struct shared *shared = workers->shared;
	while (shared->live) {
		if (workers->needs_worker && !is_ended(shared))
			start_needed(workers);
		if (!is_ended(shared)) {
			if (atomic_load(&workers->watched)) {
				wait_for_change(shared, LOOK_NS);
				look(workers);
			} else {
				pthread_cond_wait(&shared->changed, &shared->lock);
			}
			continue;
		}
		/* A signal just before read(2) is lost: wake again until all threads have ended. */
		wait_for_change(shared, 5000000);
		aclfs_shared_wake(shared);
	}
}

bool aclfs_workers_pause(struct workers *workers, uint64_t nanoseconds)
{
	struct shared *shared = workers->shared;
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	uint64_t begun = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec, now = begun;
	atomic_store(&shared->paused, true);
	bool are_resting = false;
	while (!are_resting && now - begun <= nanoseconds) {
		pthread_mutex_lock(&shared->lock);
		are_resting = shared->running && shared->live && workers->resting + workers->parked == shared->live &&
			      !atomic_load(&workers->queue.length);
		/* A signal just before read(2) is lost. */
		if (!are_resting)
			aclfs_shared_wake(shared);
		pthread_mutex_unlock(&shared->lock);
		if (!are_resting)
			nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
		clock_gettime(CLOCK_MONOTONIC, &time);
		now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	}
	return are_resting;
}

void aclfs_workers_go_on(struct workers *workers)
{
	struct shared *shared = workers->shared;
	pthread_mutex_lock(&shared->lock);
	atomic_store(&shared->paused, false);
	pthread_cond_broadcast(&shared->wanted);
	pthread_mutex_unlock(&shared->lock);
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
