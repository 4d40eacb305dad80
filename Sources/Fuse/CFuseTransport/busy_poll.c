#include "busy_poll.h"

#include <poll.h>
#include <sched.h>
#include <time.h>

/*
 * A worker that waits in read(2) sleeps. The next request wakes it, at the caller's expense and mostly on another
 * idle processor. That costs as much as a small request. While a single caller sends requests in short intervals, the
 * worker polls for the next one before it sleeps (decision 19). With several callers some worker is always awake, and
 * polling would take their processors.
 */

enum {
	/* The number of successive requests of one caller. */
	SINGLE_CALLER_STREAK = 4,
	/* About the time that waking takes, and the caller between two requests. */
	BUSY_POLL_NS = 30000,
	PAUSES = 16,
};

static uint64_t monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The processor may share its units with the caller's. */
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
	cpu_set_t allowed;
	/* With one processor polling would keep the caller from running. */
	busy_poll->possible = !sched_getaffinity(0, sizeof allowed, &allowed) && CPU_COUNT(&allowed) > 1;
	atomic_store(&busy_poll->caller, 0);
	atomic_store(&busy_poll->streak, 0);
}

void aclfs_busy_poll_note(struct busy_poll *busy_poll, uint32_t caller)
{
	/* A request of the kernel itself. */
	if (!caller)
		return;
	if (atomic_exchange_explicit(&busy_poll->caller, caller, memory_order_relaxed) == caller)
		atomic_fetch_add_explicit(&busy_poll->streak, 1, memory_order_relaxed);
	else
		atomic_store_explicit(&busy_poll->streak, 0, memory_order_relaxed);
}

void aclfs_busy_poll(struct busy_poll *busy_poll, int device)
{
	if (!busy_poll->possible || atomic_load_explicit(&busy_poll->streak, memory_order_relaxed) < SINGLE_CALLER_STREAK)
		return;
	uint64_t end = monotonic() + BUSY_POLL_NS;
	do {
		/* Another worker may be faster: then this one sleeps in read(2). */
		if (poll(&(struct pollfd){ .fd = device, .events = POLLIN }, 1, 0) != 0)
			return;
		for (int i = 0; i < PAUSES; i++)
			relax();
	} while (monotonic() < end);
	/* No request came: poll again only after another streak. */
	atomic_store_explicit(&busy_poll->streak, 0, memory_order_relaxed);
}
