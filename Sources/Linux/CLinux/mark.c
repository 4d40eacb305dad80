#include "clinux.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static _Thread_local void *mark;

void *aclfs_thread_mark(void) { return mark; }

void aclfs_set_thread_mark(void *value) { mark = value; }

#ifdef ACLFS_FAULTS
static _Thread_local void *faults;

void *aclfs_thread_faults(void) { return faults; }

void aclfs_set_thread_faults(void *value) { faults = value; }
#endif

void aclfs_leave_processor(void) {
  /* aclfs never binds the first thread to a processor. */
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) sched_setaffinity(0, sizeof set, &set);
}

int32_t aclfs_mutex_lock_within(void *mutex, uint64_t nanoseconds) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t end = (uint64_t)now.tv_nsec + nanoseconds;
  struct timespec until = {.tv_sec = now.tv_sec + (time_t)(end / 1000000000), .tv_nsec = (long)(end % 1000000000)};
  return -pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
}
