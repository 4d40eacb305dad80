#include "clinux.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Bits of the state. With QUEUED no thread takes the lock past those who wait: then the state changes under the mutex only, but for holders that
 * leave.
 */
enum { QUEUED = 1u << 30, WRITER = 1u << 31, READERS = QUEUED - 1 };

/* A thread that waits, on its own stack. */
struct waiter {
  struct waiter *next;
  bool writes;
  atomic_uint has_lock;
};

struct aclfs_rwlock {
  atomic_uint state;
  pthread_mutex_t mutex;
  struct waiter *first, *last;
};

struct aclfs_rwlock *aclfs_rwlock_new(void) {
  struct aclfs_rwlock *lock = calloc(1, sizeof *lock);
  if (lock) aclfs_mutex_init(&lock->mutex);
  return lock;
}

void aclfs_rwlock_free(struct aclfs_rwlock *lock) {
  pthread_mutex_destroy(&lock->mutex);
  free(lock);
}

/* Takes those who get the lock out of the queue: the first writer, or all readers. Called with the mutex held. */
static struct waiter *take(struct aclfs_rwlock *lock, bool writes, unsigned *count) {
  struct waiter *taken = NULL, **end = &taken, **place = &lock->first;
  *count = 0;
  lock->last = NULL;
  for (struct waiter *waiter; (waiter = *place);) {
    if (waiter->writes != writes || (writes && *count)) {
      lock->last = waiter;
      place = &waiter->next;
      continue;
    }
    *place = waiter->next;
    waiter->next = NULL;
    *end = waiter;
    end = &waiter->next;
    ++*count;
  }
  return taken;
}

/* Gives a free lock to those whose turn it is. Called with the mutex held, which it releases. */
static void pass_on(struct aclfs_rwlock *lock, bool after_writer) {
  struct waiter *next = NULL;
  unsigned count = 0;
  /* Otherwise a thread has taken it meanwhile, which will call this. */
  if (!(atomic_load_explicit(&lock->state, memory_order_acquire) & (WRITER | READERS))) {
    bool writes = !after_writer;
    if (!(next = take(lock, writes, &count))) next = take(lock, writes = !writes, &count);
    unsigned held = !next ? 0 : writes ? WRITER : count;
    atomic_store_explicit(&lock->state, held | (lock->first ? QUEUED : 0), memory_order_release);
  }
  pthread_mutex_unlock(&lock->mutex);
  while (next) {
    /* It ends with the wait of its thread. */
    struct waiter *waiter = next;
    next = waiter->next;
    atomic_store_explicit(&waiter->has_lock, 1, memory_order_release);
    syscall(SYS_futex, &waiter->has_lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
}

static void wait_for(struct aclfs_rwlock *lock, bool writes) {
  pthread_mutex_lock(&lock->mutex);
  unsigned state = atomic_fetch_or(&lock->state, QUEUED);
  if (!lock->first && !(state & (writes ? WRITER | READERS : WRITER))) {
    /* It has become free. */
    atomic_fetch_add(&lock->state, writes ? WRITER : 1);
    atomic_fetch_and(&lock->state, ~(unsigned)QUEUED);
    pthread_mutex_unlock(&lock->mutex);
    return;
  }
  struct waiter waiter = {.writes = writes};
  if (lock->last) lock->last->next = &waiter;
  else lock->first = &waiter;
  lock->last = &waiter;
  pthread_mutex_unlock(&lock->mutex);
  while (!atomic_load_explicit(&waiter.has_lock, memory_order_acquire))
    syscall(SYS_futex, &waiter.has_lock, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

void aclfs_rwlock_read(struct aclfs_rwlock *lock) {
  unsigned state = atomic_load_explicit(&lock->state, memory_order_relaxed);
  while (!(state & (WRITER | QUEUED)))
    if (atomic_compare_exchange_weak_explicit(&lock->state, &state, state + 1, memory_order_acquire, memory_order_relaxed)) return;
  wait_for(lock, false);
}

void aclfs_rwlock_read_end(struct aclfs_rwlock *lock) {
  unsigned before = atomic_fetch_sub_explicit(&lock->state, 1, memory_order_release);
  if (before != (QUEUED | 1)) return;
  pthread_mutex_lock(&lock->mutex);
  pass_on(lock, false);
}

void aclfs_rwlock_write(struct aclfs_rwlock *lock) {
  unsigned state = 0;
  if (!atomic_compare_exchange_strong_explicit(&lock->state, &state, WRITER, memory_order_acquire, memory_order_relaxed)) wait_for(lock, true);
}

void aclfs_rwlock_write_end(struct aclfs_rwlock *lock) {
  unsigned state = WRITER;
  if (atomic_compare_exchange_strong_explicit(&lock->state, &state, 0, memory_order_release, memory_order_relaxed)) return;
  pthread_mutex_lock(&lock->mutex);
  atomic_fetch_and(&lock->state, ~(unsigned)WRITER);
  pass_on(lock, true);
}
