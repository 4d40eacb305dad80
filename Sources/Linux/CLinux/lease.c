#include "clinux.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "procfd.h"

static pthread_once_t ignored = PTHREAD_ONCE_INIT;
/* Held while this process has a lease. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

/* If a process opens the file during the lease, the kernel sends a signal that would end this process. */
static void ignore_break(void) {
  struct sigaction now;
  if (sigaction(SIGIO, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
    signal(SIGIO, SIG_IGN);
}

static int32_t open_anew(int32_t fd, int32_t flags) {
  int from = aclfs_proc_directory();
  struct proc_path path = aclfs_proc_path(fd);
  int result = from >= 0 ? openat(from, path.text + sizeof "/proc/self/fd/" - 1, flags) : open(path.text, flags);
  return result < 0 ? -errno : result;
}

/* Opens a file while no thread is in aclfs_is_open_for_writing, during which the open fails (EAGAIN). */
static int32_t open_between_leases(int32_t fd, int32_t flags) {
  int32_t result = -EAGAIN;
  /* Another process may hold a lease as briefly; a lasting lease is not waited for. */
  for (int attempt = 0; attempt < 8 && result == -EAGAIN; attempt++) {
    if (attempt > 0)
      usleep(250);
    pthread_mutex_lock(&asking);
    result = open_anew(fd, flags);
    pthread_mutex_unlock(&asking);
  }
  return result;
}

int32_t aclfs_reopen(int32_t fd, int32_t flags) {
  flags = (flags & ~O_NOFOLLOW) | O_CLOEXEC;
  int32_t result = open_anew(fd, flags);
  /* With O_NONBLOCK a lease is not waited for. */
  return result == -EAGAIN ? open_between_leases(fd, flags) : result;
}

/* Takes a read lease, which the kernel grants only if no process has the file open for writing; a mapping counts. */
static int take_lease(int again) {
  return fcntl(again, F_SETLEASE, F_RDLCK) == 0 ? 0 : -errno;
}

static int32_t open_for_lease(int32_t fd) {
  pthread_once(&ignored, ignore_break);
  return aclfs_reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

int32_t aclfs_is_open_for_writing(int32_t fd) {
  int again = open_for_lease(fd);
  if (again < 0)
    return again;
  pthread_mutex_lock(&asking);
  int result = take_lease(again);
  if (result == 0)
    fcntl(again, F_SETLEASE, F_UNLCK);
  else if (result == -EAGAIN)
    result = 1;
  pthread_mutex_unlock(&asking);
  close(again);
  return result;
}

int32_t aclfs_keep_from_writing(int32_t fd) {
  int again = open_for_lease(fd);
  if (again < 0)
    return again;
  int result = take_lease(again);
  if (result == 0)
    return again;
  close(again);
  return result;
}
