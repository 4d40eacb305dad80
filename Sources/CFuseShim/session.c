#include "ring.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

_Thread_local struct fuse_thread fuse_thread;

static uint64_t hidden_flags(const struct aclfs_fuse_configuration *configuration)
{
	/* V1 makes the kernel ask before each write, and the library must not fall back to it. */
	uint64_t hidden = WIRE_INIT_HANDLE_KILLPRIV;
	if (configuration->masked & ACLFS_FUSE_MASK_KILLPRIV2)
		hidden |= WIRE_INIT_HANDLE_KILLPRIV_V2;
	if (configuration->masked & ACLFS_FUSE_MASK_PASSTHROUGH)
		hidden |= WIRE_INIT_PASSTHROUGH;
	if (configuration->masked & ACLFS_FUSE_MASK_URING)
		hidden |= WIRE_INIT_OVER_IO_URING;
	if (configuration->masked & ACLFS_FUSE_MASK_EXPIRE)
		hidden |= WIRE_INIT_HAS_EXPIRE_ONLY;
	return hidden;
}

static void note_init(aclfs_fuse_session *session, struct wire_in_header *header, size_t size)
{
	struct wire_init_in *in = (struct wire_init_in *)(header + 1);
	/* Older kernels send a shorter message without flags2. */
	bool has_flags2 = size >= sizeof *header + sizeof *in && in->flags & WIRE_INIT_EXT;
	if (size < sizeof *header + offsetof(struct wire_init_in, flags2))
		return;
	struct aclfs_fuse_negotiated *n = &session->negotiated;
	n->kernel_major = in->major;
	n->kernel_minor = in->minor;
	uint64_t offered = in->flags | (has_flags2 ? (uint64_t)in->flags2 << 32 : 0);
	offered &= ~hidden_flags(&session->configuration);
	n->offered = offered;
	in->flags = (uint32_t)offered;
	if (has_flags2)
		in->flags2 = (uint32_t)(offered >> 32);
}

/* Whether the requests are going to come over io_uring; what is in the way is noted. */
static bool agree_on_rings(aclfs_fuse_session *session, const struct wire_init_out *out)
{
	struct aclfs_fuse_negotiated *n = &session->negotiated;
	if (session->configuration.transport == ACLFS_FUSE_TRANSPORT_DEV)
		return false;
	n->uring_failure = EOPNOTSUPP;
	if (!(n->offered & WIRE_INIT_OVER_IO_URING))
		return false;
	/* The kernel's own measure of what an entry must hold. */
	size_t pages = (size_t)out->max_pages * (size_t)sysconf(_SC_PAGESIZE);
	size_t payload = out->max_write > pages ? out->max_write : pages;
	n->uring_failure = -aclfs_rings_prepare(session, payload > 8192 ? payload : 8192);
	return n->uring_failure == 0;
}

/* False if the mount must not be served. */
static bool patch_init(aclfs_fuse_session *session, struct wire_init_out *out)
{
	struct aclfs_fuse_negotiated *n = &session->negotiated;
	uint64_t wanted = WIRE_INIT_PARALLEL_DIROPS | WIRE_INIT_HANDLE_KILLPRIV_V2;
	if (session->configuration.max_stack_depth)
		wanted |= WIRE_INIT_PASSTHROUGH;
	wanted &= n->offered;
	if (agree_on_rings(session, out))
		wanted |= WIRE_INIT_OVER_IO_URING;
	else if (session->configuration.transport == ACLFS_FUSE_TRANSPORT_URING)
		return false;
	if (wanted >> 32)
		wanted |= WIRE_INIT_EXT;
	out->flags = (out->flags | (uint32_t)wanted) & ~(uint32_t)WIRE_INIT_HANDLE_KILLPRIV;
	out->flags2 |= (uint32_t)(wanted >> 32);
	if (wanted & WIRE_INIT_PASSTHROUGH)
		out->max_stack_depth = session->configuration.max_stack_depth;
	n->used = out->flags | (out->flags & WIRE_INIT_EXT ? (uint64_t)out->flags2 << 32 : 0);
	n->max_write = out->max_write;
	n->parallel_dirops = n->used & WIRE_INIT_PARALLEL_DIROPS;
	n->killpriv_v2 = n->used & WIRE_INIT_HANDLE_KILLPRIV_V2;
	n->passthrough = n->used & WIRE_INIT_PASSTHROUGH;
	n->uring = n->used & WIRE_INIT_OVER_IO_URING;
	return true;
}

/* The kernel has taken the INIT reply: find out what no flag tells, then let the other workers in. */
static void finish_init(aclfs_fuse_session *session)
{
	struct aclfs_fuse_negotiated *n = &session->negotiated;
	n->epoch = true; /* asked by trying */
	n->epoch = aclfs_fuse_notify_epoch(session) == 0;
	n->expire = n->offered & WIRE_INIT_HAS_EXPIRE_ONLY;
	n->statx = n->kernel_minor >= 39 && !(session->configuration.masked & ACLFS_FUSE_MASK_STATX);
	session->handlers.initialized(session->userdata, n);
	pthread_mutex_lock(&session->lock);
	session->ready = true;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
}

/* ---- the library's way to the device ---- */

static ssize_t device_read(int fd, void *buffer, size_t size, void *userdata)
{
	(void)userdata;
	atomic_store(&fuse_thread.worker->waiting, true);
	ssize_t n = read(fd, buffer, size);
	int error = errno;
	atomic_store(&fuse_thread.worker->waiting, false);
	errno = error;
	return n;
}

ssize_t aclfs_fuse_send(aclfs_fuse_session *session, const struct iovec *iov, int count)
{
	const struct wire_out_header *header = iov[0].iov_base;
	struct ring_thread *ring = fuse_thread.answering;
	/* The library answers an INTERRUPT that came too early while it looks at another request. */
	if (!ring || atomic_load_explicit(&ring->unique, memory_order_relaxed) != header->unique)
		return writev(session->device, iov, count);
	fuse_thread.answering = NULL;
	ssize_t length = header->len;
	int error = aclfs_ring_answer(ring, iov, count);
	if (!error)
		return length;
	errno = -error;
	return -1;
}

/* The mount is given up: the kernel refuses all who come. */
static ssize_t refuse_init(aclfs_fuse_session *session, uint64_t unique)
{
	pthread_mutex_lock(&session->lock);
	session->failure = -EPROTONOSUPPORT;
	aclfs_fuse_stop_locked(session);
	pthread_mutex_unlock(&session->lock);
	struct wire_out_header header = { .len = sizeof header, .error = -EIO, .unique = unique };
	struct iovec iov = { &header, sizeof header };
	return writev(session->device, &iov, 1);
}

static ssize_t device_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)fd;
	aclfs_fuse_session *session = userdata;
	const struct wire_out_header *header = iov[0].iov_base;
	const struct wire_in_header *message = fuse_thread.message;
	if (header->unique && !header->error && count > 1) {
		if (message && message->opcode == WIRE_INIT && message->unique == header->unique &&
		    iov[1].iov_len >= sizeof(struct wire_init_out)) {
			if (!patch_init(session, iov[1].iov_base))
				return refuse_init(session, header->unique);
		} else if (fuse_thread.open_flags) {
			/* fuse_open_out ends both the open and the create reply. */
			struct iovec *last = &iov[count - 1];
			struct wire_open_out *out =
				(struct wire_open_out *)((char *)last->iov_base + last->iov_len - sizeof *out);
			out->open_flags |= fuse_thread.open_flags;
			out->backing_id = fuse_thread.backing_id;
		}
	}
	return aclfs_fuse_send(session, iov, count);
}

/* ---- workers ---- */

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
static void wake_waiting(aclfs_fuse_session *session)
{
	if (!session->running)
		return;
	for (unsigned i = 0; i < session->started; i++)
		if (atomic_load(&session->workers[i].waiting))
			pthread_kill(session->workers[i].thread, aclfs_fuse_wake_signal());
	aclfs_rings_wake(session);
}

void aclfs_fuse_stop_locked(aclfs_fuse_session *session)
{
	fuse_session_exit(session->library);
	wake_waiting(session);
	pthread_cond_broadcast(&session->changed);
}

void aclfs_fuse_process(aclfs_fuse_session *session, const struct fuse_buf *buffer)
{
	struct wire_in_header *header = buffer->mem;
	fuse_thread.message = header;
	bool is_init = header->opcode == WIRE_INIT;
	if (is_init)
		note_init(session, header, buffer->size);
	if (!session->negotiated.used || !aclfs_fuse_serve_unknown(session, header, buffer->size))
		fuse_session_process_buf(session->library, buffer);
	fuse_thread.message = NULL;
	if (is_init && session->negotiated.used && !session->ready)
		finish_init(session);
}

static void serve(struct worker *worker)
{
	aclfs_fuse_session *session = worker->session;
	while (!fuse_session_exited(session->library)) {
		int n = fuse_session_receive_buf(session->library, &worker->buffer);
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
		aclfs_fuse_process(session, &worker->buffer);
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

/* Called with the lock held. */
static void wait_for_workers(aclfs_fuse_session *session)
{
	while (session->live) {
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
		wake_waiting(session);
	}
}

int aclfs_fuse_session_run(aclfs_fuse_session *session, unsigned count)
{
	if (!count)
		return -EINVAL;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install_wake_signal);
	struct worker *workers = calloc(count, sizeof *workers);
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
	session->started = session->live = 0;
	session->failure = 0;
	sigset_t before;
	block_signals(&before);
	for (unsigned i = 0; i < count; i++) {
		workers[i].session = session;
		int error = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
		if (error) {
			session->failure = -error;
			aclfs_fuse_stop_locked(session);
			break;
		}
		session->started++;
		session->live++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
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

void aclfs_fuse_session_stop(aclfs_fuse_session *session)
{
	pthread_mutex_lock(&session->lock);
	aclfs_fuse_stop_locked(session);
	pthread_mutex_unlock(&session->lock);
}

/* ---- life ---- */

int aclfs_fuse_session_new(const struct aclfs_fuse_handlers *handlers, void *userdata, int device,
			   const struct aclfs_fuse_configuration *configuration, aclfs_fuse_session **result)
{
	*result = NULL;
	aclfs_fuse_session *session = calloc(1, sizeof *session);
	if (!session) {
		close(device);
		return -ENOMEM;
	}
	session->device = device;
	session->handlers = *handlers;
	session->userdata = userdata;
	session->configuration = *configuration;
	pthread_mutex_init(&session->lock, NULL);
	pthread_cond_init(&session->changed, NULL);
	char *name[] = { "aclfs", "-d", NULL };
	struct fuse_args arguments = FUSE_ARGS_INIT(configuration->debug ? 2 : 1, name);
	session->library =
		fuse_session_new(&arguments, &aclfs_fuse_operations, sizeof aclfs_fuse_operations, session);
	fuse_opt_free_args(&arguments);
	if (!session->library) {
		close(device);
		free(session);
		return -EINVAL;
	}
	static const struct fuse_custom_io io = { .read = device_read, .writev = device_writev };
	int error = fuse_session_custom_io(session->library, &io, device);
	if (error) {
		fuse_session_destroy(session->library);
		close(device);
		free(session);
		return error < 0 ? error : -EINVAL;
	}
	*result = session;
	return 0;
}

void aclfs_fuse_session_free(aclfs_fuse_session *session)
{
	fuse_session_destroy(session->library); /* closes the device */
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->lock);
	free(session);
}

bool aclfs_fuse_session_negotiated(aclfs_fuse_session *session, struct aclfs_fuse_negotiated *negotiated)
{
	pthread_mutex_lock(&session->lock);
	bool ready = session->ready;
	if (ready)
		*negotiated = session->negotiated;
	pthread_mutex_unlock(&session->lock);
	return ready;
}
