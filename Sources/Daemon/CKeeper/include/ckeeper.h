/* The process that outlives the daemon (docs/decisions/0041-a-keeper.md). Functions return a value or -errno. */
#ifndef ACLFS_CKEEPER_H
#define ACLFS_CKEEPER_H

#include <stdint.h>

#pragma clang assume_nonnull begin

enum {
	ACLFS_KEPT_VERSION = 2,
	/* Bytes of the part of the memory file that this header describes; what the mounts are follows. */
	ACLFS_KEPT_HEADER = 4096,
	ACLFS_KEPT_MOST_DESCRIPTORS = 512,
	ACLFS_KEPT_RECENT = 100,
};

/* The head of the memory file that keeper, daemon and the daemon after it share. Another build reads it, so members keep their
 * places within a version. Times are nanoseconds of CLOCK_MONOTONIC. */
struct aclfs_kept {
	char magic[8];
	uint32_t version;
	/* A mount has answered: a death is worth another daemon. */
	uint32_t is_serving;
	int32_t daemon;
	/* A descriptor that tells of the end of one of the daemon's threads; 0: none yet, -1: the kernel has none. */
	int32_t thread;
	/* The program's own warnings go to standard error; 0: to syslog. */
	uint32_t is_foreground;
	/* Of this keeper, since it began. */
	uint64_t deaths;
	/* When the last death was seen, and how the daemon ended: as of waitpid(2), or -1 if it has threads that sleep in the kernel. */
	uint64_t died;
	int32_t how;
	/* The longest time after a death in which a mount did not answer. */
	uint64_t longest_wait;
	/* How many threads slept. */
	uint32_t sleepers;
	/* The times of the last deaths, in a ring; 0: none yet. */
	uint64_t recent[ACLFS_KEPT_RECENT];
	/* Set: the daemon ends so that the program, as it is now, serves the same connection. Since when it reads no requests, and the descriptor of
	 * what it leaves; the descriptors that this names are not closed by exec. */
	uint64_t left;
	int32_t tables;
	/* The descriptor of tables that are up to date at any moment, with which the program serves the same connection after a death; 0: none. */
	int32_t live;
	/* Descriptors that are kept over a death, -1 where none is; all others are closed. */
	int32_t descriptors[ACLFS_KEPT_MOST_DESCRIPTORS];
};

/* Splits this process, which must have one thread, in a daemon and its keeper, with one table of descriptors.
 * Returns 0 in the daemon. In the keeper it never returns: the keeper ends with the daemon's status, or runs
 * the program with `arguments` if the daemon dies after a mount has answered.
 * program: a path; when it cannot be run, what runs now is run again. memory: the descriptor of `kept`. */
int32_t aclfs_keep(struct aclfs_kept *kept, int32_t memory, const char *program, char *_Nullable const *_Nonnull arguments);

/* The keeper learns of a death by the end of the calling thread of the daemon, which must not sleep uninterruptibly. */
void aclfs_keep_watch(struct aclfs_kept *kept);

/* Leaves this thread, and what it starts or runs, no capabilities but these (bits by number), and no way to others: no_new_privs. */
int32_t aclfs_contain(uint64_t kept);

#pragma clang assume_nonnull end

#endif
