#include "ckeeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* Missing in older headers. Linux 6.9: the descriptor tells of one thread. Of the first one it tells only when all are gone. */
#define PIDFD_THREAD_ O_EXCL
/* How often the daemon's first thread is looked at before Linux 6.9. */
#define LOOK_MS 500

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Reads a small file of /proc; false if it is gone. */
static bool read_file(const char *path, char *text, size_t room)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	ssize_t count = read(file, text, room - 1);
	close(file);
	if (count <= 0)
		return false;
	text[count] = 0;
	return true;
}

/* The letter of /proc/…/stat; 0 if the thread is gone. A name may contain parentheses. */
static char state_of(const char *directory)
{
	char path[96], text[512];
	snprintf(path, sizeof path, "%s/stat", directory);
	if (!read_file(path, text, sizeof text))
		return 0;
	const char *end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

static bool is_being_killed(const char *directory)
{
	char path[96], text[4096];
	snprintf(path, sizeof path, "%s/status", directory);
	if (!read_file(path, text, sizeof text))
		return true;
	uint64_t pending = 0;
	const char *const names[] = { "\nSigPnd:", "\nShdPnd:" };
	for (size_t i = 0; i < 2; i++) {
		const char *line = strstr(text, names[i]);
		if (line)
			pending |= strtoull(line + strlen(names[i]), NULL, 16);
	}
	return pending & UINT64_C(1) << (SIGKILL - 1);
}

/* Whether no thread of a process runs its program any more: each is gone, or sleeps in the kernel with SIGKILL pending and
 * will never return from there. *sleepers: how many sleep. */
static bool is_over(pid_t process, uint32_t *sleepers)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", process);
	DIR *tasks = opendir(path);
	*sleepers = 0;
	if (!tasks)
		return errno == ENOENT || errno == ESRCH;
	bool over = true;
	for (struct dirent *task; over && (task = readdir(tasks));) {
		if (task->d_name[0] == '.')
			continue;
		char directory[64];
		snprintf(directory, sizeof directory, "/proc/%d/task/%.10s", process, task->d_name);
		char state = state_of(directory);
		if (state == 'D' && is_being_killed(directory))
			++*sleepers;
		else if (state && state != 'Z' && state != 'X')
			over = false;
	}
	closedir(tasks);
	return over;
}

/* Whether the first thread of a process is gone. It only waits, so it ends at once when the process is killed. */
static bool has_lost_first_thread(pid_t process)
{
	char directory[32];
	snprintf(directory, sizeof directory, "/proc/%d", process);
	char state = state_of(directory);
	return state == 'Z' || state == 'X';
}

/* The daemon's part of the split. The C library believes that this thread still has the parent's number. */
static void become_daemon(const sigset_t *mask)
{
	int *number = NULL;
	if (prctl(PR_GET_TID_ADDRESS, &number) == 0 && number)
		*number = (int)syscall(SYS_gettid);
	/* The daemon decides about signals itself. */
	sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Signals that end or reload the daemon are for it, whoever of both gets them. Those of a terminal both get. *ending: the last one that
 * asks for the end. */
static void pass_on(int signals, pid_t daemon, int *ending)
{
	struct signalfd_siginfo info;
	while (read(signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo != SIGHUP)
			*ending = (int)info.ssi_signo;
		if (info.ssi_code <= 0)
			kill(daemon, (int)info.ssi_signo);
	}
}

/* Children from before a death, whose threads slept, too. */
static bool reap(pid_t daemon, int *how)
{
	bool ended = false;
	int status;
	for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0;)
		if (child == daemon) {
			ended = true;
			*how = status;
		}
	return ended;
}

/* Waits until the daemon has ended, or none of its threads runs any more. Signals that come when it dies stay pending: they are for the
 * daemon that follows. Returns the signal that asked the daemon for its end, 0 if none did. */
static int wait_for_end(struct aclfs_kept *kept, pid_t daemon, int signals, int children)
{
	struct pollfd watched[3] = { { .fd = children, .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN } };
	bool is_dying = false;
	int ending = 0;
	kept->how = -1;
	kept->sleepers = 0;
	for (int pause = 1;; pause = pause < 50 ? pause * 2 : pause) {
		/* A dying process is looked at until it is gone: what it sleeps on does not tell. */
		int thread = __atomic_load_n(&kept->thread, __ATOMIC_ACQUIRE);
		watched[1].fd = is_dying || thread <= 0 ? -1 : thread;
		watched[1].revents = 0;
		watched[2].fd = is_dying ? -1 : signals;
		int timeout = is_dying ? pause : thread <= 0 ? LOOK_MS : -1;
		poll(watched, 3, timeout);
		struct signalfd_siginfo child;
		while (read(children, &child, sizeof child) > 0) {
		}
		if (reap(daemon, &kept->how)) {
			kept->sleepers = 0;
			break;
		}
		if (!is_dying) {
			pause = 1;
			is_dying = watched[1].revents || (thread <= 0 && has_lost_first_thread(daemon));
			if (!is_dying)
				pass_on(signals, daemon, &ending);
		}
		if (is_dying && kept->is_serving && is_over(daemon, &kept->sleepers) && kept->sleepers)
			break;
	}
	return ending;
}

void aclfs_keep_watch(struct aclfs_kept *kept)
{
	int thread = (int)syscall(SYS_pidfd_open, (pid_t)syscall(SYS_gettid), PIDFD_THREAD_);
	__atomic_store_n(&kept->thread, thread < 0 ? -1 : thread, __ATOMIC_RELEASE);
}

static void say(const struct aclfs_kept *kept, const char *program, const char *text)
{
	int error = errno;
	if (kept->is_foreground)
		dprintf(STDERR_FILENO, "aclfs: the daemon died, and %s cannot be run: %s; %s\n", program, strerror(error), text);
	else
		syslog(LOG_DAEMON | LOG_ERR, "the daemon died, and %s cannot be run: %s; %s", program, strerror(error), text);
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Closes all descriptors but those that the state names, now and not by exec: the program may lie on a mount that would be asked while
 * its device is still open here. */
static void close_the_rest(const struct aclfs_kept *kept, int memory)
{
	int held[ACLFS_KEPT_MOST_DESCRIPTORS + 1], count = 0;
	held[count++] = memory;
	for (size_t i = 0; i < ACLFS_KEPT_MOST_DESCRIPTORS; i++)
		if (kept->descriptors[i] > 2)
			held[count++] = kept->descriptors[i];
	qsort(held, (size_t)count, sizeof *held, compare);
	unsigned from = 3;
	/* Threads of the daemon that sleep have the table still. Before Linux 5.9 exec closes. */
	for (int i = 0; i <= count; i++) {
		unsigned next = i < count ? (unsigned)held[i] : ~0u;
		if (next > from)
			syscall(SYS_close_range, from, i < count ? next - 1 : ~0u, CLOSE_RANGE_UNSHARE);
		from = next < ~0u ? next + 1 : next;
	}
}

/* The program that runs next takes what the tables name, and closes the rest. */
static void keep_all(void)
{
	DIR *open = opendir("/proc/self/fd");
	if (!open)
		return;
	for (struct dirent *entry; (entry = readdir(open));) {
		int number = atoi(entry->d_name);
		if (number > 2 && number != dirfd(open))
			fcntl(number, F_SETFD, 0);
	}
	closedir(open);
}

/* Runs the program in this process's place. All descriptors are closed but those that the state names. */
static void run_again(struct aclfs_kept *kept, int memory, const char *program, char *const *arguments)
{
	fcntl(memory, F_SETFD, 0);
	/* Requests of a thread that sleeps would be made again beside it. */
	bool is_kept = kept->left || (kept->live > 0 && !kept->sleepers);
	for (size_t i = 0; i < ACLFS_KEPT_MOST_DESCRIPTORS; i++)
		if (kept->descriptors[i] > 2)
			fcntl(kept->descriptors[i], F_SETFD, 0);
	/* What the daemon has left, its device too, is not in the list of descriptors. It has seen that the program lies on none of its mounts. */
	if (is_kept)
		keep_all();
	else
		close_the_rest(kept, memory);
	/* Signals stay blocked: one that comes now is for the next daemon. */
	extern char **environ;
	execve(program, arguments, environ);
	say(kept, program, "what ran before is run again");
	execve("/proc/self/exe", arguments, environ);
	say(kept, "the program that ran", "its mounts are dead, and closed to everybody, until they are mounted again");
}

int32_t aclfs_keep(struct aclfs_kept *kept, int32_t memory, const char *program, char *_Nullable const *_Nonnull arguments)
{
	sigset_t passed, child, before;
	sigemptyset(&passed);
	const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		sigaddset(&passed, numbers[i]);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &passed, &before);
	sigprocmask(SIG_BLOCK, &child, NULL);
	int signals = signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK);
	int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || children < 0) {
		int error = errno;
		if (signals >= 0)
			close(signals);
		sigprocmask(SIG_SETMASK, &before, NULL);
		return -error;
	}
	fflush(NULL);
	kept->thread = 0;
	/* As fork(2), with the table of descriptors shared: what the daemon opens is open here, and outlives it. */
	long daemon = syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (daemon < 0) {
		int error = errno;
		close(signals);
		close(children);
		sigprocmask(SIG_SETMASK, &before, NULL);
		return -error;
	}
	if (daemon == 0) {
		become_daemon(&before);
		return 0;
	}
	kept->daemon = (int32_t)daemon;
	int ending = wait_for_end(kept, (pid_t)daemon, signals, children);
	if (kept->how >= 0 && WIFEXITED(kept->how) && !kept->left)
		_exit(WEXITSTATUS(kept->how));
	if (kept->is_serving) {
		/* It may have been killed before it saw that it was to end: the next one is. */
		if (ending)
			kill(getpid(), ending);
		if (!kept->left) {
			kept->died = now();
			kept->recent[kept->deaths++ % ACLFS_KEPT_RECENT] = kept->died;
		}
		run_again(kept, memory, program, arguments);
	}
	_exit(kept->how >= 0 && WIFSIGNALED(kept->how) ? 128 + WTERMSIG(kept->how) : 1);
}
