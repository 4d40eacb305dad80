#include "busy_poll.h"

#include <poll.h>
#include <sched.h>
#include <time.h>

/*
 * A worker that waits in read(2) sleeps.  The next request wakes it, at the caller's expense and mostly on another
 * processor that is idle, which costs as much as a small request itself.  As long as one caller alone asks, and asks
 * again soon, the worker looks for the next request a moment longer before it sleeps (decision 19).  Where several
 * callers ask, some worker is always awake, and the processors are theirs.
 */

enum {
	/* So many requests of one caller in a row. */
	ALONE = 4,
	/* As long as waking takes, about, and the caller between two requests. */
	BUSY_POLL_NS = 30000,
	PAUSES = 16,
};

static uint64_t monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The processor may share its units with the one that the caller is on. */
static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void aclfs_busy_poll_begin(struct busy_poll *busy_poll)
{
	cpu_set_t mine;
	/* On one processor it would only keep the caller from running. */
	busy_poll->possible = !sched_getaffinity(0, sizeof mine, &mine) && CPU_COUNT(&mine) > 1;
	atomic_store(&busy_poll->caller, 0);
	atomic_store(&busy_poll->streak, 0);
}

void aclfs_busy_poll_note(struct busy_poll *busy_poll, uint32_t caller)
{
	/* The kernel's own. */
	if (!caller)
		return;
	if (atomic_exchange_explicit(&busy_poll->caller, caller, memory_order_relaxed) == caller)
		atomic_fetch_add_explicit(&busy_poll->streak, 1, memory_order_relaxed);
	else
		atomic_store_explicit(&busy_poll->streak, 0, memory_order_relaxed);
}

void aclfs_busy_poll(struct busy_poll *busy_poll, int device)
{
	if (!busy_poll->possible || atomic_load_explicit(&busy_poll->streak, memory_order_relaxed) < ALONE)
		return;
	uint64_t end = monotonic() + BUSY_POLL_NS;
	do {
		/* Another worker may be faster: then this one sleeps in read(2) as ever. */
		if (poll(&(struct pollfd){ .fd = device, .events = POLLIN }, 1, 0) != 0)
			return;
		for (int i = 0; i < PAUSES; i++)
			relax();
	} while (monotonic() < end);
	/* In vain: the next ones have to come one after the other first. */
	atomic_store_explicit(&busy_poll->streak, 0, memory_order_relaxed);
}
