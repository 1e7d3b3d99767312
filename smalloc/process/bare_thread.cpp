// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bare_thread.cpp maps a guard page, a stack and thread-local storage in one piece, once per
// process, and starts the thread by clone(2). The storage has the layout of the creating thread's:
// the blocks of all images that lie at fixed distances from the thread pointer (static TLS), with
// their initial contents, and glibc's record of the thread. Of the record the bare thread needs its
// own address, the canary of the stack protector, and the thread's number. The last one is what
// glibc's recursive locks compare; the kernel knows where it lies, since it clears it at the
// thread's end (prctl PR_GET_TID_ADDRESS, or a search for it).
#include "smalloc/process/bare_thread.h"
#include "smalloc/base/keep_errno.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Sanitizers keep their own state of every thread, and see only threads from pthread_create.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SMALLOC_BARE_THREADS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SMALLOC_BARE_THREADS 0
#endif
#endif
#ifndef SMALLOC_BARE_THREADS
#if defined(__x86_64__) && !defined(SMALLOC_STATIC)
#define SMALLOC_BARE_THREADS 1
#else
#define SMALLOC_BARE_THREADS 0
#endif
#endif

namespace smalloc {

#if SMALLOC_BARE_THREADS
namespace {

constexpr size_t kGuardBytes = 4096, kStackBytes = size_t{128} << 10;
/// Static TLS below the thread pointer, and glibc's record from it on (2,304 bytes in glibc 2.36).
constexpr size_t kStaticBytes = size_t{64} << 10, kRecordBytes = 4096;
constexpr size_t kMappedBytes = kGuardBytes + kStackBytes + kStaticBytes + kRecordBytes;
/// The record's first words: the thread pointer itself, the canary, the key of stored pointers.
constexpr size_t kHeadBytes = 0x50, kTidSearchFrom = 0x80, kTidSearchBytes = 0x800;

struct BareThread {
  char *memory = nullptr; ///< kMappedBytes; kept until the process ends
  bool prepared = false;  ///< the thread-local storage is initialised
  bool refused = false;
  pid_t *tid = nullptr; ///< in glibc's record: the running thread's number, 0 after its end
  pid_t process = 0;    ///< whose thread it is
  void (*body)() = nullptr;
  /// The creator's tables of isdigit() and the like, which strtol uses. glibc sets them at the
  /// start of each of its threads.
  const unsigned short *classes = nullptr;
  const int *lower = nullptr, *upper = nullptr;

  char *stack_end() const { return memory + kGuardBytes + kStackBytes; }
  char *thread_pointer() const { return stack_end() + kStaticBytes; }
};
constinit BareThread g_thread;

char *own_thread_pointer() { return static_cast<char *>(__builtin_thread_pointer()); }

/// Returns where the calling thread's number lies in glibc's record, as a distance from its thread
/// pointer. 0: unknown.
size_t tid_distance() {
  const char *const record = own_thread_pointer();
  const auto tid = static_cast<pid_t>(syscall(SYS_gettid));
  const auto holds_tid = [&](size_t at) { return memcmp(record + at, &tid, sizeof tid) == 0; };
  int *address = nullptr;
  if (prctl(PR_GET_TID_ADDRESS, &address) == 0 && address) {
    const auto at = static_cast<size_t>(reinterpret_cast<char *>(address) - record);
    return at < kRecordBytes - sizeof tid && holds_tid(at) ? at : 0;
  }
  for (size_t at = kTidSearchFrom; at < kTidSearchBytes; at += sizeof tid)
    if (holds_tid(at))
      return at;
  return 0;
}

/// Copies the initial contents of one image's static TLS.
int copy_image(dl_phdr_info *image, size_t size, void *) {
  if (size < offsetof(dl_phdr_info, dlpi_tls_data) + sizeof image->dlpi_tls_data ||
      !image->dlpi_tls_data)
    return 0;
  const auto distance = own_thread_pointer() - static_cast<char *>(image->dlpi_tls_data);
  if (distance <= 0 || distance > static_cast<ptrdiff_t>(kStaticBytes))
    return 0; // its storage has no fixed place
  for (unsigned i = 0; i < image->dlpi_phnum; i++) {
    const ElfW(Phdr) &segment = image->dlpi_phdr[i];
    if (segment.p_type == PT_TLS && segment.p_filesz <= static_cast<size_t>(distance))
      memcpy(g_thread.thread_pointer() - distance,
             reinterpret_cast<const void *>(image->dlpi_addr + segment.p_vaddr), segment.p_filesz);
  }
  return 0;
}

/// Copies the head of glibc's record. Words that hold the thread's own address get the new one. The
/// table of storage without a fixed place (the second word) stays empty: libsmalloc has none.
void copy_head(char *to) {
  const char *const from = own_thread_pointer();
  constexpr size_t kWord = sizeof(uintptr_t), kTableOfOthers = kWord;
  for (size_t at = 0; at < kHeadBytes; at += kWord) {
    uintptr_t word;
    memcpy(&word, from + at, kWord);
    if (at == kTableOfOthers)
      word = 0;
    else if (word == reinterpret_cast<uintptr_t>(from))
      word = reinterpret_cast<uintptr_t>(to);
    memcpy(to + at, &word, kWord);
  }
}

bool prepare() {
  if (g_thread.prepared || g_thread.refused)
    return g_thread.prepared;
  const size_t tid_at = tid_distance();
  if (!g_thread.memory && tid_at) {
    void *const memory = mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory != MAP_FAILED && mprotect(memory, kGuardBytes, PROT_NONE) == 0)
      g_thread.memory = static_cast<char *>(memory);
    else if (memory != MAP_FAILED)
      munmap(memory, kMappedBytes);
  }
  if (!g_thread.memory || !tid_at) {
    g_thread.refused = true;
    return false;
  }
  dl_iterate_phdr(copy_image, nullptr);
  copy_head(g_thread.thread_pointer());
  g_thread.tid = reinterpret_cast<pid_t *>(g_thread.thread_pointer() + tid_at);
  *g_thread.tid = 0;
  return g_thread.prepared = true;
}

pid_t running_tid() { return g_thread.tid ? __atomic_load_n(g_thread.tid, __ATOMIC_ACQUIRE) : 0; }

int run(void *) {
  *__ctype_b_loc() = g_thread.classes;
  *__ctype_tolower_loc() = g_thread.lower;
  *__ctype_toupper_loc() = g_thread.upper;
  g_thread.body();
  return 0; // clone(2)'s wrapper then ends this thread, not the process
}

} // namespace

bool start_bare_thread(void (*body)()) {
  KeepErrno keep;
  if (!prepare() || running_tid() != 0)
    return false;
  g_thread.process = getpid();
  g_thread.body = body;
  g_thread.classes = *__ctype_b_loc();
  g_thread.lower = *__ctype_tolower_loc();
  g_thread.upper = *__ctype_toupper_loc();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  // The flags of pthread_create, which the filters of containers expect.
  const int started =
      clone(run, g_thread.stack_end(),
            CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
            nullptr, g_thread.tid, g_thread.thread_pointer(), g_thread.tid);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started != -1;
}

bool bare_thread_has_ended() {
  // A child of vfork or of a direct system call sees the record of its parent's thread.
  return running_tid() == 0 || g_thread.process != getpid();
}

bool wait_for_bare_thread(long ns) {
  KeepErrno keep;
  timespec from;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (;;) {
    const pid_t tid = running_tid();
    if (bare_thread_has_ended())
      return true;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long left = ns - ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec);
    if (left <= 0)
      return false;
    constexpr long kStep = 1000000; // the wake-up is lost if another waiter takes it
    const timespec pause = {0, left < kStep ? left : kStep};
    syscall(SYS_futex, g_thread.tid, FUTEX_WAIT, tid, &pause, nullptr, 0);
  }
}

void forget_bare_thread() {
  if (!g_thread.memory)
    return;
  // Its heaps' states in thread-local storage may be half-changed copies.
  KeepErrno keep;
  if (syscall(SYS_madvise, g_thread.memory + kGuardBytes, kMappedBytes - kGuardBytes,
              MADV_DONTNEED) != 0)
    memset(g_thread.stack_end(), 0, kStaticBytes + kRecordBytes); // locked memory
  g_thread.prepared = false;
  g_thread.tid = nullptr;
}

#else
bool start_bare_thread(void (*)()) { return false; }
bool bare_thread_has_ended() { return true; }
bool wait_for_bare_thread(long) { return true; }
void forget_bare_thread() {}
#endif

} // namespace smalloc
