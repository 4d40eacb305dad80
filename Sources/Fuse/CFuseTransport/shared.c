#include "shared.h"

#include <signal.h>

/* ---- waking ---- */

/*
 * A signal with an empty handler wakes a thread that waits in read(2) or io_uring_enter(2). (Cancellation would
 * unwind the library's frames, which sanitizers do not support; polling would cost each request two more system
 * calls.)
 */
static void on_wake(int signal)
{
	(void)signal;
}

int aclfs_wake_signal(void)
{
	return SIGRTMAX - 1;
}

static void install(void)
{
	struct sigaction action = { .sa_handler = on_wake }; /* no SA_RESTART: the wait must end */
	sigemptyset(&action.sa_mask);
	sigaction(aclfs_wake_signal(), &action, NULL);
}

void aclfs_wake_signal_install(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install);
}

void aclfs_shared_wake(struct shared *shared)
{
	if (!shared->running)
		return;
	for (struct transport_thread *thread = shared->threads; thread; thread = thread->next)
		if (atomic_load(&thread->waiting))
			pthread_kill(thread->id, aclfs_wake_signal());
	pthread_cond_broadcast(&shared->wanted);
}

/* ---- lifetime ---- */

void aclfs_shared_begin(struct shared *shared, struct fuse_session *library, int device,
			const struct aclfs_transport_owner *owner)
{
	shared->library = library;
	shared->device = device;
	shared->owner = *owner;
	pthread_mutex_init(&shared->lock, NULL);
	pthread_cond_init(&shared->changed, NULL);
	pthread_cond_init(&shared->wanted, NULL);
}

void aclfs_shared_end(struct shared *shared)
{
	pthread_cond_destroy(&shared->changed);
	pthread_cond_destroy(&shared->wanted);
	pthread_mutex_destroy(&shared->lock);
}

void aclfs_shared_add(struct shared *shared, struct transport_thread *thread)
{
	thread->next = shared->threads;
	shared->threads = thread;
	shared->live++;
}

void aclfs_shared_stop_locked(struct shared *shared, int failure)
{
	if (failure)
		shared->failure = failure;
	fuse_session_exit(shared->library);
	aclfs_shared_wake(shared);
	pthread_cond_broadcast(&shared->changed);
}

void aclfs_shared_stop(struct shared *shared, int failure)
{
	pthread_mutex_lock(&shared->lock);
	aclfs_shared_stop_locked(shared, failure);
	pthread_mutex_unlock(&shared->lock);
}

void aclfs_shared_leave(struct shared *shared, int failure)
{
	pthread_mutex_lock(&shared->lock);
	if (failure)
		aclfs_shared_stop_locked(shared, failure);
	shared->live--;
	pthread_cond_broadcast(&shared->changed);
	pthread_mutex_unlock(&shared->lock);
}
