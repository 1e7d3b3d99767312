// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// jemalloc_locks.cpp has the mutexes of the private jemalloc (private_jemalloc.sh renames its
// references). While glibc knows of one thread only, its mutexes are not atomic and wake no
// waiter (lowlevellock.h of glibc 2.34 and later). The helper thread, of which glibc may not know
// (bare_thread.h), purges jemalloc's arenas, so these mutexes are always atomic. A mutex is one
// futex word, as in U. Drepper, "Futexes Are Tricky", section 5, "Mutex, Take 2".
#include "smalloc/process/bare_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
/// The word is the first of jemalloc's pthread_mutex_t; jemalloc's initial value is all zeros.
enum : int { kFree, kHeld, kHeldWithWaiters };

int *word_of(pthread_mutex_t *mutex) { return reinterpret_cast<int *>(mutex); }

/// Unlike the C library's syscall(), leaves the program's errno alone.
void futex(int *word, int operation, int value) {
  const int saved = errno;
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
  errno = saved;
}
} // namespace

extern "C" {
int jesys_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *) {
  __atomic_store_n(word_of(mutex), kFree, __ATOMIC_RELEASE);
  return 0;
}
int jesys_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  int seen = kFree;
  return __atomic_compare_exchange_n(word_of(mutex), &seen, kHeld, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)
             ? 0
             : EBUSY;
}
int jesys_pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (jesys_pthread_mutex_trylock(mutex) == 0)
    return 0;
  int *const word = word_of(mutex);
  while (__atomic_exchange_n(word, kHeldWithWaiters, __ATOMIC_ACQUIRE) != kFree)
    futex(word, FUTEX_WAIT, kHeldWithWaiters);
  return 0;
}
int jesys_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  if (__atomic_exchange_n(word_of(mutex), kFree, __ATOMIC_RELEASE) == kHeldWithWaiters)
    futex(word_of(mutex), FUTEX_WAKE, 1);
  return 0;
}
/// jemalloc sets a value for its cleanup at a thread's end. For a bare thread the C library has no
/// cleanup; for keys from the 33rd on it would allocate memory.
int jesys_pthread_setspecific(pthread_key_t key, const void *value) {
  return smalloc::is_bare_thread() ? 0 : pthread_setspecific(key, value);
}
}
