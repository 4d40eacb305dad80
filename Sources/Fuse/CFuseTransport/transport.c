#include "transport.h"

#include <errno.h>
#include <stdlib.h>

aclfs_transport *aclfs_transport_new(struct fuse_session *library, int device,
				     const struct aclfs_transport_owner *owner)
{
	aclfs_transport *transport = calloc(1, sizeof *transport);
	if (!transport)
		return NULL;
	aclfs_shared_begin(&transport->shared, library, device, owner);
	aclfs_workers_begin(&transport->workers, &transport->shared);
	transport->rings.shared = &transport->shared;
	return transport;
}

void aclfs_transport_free(aclfs_transport *transport)
{
	aclfs_workers_end(&transport->workers);
	aclfs_shared_end(&transport->shared);
	free(transport);
}

int aclfs_transport_run(aclfs_transport *transport, unsigned workers)
{
	int error = aclfs_workers_start(&transport->workers, workers);
	if (error)
		return error;
	int failure = aclfs_workers_join(&transport->workers);
	aclfs_rings_join(&transport->rings);
	return failure;
}

void aclfs_transport_ready(aclfs_transport *transport)
{
	struct shared *shared = &transport->shared;
	pthread_mutex_lock(&shared->lock);
	shared->ready = true;
	pthread_cond_broadcast(&shared->changed);
	pthread_mutex_unlock(&shared->lock);
}

void aclfs_transport_stop(aclfs_transport *transport, int failure)
{
	aclfs_shared_stop(&transport->shared, failure);
}

bool aclfs_transport_pause(aclfs_transport *transport, uint64_t nanoseconds)
{
	if (aclfs_workers_pause(&transport->workers, nanoseconds))
		return true;
	aclfs_workers_go_on(&transport->workers);
	return false;
}

void aclfs_transport_go_on(aclfs_transport *transport)
{
	aclfs_workers_go_on(&transport->workers);
}

int aclfs_transport_prepare_rings(aclfs_transport *transport, size_t payload_size)
{
	return aclfs_rings_prepare(&transport->rings, payload_size);
}

ssize_t aclfs_transport_answer(aclfs_transport *transport, aclfs_ring_thread *ring, const struct iovec *iov, int count)
{
	const struct wire_out_header *header = iov[0].iov_base;
	/* While it reads another request, the library may answer an earlier INTERRUPT. */
	if (!ring || !ring_holds(ring, header->unique))
		return writev(transport->shared.device, iov, count);
	ssize_t length = header->len;
	int error = aclfs_rings_answer(ring, iov, count);
	if (!error)
		return length;
	errno = -error;
	return -1;
}
