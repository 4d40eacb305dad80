#include "clinux.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static _Thread_local void *mark;

void *aclfs_thread_mark(void) { return mark; }

void aclfs_set_thread_mark(void *value) { mark = value; }

void aclfs_leave_processor(void) {
  /* The first thread is never bound to a processor by us. */
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) sched_setaffinity(0, sizeof set, &set);
}

int32_t aclfs_mutex_lock_until(void *mutex, uint64_t deadline) {
  struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000)};
  return -pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
}
