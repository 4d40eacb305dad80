#include "entry.h"

#include <errno.h>
#include <string.h>

#include "cfusetransport.h"

static struct wire_ring_headers *headers(const struct ring_entry *entry)
{
	return (struct wire_ring_headers *)(void *)entry->memory;
}

/*
 * The kernel stores a message in three parts. The payload is not moved: the other two are copied before it, so that
 * the library gets one piece.
 */
struct ring_message aclfs_entry_message(const struct ring_entry *entry)
{
	const struct wire_ring_headers *parts = headers(entry);
	struct wire_in_header header;
	memcpy(&header, parts->in_out, sizeof header);
	size_t payload = parts->entry.payload_size;
	size_t fixed = header.len - sizeof header - payload;
	if (payload > entry->payload_size || header.len < sizeof header + payload || fixed > sizeof parts->fixed)
		return (struct ring_message){ 0 };
	char *start = entry->memory + ENTRY_PAGE - fixed - sizeof header;
	memcpy(start, &header, sizeof header);
	memcpy(start + sizeof header, parts->fixed, fixed);
	entry->memory[ENTRY_PAGE + payload] = 0;
	return (struct ring_message){ .start = start, .size = header.len };
}

int aclfs_entry_put_reply(const struct ring_entry *entry, const struct iovec *iov, int count)
{
	struct wire_ring_headers *parts = headers(entry);
	size_t size = 0;
	for (int i = 1; i < count; i++) {
		if (iov[i].iov_len > entry->payload_size - size)
			return -EINVAL;
		/* The reply may point into the request itself. */
		memmove(entry->memory + ENTRY_PAGE + size, iov[i].iov_base, iov[i].iov_len);
		size += iov[i].iov_len;
	}
	memcpy(parts->in_out, iov[0].iov_base, sizeof(struct wire_out_header));
	parts->entry.payload_size = (uint32_t)size;
	return 0;
}

uint64_t aclfs_entry_commit_id(const struct ring_entry *entry)
{
	return headers(entry)->entry.commit_id;
}

void aclfs_entry_parts(const struct ring_entry *entry, struct iovec parts[2])
{
	parts[0] = (struct iovec){ headers(entry), sizeof(struct wire_ring_headers) };
	parts[1] = (struct iovec){ entry->memory + ENTRY_PAGE, entry->payload_size };
}
