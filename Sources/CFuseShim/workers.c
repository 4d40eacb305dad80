#include "ring.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/*
 * A worker that waits in read(2) is woken by a signal with an empty handler.
 * (Cancellation would unwind the library's frames, which the sanitizers do not
 * follow; polling would cost every request two system calls more.)
 */
static void on_wake(int signal)
{
	(void)signal;
}

int aclfs_fuse_wake_signal(void)
{
	return SIGRTMAX - 1;
}

static void install_wake_signal(void)
{
	struct sigaction action = { .sa_handler = on_wake }; /* no SA_RESTART: read must end */
	sigemptyset(&action.sa_mask);
	sigaction(aclfs_fuse_wake_signal(), &action, NULL);
}

/* Called with the lock held. */
void aclfs_workers_wake(aclfs_fuse_session *session)
{
	if (!session->running)
		return;
	for (unsigned i = 0; i < session->started; i++)
		if (atomic_load(&session->workers[i].waiting))
			pthread_kill(session->workers[i].thread, aclfs_fuse_wake_signal());
	pthread_cond_broadcast(&session->wanted);
	aclfs_rings_wake(session);
}

static void *worker_main(void *argument);

/* Workers take no signals but those of their own faults, and ours. */
static void block_signals(sigset_t *before)
{
	sigset_t all;
	sigfillset(&all);
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&all, faults[i]);
	sigdelset(&all, aclfs_fuse_wake_signal());
	pthread_sigmask(SIG_SETMASK, &all, before);
}

/* Called with the lock held; 0 or an errno. */
static int start_worker(aclfs_fuse_session *session)
{
	struct worker *worker = &session->workers[session->started];
	worker->session = session;
	/* Counted before it can end. */
	session->started++;
	session->live++;
	atomic_fetch_add(&session->serving, 1);
	sigset_t before;
	block_signals(&before);
	int error = pthread_create(&worker->thread, NULL, worker_main, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		session->started--;
		session->live--;
		atomic_fetch_sub(&session->serving, 1);
	}
	return error;
}

/*
 * Handlers that say that they wait (aclfs_fuse_block) are no reason for requests to wait for them: others take their
 * places, up to so many. More threads than processors would make every request slower, so whoever is too many when they
 * are done is parked.
 */
enum { MOST_SPARE_WORKERS = 160 };

void aclfs_fuse_block(void)
{
	struct worker *worker = fuse_thread.worker;
	/* Rings have spare threads as they are. */
	if (!worker || worker->blocks++)
		return;
	aclfs_fuse_session *session = worker->session;
	pthread_mutex_lock(&session->lock);
	int serving = atomic_fetch_sub(&session->serving, 1) - 1;
	if (serving < (int)session->count && !fuse_session_exited(session->library)) {
		if (session->parked) {
			session->parked--;
			session->called++;
			atomic_fetch_add(&session->serving, 1);
			pthread_cond_signal(&session->wanted);
		} else if (session->started < session->count + MOST_SPARE_WORKERS) {
			/* Not by this thread, which may have taken on somebody's credentials. */
			session->wished = true;
			pthread_cond_broadcast(&session->changed);
		}
	}
	pthread_mutex_unlock(&session->lock);
}

void aclfs_fuse_unblock(void)
{
	struct worker *worker = fuse_thread.worker;
	if (worker && !--worker->blocks)
		atomic_fetch_add(&worker->session->serving, 1);
}

/*
 * Whoever takes the last free thread's place sees nobody idle, and calls another.  So where all but one sleep for long,
 * that one never does before there is a further one.
 */
void aclfs_fuse_block_lightly(void)
{
	struct worker *worker = fuse_thread.worker;
	if (worker && (worker->light_blocks || (!worker->blocks && atomic_load(&worker->session->idle) > 0)))
		worker->light_blocks++;
	else
		aclfs_fuse_block();
}

void aclfs_fuse_unblock_lightly(void)
{
	struct worker *worker = fuse_thread.worker;
	if (worker && worker->light_blocks)
		worker->light_blocks--;
	else
		aclfs_fuse_unblock();
}

static void park(aclfs_fuse_session *session)
{
	pthread_mutex_lock(&session->lock);
	if (atomic_load(&session->serving) > (int)session->count) {
		atomic_fetch_sub(&session->serving, 1);
		session->parked++;
		while (!session->called && !fuse_session_exited(session->library))
			pthread_cond_wait(&session->wanted, &session->lock);
		/* Counted as serving by who called. */
		if (session->called)
			session->called--;
	}
	pthread_mutex_unlock(&session->lock);
}

static bool is_forget(const struct fuse_buf *buffer)
{
	const struct wire_in_header *header = buffer->mem;
	return header->opcode == WIRE_FORGET || header->opcode == WIRE_BATCH_FORGET;
}

/*
 * Where requests come through rings, the device brings little else than FORGET, for which nobody waits.  A thread that
 * waited for each of them would be woken at each unlink(2), mostly on another processor and at the caller's expense.
 * So one thread at a time reads, and lets gather what comes within a moment.
 */
enum { FORGETS_GATHER_NS = 1000000 };

static int receive_beside_rings(struct worker *worker)
{
	aclfs_fuse_session *session = worker->session;
	pthread_mutex_lock(&session->turn);
	/* Whoever waited for the turn was not woken by the end. */
	int n = fuse_session_exited(session->library) ? 0 : fuse_session_receive_buf(session->library, &worker->buffer);
	if (n > 0 && is_forget(&worker->buffer))
		nanosleep(&(struct timespec){ .tv_nsec = FORGETS_GATHER_NS }, NULL);
	pthread_mutex_unlock(&session->turn);
	return n;
}

static void serve(struct worker *worker)
{
	aclfs_fuse_session *session = worker->session;
	while (!fuse_session_exited(session->library)) {
		bool rings = atomic_load_explicit(&session->rings.in_use, memory_order_relaxed);
		atomic_fetch_add_explicit(&session->idle, 1, memory_order_relaxed);
		int n = rings ? receive_beside_rings(worker) :
				fuse_session_receive_buf(session->library, &worker->buffer);
		atomic_fetch_sub_explicit(&session->idle, 1, memory_order_seq_cst);
		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n < 0) {
			pthread_mutex_lock(&session->lock);
			session->failure = n;
			aclfs_fuse_stop_locked(session);
			pthread_mutex_unlock(&session->lock);
		}
		if (n <= 0)
			break;
		aclfs_busy_poll_note(&session->busy_poll, ((const struct wire_in_header *)worker->buffer.mem)->pid);
		aclfs_fuse_process(session, &worker->buffer);
		if (atomic_load_explicit(&session->serving, memory_order_relaxed) > (int)session->count)
			park(session);
		else if (!rings)
			aclfs_busy_poll(&session->busy_poll, session->device);
	}
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	aclfs_fuse_session *session = worker->session;
	fuse_thread.worker = worker;
	/* One worker answers INIT; the others come when the handler knows what was negotiated. */
	pthread_mutex_lock(&session->lock);
	while (worker != session->workers && !session->ready && !fuse_session_exited(session->library))
		pthread_cond_wait(&session->changed, &session->lock);
	pthread_mutex_unlock(&session->lock);
	serve(worker);
	free(worker->buffer.mem);
	pthread_mutex_lock(&session->lock);
	session->live--;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	return NULL;
}

/* Called with the lock held. */
static void start_wished(aclfs_fuse_session *session)
{
	session->wished = false;
	/* Without memory for more, requests wait. */
	while (atomic_load(&session->serving) < (int)session->count && session->started < session->count + MOST_SPARE_WORKERS)
		if (start_worker(session))
			return;
}

/* Called with the lock held. */
static void wait_for_workers(aclfs_fuse_session *session)
{
	while (session->live) {
		if (session->wished && !fuse_session_exited(session->library))
			start_wished(session);
		if (!fuse_session_exited(session->library)) {
			pthread_cond_wait(&session->changed, &session->lock);
			continue;
		}
		/* A signal that came just before read(2) is lost: wake again until all are gone. */
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 5000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&session->changed, &session->lock, &until);
		aclfs_workers_wake(session);
	}
}

int aclfs_fuse_session_run(aclfs_fuse_session *session, unsigned count)
{
	if (!count)
		return -EINVAL;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install_wake_signal);
	struct worker *workers = calloc(count + MOST_SPARE_WORKERS, sizeof *workers);
	if (!workers)
		return -ENOMEM;
	pthread_mutex_lock(&session->lock);
	if (session->running) {
		pthread_mutex_unlock(&session->lock);
		free(workers);
		return -EBUSY;
	}
	session->running = true;
	session->workers = workers;
	session->started = session->live = session->parked = session->called = 0;
	session->count = count;
	session->wished = false;
	atomic_store(&session->serving, 0);
	atomic_store(&session->idle, 0);
	session->failure = 0;
	aclfs_busy_poll_begin(&session->busy_poll);
	for (unsigned i = 0; i < count; i++) {
		int error = start_worker(session);
		if (error) {
			session->failure = -error;
			aclfs_fuse_stop_locked(session);
			break;
		}
	}
	wait_for_workers(session);
	/* From here on stop wakes nobody, so that the threads may be joined. */
	session->running = false;
	session->workers = NULL;
	unsigned started = session->started;
	int failure = session->failure;
	pthread_mutex_unlock(&session->lock);
	for (unsigned i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
	aclfs_rings_join(session);
	/* A condition variable would be touched by the last replier after the session may be gone. */
	while (atomic_load(&session->unanswered))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return failure;
}

