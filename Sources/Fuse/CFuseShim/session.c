#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static uint64_t hidden_flags(const struct aclfs_fuse_configuration *configuration)
{
	/* With V1 the kernel sends a request before each write; the library must not fall back to it. */
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
	session->init_size = size <= sizeof session->init ? size : 0;
	memcpy(session->init, header, session->init_size);
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
	/* A newer library must not use more than was agreed on. */
	if (session->resumes)
		offered &= session->resumed_flags | WIRE_INIT_EXT;
	in->flags = (uint32_t)offered;
	if (has_flags2)
		in->flags2 = (uint32_t)(offered >> 32);
}

/* Whether requests will come over io_uring; the reason against it is stored. */
static bool agree_on_rings(aclfs_fuse_session *session, const struct wire_init_out *out)
{
	struct aclfs_fuse_negotiated *n = &session->negotiated;
	if (session->configuration.transport == ACLFS_FUSE_TRANSPORT_DEV)
		return false;
	n->uring_failure = EOPNOTSUPP;
	if (!(n->offered & WIRE_INIT_OVER_IO_URING))
		return false;
	/* The kernel's minimum of an entry's size. */
	size_t pages = (size_t)out->max_pages * (size_t)sysconf(_SC_PAGESIZE);
	size_t payload = out->max_write > pages ? out->max_write : pages;
	n->uring_failure = -aclfs_transport_prepare_rings(session->transport, payload > 8192 ? payload : 8192);
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
	if (session->resumes)
		wanted &= session->resumed_flags;
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

/* The kernel has accepted the INIT reply: test features without a flag, then let other threads serve. */
static void finish_init(aclfs_fuse_session *session)
{
	struct aclfs_fuse_negotiated *n = &session->negotiated;
	n->epoch = true; /* tested by a notification */
	n->epoch = aclfs_fuse_notify_epoch(session) == 0;
	n->expire = n->offered & WIRE_INIT_HAS_EXPIRE_ONLY;
	n->statx = n->kernel_minor >= 39 && !(session->configuration.masked & ACLFS_FUSE_MASK_STATX);
	session->handlers.initialized(session->userdata, n);
	atomic_store(&session->ready, true);
	aclfs_transport_ready(session->transport);
}

/* ---- the library's access to the device ---- */

/* The mount ends: the kernel refuses every caller. */
static ssize_t refuse_init(aclfs_fuse_session *session, uint64_t unique)
{
	aclfs_transport_stop(session->transport, -EPROTONOSUPPORT);
	struct wire_out_header header = { .len = sizeof header, .error = -EIO, .unique = unique };
	struct iovec iov = { &header, sizeof header };
	return writev(session->device, &iov, 1);
}

/* The kernel has its answer from another process. */
static ssize_t keep_init(aclfs_fuse_session *session, const struct wire_out_header *header, struct iovec *iov, int count)
{
	struct aclfs_fuse_negotiated *n = &session->negotiated;
	session->is_refused = header->error || count < 2 || iov[1].iov_len < sizeof(struct wire_init_out) ||
			      !patch_init(session, iov[1].iov_base) || n->used != session->resumed_flags ||
			      n->max_write != session->resumed_write;
	return header->len;
}

static ssize_t device_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)fd;
	aclfs_fuse_session *session = userdata;
	const struct wire_out_header *header = iov[0].iov_base;
	const struct wire_in_header *message = fuse_thread.message;
	bool is_init = message && message->opcode == WIRE_INIT && message->unique == header->unique;
	if (is_init && session->resumes)
		return keep_init(session, header, iov, count);
	if (header->unique && !header->error && count > 1) {
		if (is_init && iov[1].iov_len >= sizeof(struct wire_init_out)) {
			if (!patch_init(session, iov[1].iov_base))
				return refuse_init(session, header->unique);
		} else if (fuse_thread.open_flags) {
			/* fuse_open_out is the end of both the open and the create reply. */
			struct iovec *last = &iov[count - 1];
			struct wire_open_out *out =
				(struct wire_open_out *)((char *)last->iov_base + last->iov_len - sizeof *out);
			out->open_flags |= fuse_thread.open_flags;
			out->backing_id = fuse_thread.backing_id;
		}
	}
	return aclfs_fuse_send(session, iov, count);
}

/* ---- one message ---- */

static void process(void *userdata, void *message, size_t size, aclfs_ring_thread *ring)
{
	aclfs_fuse_session *session = userdata;
	struct wire_in_header *header = message;
	fuse_thread.message = header;
	fuse_thread.answering = ring;
	bool is_init = header->opcode == WIRE_INIT;
	if (is_init)
		note_init(session, header, size);
	if (header->unique & WIRE_UNIQUE_RESEND && session->handlers.repeated(session->userdata, header->unique)) {
		struct wire_out_header refusal = { .len = sizeof refusal, .error = -EIO, .unique = header->unique };
		aclfs_fuse_send(session, &(struct iovec){ &refusal, sizeof refusal }, 1);
		fuse_thread.message = NULL;
		fuse_thread.answering = NULL;
		return;
	}
	if (!session->negotiated.used || !aclfs_fuse_serve_unknown(session, header, size))
		fuse_session_process_buf(session->library, &(struct fuse_buf){ .size = size, .mem = message });
	fuse_thread.message = NULL;
	fuse_thread.answering = NULL;
	if (is_init && session->negotiated.used && !session->is_refused && !atomic_load(&session->ready))
		finish_init(session);
}

/* ---- lifetime ---- */

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
	static const struct fuse_custom_io io = { .read = aclfs_transport_read, .writev = device_writev };
	int error = fuse_session_custom_io(session->library, &io, device);
	if (error) {
		fuse_session_destroy(session->library);
		close(device);
		free(session);
		return error < 0 ? error : -EINVAL;
	}
	const struct aclfs_transport_owner owner = { .userdata = session, .process = process };
	session->transport = aclfs_transport_new(session->library, device, &owner);
	if (!session->transport) {
		fuse_session_destroy(session->library); /* closes the device */
		free(session);
		return -ENOMEM;
	}
	*result = session;
	return 0;
}

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool answer_init_again(aclfs_fuse_session *session)
{
	_Alignas(struct wire_in_header) unsigned char message[sizeof session->init];
	size_t size = session->init_size;
	memcpy(message, session->init, size);
	process(session, message, size, NULL);
	if (!atomic_load(&session->ready))
		return false;
	/* Nobody reads yet: none that is read now comes twice. */
	return !session->resends || aclfs_fuse_notify_resend(session) == 0;
}

int aclfs_fuse_session_run(aclfs_fuse_session *session, unsigned workers)
{
	if (session->resumes && !atomic_load(&session->ready) && !answer_init_again(session))
		return -EPROTO;
	int result = aclfs_transport_run(session->transport, workers);
	/* Another thread runs it. */
	if (result == -EBUSY)
		return result;
	/* The last replier would use a condition variable after the session may have been freed. */
	while (atomic_load(&session->unanswered))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return result;
}

void aclfs_fuse_session_stop(aclfs_fuse_session *session)
{
	aclfs_transport_stop(session->transport, 0);
}

int aclfs_fuse_session_resume(aclfs_fuse_session *session, const void *init, size_t size, uint64_t flags, uint32_t max_write,
			      bool resends)
{
	if (size < sizeof(struct wire_in_header) || size > sizeof session->init)
		return -EINVAL;
	memcpy(session->init, init, size);
	struct wire_in_header header;
	memcpy(&header, init, sizeof header);
	if (header.opcode != WIRE_INIT || header.len != size)
		return -EINVAL;
	session->init_size = size;
	session->resumed_flags = flags;
	session->resumed_write = max_write;
	session->resumes = true;
	session->resends = resends;
	return 0;
}

bool aclfs_fuse_session_pause(aclfs_fuse_session *session, uint64_t nanoseconds)
{
	if (!atomic_load(&session->ready) || session->negotiated.uring)
		return false;
	uint64_t until = now() + nanoseconds;
	if (!aclfs_transport_pause(session->transport, nanoseconds))
		return false;
	/* Another thread may answer what a worker has handed on. */
	while (atomic_load(&session->unanswered)) {
		if (now() >= until) {
			aclfs_transport_go_on(session->transport);
			return false;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
	return true;
}

void aclfs_fuse_session_go_on(aclfs_fuse_session *session)
{
	aclfs_transport_go_on(session->transport);
}

size_t aclfs_fuse_session_init_message(const aclfs_fuse_session *session, void *buffer, size_t room)
{
	if (session->init_size > room)
		return 0;
	memcpy(buffer, session->init, session->init_size);
	return session->init_size;
}

void aclfs_fuse_session_free(aclfs_fuse_session *session)
{
	aclfs_transport_free(session->transport);
	fuse_session_destroy(session->library); /* closes the device */
	free(session);
}

bool aclfs_fuse_session_negotiated(aclfs_fuse_session *session, struct aclfs_fuse_negotiated *negotiated)
{
	bool ready = atomic_load(&session->ready);
	if (ready)
		*negotiated = session->negotiated;
	return ready;
}
