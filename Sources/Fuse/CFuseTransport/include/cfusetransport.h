/*
 * The transport of requests between the kernel and the daemon (docs/internals/transport.md): through /dev/fuse to a pool of
 * workers, and over io_uring to threads with a ring each. Only the owner of a transport interprets requests and
 * replies.
 */
#ifndef ACLFS_CFUSETRANSPORT_H
#define ACLFS_CFUSETRANSPORT_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#pragma clang assume_nonnull begin

/* ---- messages ---- */

/* The header of a request, and that of a reply, in the terms of the kernel's FUSE protocol. */
struct wire_in_header {
	uint32_t len, opcode;
	uint64_t unique, nodeid;
	uint32_t uid, gid, pid;
	uint16_t total_extlen, padding;
};
_Static_assert(sizeof(struct wire_in_header) == 40, "in_header");

struct wire_out_header {
	uint32_t len;
	int32_t error;
	uint64_t unique;
};
_Static_assert(sizeof(struct wire_out_header) == 16, "out_header");

/* ---- lifetime ---- */

struct fuse_session;
typedef struct aclfs_transport aclfs_transport;
/* A thread with a ring. It holds one request until that is answered. */
typedef struct aclfs_ring_thread aclfs_ring_thread;

/* The callbacks to a transport's owner. */
struct aclfs_transport_owner {
	void *_Nullable userdata;
	/*
	 * Serves one request, on a thread of the transport. The message has `size` bytes and may be changed until
	 * this returns. By then the request is answered, or another thread answers it later. ring: for
	 * aclfs_transport_answer; NULL if the request came through the device.
	 */
	void (*process)(void *_Nullable userdata, void *message, size_t size, aclfs_ring_thread *_Nullable ring);
};

/*
 * Creates a transport; NULL if there is no memory. It owns neither library nor device, and both must outlive it.
 * library: reads requests from the device with aclfs_transport_read, and knows whether the session has ended.
 */
aclfs_transport *_Nullable aclfs_transport_new(struct fuse_session *library, int device,
					       const struct aclfs_transport_owner *owner);
void aclfs_transport_free(aclfs_transport *transport);

/*
 * Serves on this number of workers until the mount ends or the transport is stopped, and all its threads have ended.
 * 0 or -errno; -EBUSY if another thread runs it. The first worker reads alone until aclfs_transport_ready.
 */
int aclfs_transport_run(aclfs_transport *transport, unsigned workers);
/* Lets all threads serve. Called when the kernel has accepted the reply to INIT. */
void aclfs_transport_ready(aclfs_transport *transport);
/* Makes run return when current requests are answered. failure: its result, if not 0. */
void aclfs_transport_stop(aclfs_transport *transport, int failure);
/*
 * Reads no more requests, and waits until all that were read are handled. False if that takes longer; then requests are read again. Not with
 * rings, and by one thread at a time.
 */
bool aclfs_transport_pause(aclfs_transport *transport, uint64_t nanoseconds);
void aclfs_transport_go_on(aclfs_transport *transport);

/*
 * Starts the threads of each processor's queue, which serve once the transport is ready: 0 or -errno. Call it before
 * the reply to INIT promises rings; if it fails, requests come through the device. payload_size: the maximum after
 * the headers of a request or reply.
 */
int aclfs_transport_prepare_rings(aclfs_transport *transport, size_t payload_size);
/*
 * For all transports: who takes turns as one user although they act under several uids. It may be called on any thread, with a lock of the transport
 * held.
 */
void aclfs_transport_set_persons(uint32_t (*person)(uint32_t uid));
/* Whether this process can create rings: 0 or -errno. */
int aclfs_transport_probe_rings(void);

/* ---- requests and replies ---- */

/* The library's read(2) of the device (struct fuse_custom_io). */
ssize_t aclfs_transport_read(int device, void *buffer, size_t size, void *_Nullable userdata);
/*
 * Sends a reply, which begins with a wire_out_header, by the transport of its request, like writev(2). Any thread may
 * call it. ring: the argument of `process`. A reply to another request than the thread holds goes through the device.
 */
ssize_t aclfs_transport_answer(aclfs_transport *transport, aclfs_ring_thread *_Nullable ring, const struct iovec *iov,
			       int count);

/* ---- requests that wait ---- */

/* Around a wait in `process`, on its thread: other threads serve requests meanwhile. May be nested. */
void aclfs_transport_block(void);
void aclfs_transport_unblock(void);
/* The same for code that rarely waits, but then perhaps long: nearly free while another worker is idle. */
void aclfs_transport_block_lightly(void);
void aclfs_transport_unblock_lightly(void);
/* Whether no thread waits for a request, so that requests may wait for this handler. Rings always have threads that wait. */
bool aclfs_transport_others_wait(void);

#pragma clang assume_nonnull end
#endif
