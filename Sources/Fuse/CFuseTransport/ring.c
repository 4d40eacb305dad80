#include "ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cfusetransport.h"

static int setup(struct io_uring_params *params)
{
	int descriptor = (int)syscall(SYS_io_uring_setup, 1, params);
	return descriptor < 0 ? -errno : descriptor;
}

static void *map(size_t size, int descriptor, off_t what)
{
	int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_POPULATE;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, descriptor, what);
	return memory == MAP_FAILED ? NULL : memory;
}

static int map_rings(struct ring *ring, const struct io_uring_params *params)
{
	size_t submissions = params->sq_off.flags + sizeof(uint32_t);
	size_t completions = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
	ring->indexes_size = submissions > completions ? submissions : completions;
	ring->submissions_size = params->sq_entries * 2 * sizeof(struct io_uring_sqe);
	ring->indexes = map(ring->indexes_size, ring->descriptor, IORING_OFF_SQ_RING);
	ring->submissions = map(ring->submissions_size, ring->descriptor, (off_t)IORING_OFF_SQES);
	if (!ring->indexes || !ring->submissions)
		return -ENOMEM;
	char *base = ring->indexes;
	ring->submission_tail = (_Atomic uint32_t *)(void *)(base + params->sq_off.tail);
	ring->completion_head = (_Atomic uint32_t *)(void *)(base + params->cq_off.head);
	ring->completion_tail = (_Atomic uint32_t *)(void *)(base + params->cq_off.tail);
	ring->submission_mask = params->sq_entries - 1;
	ring->completion_mask = params->cq_entries - 1;
	ring->completions = (struct io_uring_cqe *)(void *)(base + params->cq_off.cqes);
	return 0;
}

/* Otherwise a mount needs a descriptor for each processor. */
static void register_descriptor(struct ring *ring)
{
	struct io_uring_rsrc_update update = { .offset = UINT32_MAX, .data = (uint64_t)ring->descriptor };
	if (syscall(SYS_io_uring_register, ring->descriptor, RING_REGISTER_RING_FDS, &update, 1) != 1)
		return;
	close(ring->descriptor);
	ring->descriptor = (int)update.offset;
	ring->is_registered = true;
}

int aclfs_ring_open(struct ring *ring, int device, size_t payload_size)
{
	*ring = (struct ring){ .descriptor = -1, .entry = { .payload_size = payload_size } };
	/* The kernel copies a request into the entry when its thread waits next, never during a handler. */
	struct io_uring_params params = { .flags = RING_SETUP_SQE128 | RING_SETUP_SINGLE_ISSUER |
						   RING_SETUP_DEFER_TASKRUN | RING_SETUP_NO_SQARRAY };
	int result = setup(&params);
	if (result < 0)
		return result;
	ring->descriptor = result;
	result = map_rings(ring, &params);
	/* Unused pages of the payload take no memory; the last one terminates a string that fills it. */
	if (!result && !(ring->entry.memory = map(entry_memory_size(payload_size), -1, 0)))
		result = -ENOMEM;
	if (!result)
		madvise(ring->entry.memory, entry_memory_size(payload_size), MADV_NOHUGEPAGE);
	if (!result && syscall(SYS_io_uring_register, ring->descriptor, IORING_REGISTER_FILES, &device, 1) < 0)
		result = -errno;
	if (result)
		aclfs_ring_close(ring);
	else
		register_descriptor(ring);
	return result;
}

void aclfs_ring_close(struct ring *ring)
{
	if (ring->indexes)
		munmap(ring->indexes, ring->indexes_size);
	if (ring->submissions)
		munmap(ring->submissions, ring->submissions_size);
	if (ring->entry.memory)
		munmap(ring->entry.memory, entry_memory_size(ring->entry.payload_size));
	if (ring->is_registered) {
		/* By the thread that opened it, like all calls on a ring. The registration ends with the thread in
		 * any case. */
		struct io_uring_rsrc_update update = { .offset = (uint32_t)ring->descriptor };
		syscall(SYS_io_uring_register, ring->descriptor, RING_UNREGISTER_RING_FDS | 1u << 31, &update, 1);
	} else if (ring->descriptor >= 0) {
		close(ring->descriptor);
	}
	*ring = (struct ring){ .descriptor = -1 };
}

void aclfs_ring_submit(struct ring *ring, enum wire_ring_command command, uint16_t cpu, uint64_t commit)
{
	uint32_t tail = atomic_load_explicit(ring->submission_tail, memory_order_relaxed);
	/* An entry has 128 bytes; the command is after the first 48. */
	char *place = (char *)ring->submissions + (tail & ring->submission_mask) * 2 * sizeof(struct io_uring_sqe);
	memset(place, 0, 2 * sizeof(struct io_uring_sqe));
	struct io_uring_sqe *submission = (struct io_uring_sqe *)(void *)place;
	submission->opcode = RING_OP_URING_CMD;
	submission->flags = IOSQE_FIXED_FILE;
	submission->off = command;
	if (command == WIRE_RING_REGISTER) {
		/* The kernel reads it in the next enter. */
		static _Thread_local struct iovec parts[2];
		aclfs_entry_parts(&ring->entry, parts);
		submission->addr = (uintptr_t)parts;
		submission->len = 2;
	}
	struct wire_ring_request request = { .commit_id = commit, .qid = cpu };
	memcpy(place + 48, &request, sizeof request);
	atomic_store_explicit(ring->submission_tail, tail + 1, memory_order_release);
}

int aclfs_ring_enter(struct ring *ring, unsigned submit, bool wait)
{
	unsigned flags = (wait ? IORING_ENTER_GETEVENTS : 0) | (ring->is_registered ? RING_ENTER_REGISTERED_RING : 0);
	long n = syscall(SYS_io_uring_enter, ring->descriptor, submit, wait ? 1 : 0, flags, NULL, 0);
	return n < 0 ? -errno : (int)n;
}

bool aclfs_ring_take(struct ring *ring, int32_t *result)
{
	uint32_t head = atomic_load_explicit(ring->completion_head, memory_order_relaxed);
	if (head == atomic_load_explicit(ring->completion_tail, memory_order_acquire))
		return false;
	*result = ring->completions[head & ring->completion_mask].res;
	atomic_store_explicit(ring->completion_head, head + 1, memory_order_release);
	return true;
}

int aclfs_transport_probe_rings(void)
{
	struct io_uring_params params = { .flags = RING_SETUP_SQE128 | RING_SETUP_SINGLE_ISSUER |
						   RING_SETUP_DEFER_TASKRUN | RING_SETUP_NO_SQARRAY };
	int descriptor = setup(&params);
	if (descriptor < 0)
		return descriptor;
	close(descriptor);
	return 0;
}
