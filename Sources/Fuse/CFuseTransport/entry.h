/*
 * One entry of a queue: the memory of a request and its reply. A page for the headers and the head of a message, then
 * space for the payload, then a byte that terminates a string which fills it.
 */
#ifndef ACLFS_TRANSPORT_ENTRY_H
#define ACLFS_TRANSPORT_ENTRY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The part of an entry besides the payload: in_header or out_header, the opcode's fixed part, and its sizes. */
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

/* A message in one piece; size 0 if the entry's content is invalid. */
struct ring_message {
	void *start;
	size_t size;
};

/* The size of an entry with this space for the payload. */
static inline size_t entry_memory_size(size_t payload_size)
{
	return ENTRY_PAGE + payload_size + ENTRY_PAGE;
}

/* The request: valid until the reply is put. */
struct ring_message aclfs_entry_message(const struct ring_entry *entry);
/* Stores a reply, whose first part is its header: 0 or -errno. */
int aclfs_entry_put_reply(const struct ring_entry *entry, const struct iovec *iov, int count);
/* The kernel's number of the request. */
uint64_t aclfs_entry_commit_id(const struct ring_entry *entry);
/* The two parts of the entry for the kernel, headers and payload. */
void aclfs_entry_parts(const struct ring_entry *entry, struct iovec parts[2]);

#endif
