/*
 * One entry of a queue: the memory in which the kernel lays a request and finds the reply.  A page for the headers and
 * for the head of a message, then room for the payload, then a byte that ends a string which fills it.
 */
#ifndef ACLFS_TRANSPORT_ENTRY_H
#define ACLFS_TRANSPORT_ENTRY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* What lies in an entry beside the payload: in_header or out_header, the opcode's fixed part, and its sizes. */
struct wire_ring_headers {
	char in_out[128], fixed[128];
	struct {
		uint64_t flags, commit_id;
		uint32_t payload_size, padding;
		uint64_t reserved;
	} entry;
};
_Static_assert(sizeof(struct wire_ring_headers) == 288, "ring_headers");

enum { ENTRY_PAGE = 4096 };

struct ring_entry {
	char *memory;
	size_t payload_size;
};

/* A message in one piece; size 0 if what lies in the entry makes no sense. */
struct ring_message {
	void *start;
	size_t size;
};

/* How much memory an entry takes with that much room for the payload. */
static inline size_t entry_memory_size(size_t payload_size)
{
	return ENTRY_PAGE + payload_size + ENTRY_PAGE;
}

/* The request: stays where it is until the reply is put. */
struct ring_message aclfs_entry_message(const struct ring_entry *entry);
/* Puts a reply, whose first part is its header: 0 or -errno. */
int aclfs_entry_put_reply(const struct ring_entry *entry, const struct iovec *iov, int count);
/* The number by which the kernel knows the request. */
uint64_t aclfs_entry_commit_id(const struct ring_entry *entry);
/* The two parts of the entry, headers and payload, as the kernel is told of them. */
void aclfs_entry_parts(const struct ring_entry *entry, struct iovec parts[2]);

#endif
