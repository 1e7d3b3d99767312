// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bare_thread.cpp maps a guard page, a stack and thread-local storage in one piece, once per
// process, and starts the thread by clone(2). The storage has the layout of the creating thread's:
// the blocks of all images that lie at fixed distances from the thread pointer (static TLS), with
// their initial contents, and glibc's record of the thread. Of the record the bare thread needs its
// own address and the canary of the stack protector.
#include "smalloc/process/bare_thread.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/sleep.h"
#include "smalloc/base/units.h"
#include "smalloc/os/own_madvise.h"
#include "smalloc/process/loaded_objects.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
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

#if SMALLOC_BARE_THREADS
extern "C" {
extern const ptrdiff_t __rseq_offset __attribute__((weak)); // glibc 2.35
// Null unless the program was built with a sanitizer.
void __asan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
void __msan_init() __attribute__((weak));
void __hwasan_init() __attribute__((weak));
}
#endif

namespace smalloc {

#if SMALLOC_BARE_THREADS
namespace {

constexpr size_t kGuardBytes = 4096, kStackBytes = size_t{128} << 10;
/// glibc's record of a thread begins at the thread pointer (2,304 bytes in glibc 2.36). Static TLS
/// lies below it. Blocks farther than kMostStaticBytes from the thread pointer are left out: a
/// program in which libsmalloc's or the C library's data lies there gets no bare thread.
constexpr size_t kRecordBytes = 4096, kMostStaticBytes = size_t{4} << 20;
/// Room for the static TLS of libraries that are loaded later: glibc's reserve is 1,664 bytes.
constexpr size_t kReservedBytes = 4096, kStaticAlignment = 4096;
/// The record's first words: the thread pointer itself, the canary, the key of stored pointers.
constexpr size_t kHeadBytes = 0x50;

/// Functions of the C library that the thread calls.
constexpr const char *kCalled[] = {
    "clock_gettime", "close",       "fcntl",  "getpid",   "getrusage",
    "ioctl",         "mincore",     "mmap",   "mprotect", "munmap",
    "nanosleep",     "open",        "prctl",  "pread",    "process_vm_readv",
    "sbrk",          "sched_yield", "syscall"};

struct BareThread {
  char *memory = nullptr;  ///< mapped_bytes(); kept until the process ends
  size_t static_bytes = 0; ///< of thread-local storage below the thread pointer
  bool refused = false;
  pid_t tid = 0;      ///< the running thread's number; the kernel clears it at its end
  pid_t process = 0;  ///< whose thread it is
  pid_t last_tid = 0; ///< of the last run, until the kernel has released it
  void (*body)() = nullptr;
  /// The creator's tables of isdigit() and the like, which strtol uses. glibc sets them at the
  /// start of each of its threads.
  const unsigned short *classes = nullptr;
  const int *lower = nullptr, *upper = nullptr;

  char *stack_end() const { return memory + kGuardBytes + kStackBytes; }
  char *thread_pointer() const { return stack_end() + static_bytes; }
  size_t mapped_bytes() const { return kGuardBytes + kStackBytes + static_bytes + kRecordBytes; }
};
constinit BareThread g_thread;

char *own_thread_pointer() { return static_cast<char *>(__builtin_thread_pointer()); }

/// True in a program that was built with a sanitizer.
bool is_sanitized() { return __asan_init || __tsan_init || __msan_init || __hwasan_init; }

/// True if the program or a library has put a function in front of one that the thread calls, as
/// libfaketime does. That function may use thread-local storage or locks that the thread lacks.
bool intercepts_calls() {
  const void *const own = first_definition("gnu_get_libc_version");
  if (!own)
    return true;
  const char *const library = image_name(own);
  const auto is_own = [&](const void *p) { return p && strcmp(image_name(p), library) == 0; };
  for (const char *name : kCalled)
    if (!is_own(first_definition(name)))
      return true;
  auto *const advise = g_first_madvise.load(std::memory_order_relaxed); // null: the system call
  return advise && !is_own(reinterpret_cast<const void *>(advise));
}

/// Calls `visit(distance, segment, contents)` for the static TLS of each image: it begins at
/// `distance` below the thread pointer.
template <class Visit> void for_each_static_tls(Visit visit) {
  const auto image = [](dl_phdr_info *info, size_t size, void *data) {
    if (size < offsetof(dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data ||
        !info->dlpi_tls_data)
      return 0;
    // Storage without a fixed place lies anywhere: above the thread pointer, or far below it.
    const auto distance = own_thread_pointer() - static_cast<char *>(info->dlpi_tls_data);
    for (unsigned i = 0; i < info->dlpi_phnum && distance > 0; i++)
      if (const ElfW(Phdr) &segment = info->dlpi_phdr[i]; segment.p_type == PT_TLS)
        (*static_cast<Visit *>(data))(
            static_cast<size_t>(distance), segment,
            reinterpret_cast<const void *>(info->dlpi_addr + segment.p_vaddr));
    return 0;
  };
  dl_iterate_phdr(image, &visit);
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
  // The kernel does not keep this thread's processor there: -1 makes sched_getcpu() ask it. The
  // place lies in the record, or below all static TLS (glibc 2.42).
  constexpr ptrdiff_t kProcessorOfRseq = 4;
  const int unregistered = -1;
  if (&__rseq_offset)
    memcpy(to + __rseq_offset + kProcessorOfRseq, &unregistered, sizeof unregistered);
}

/// Returns the bytes of static TLS that the thread gets: those from the lowest block to the thread
/// pointer, kReservedBytes more, rounded up. Returns 0 if a block that the thread needs is too far
/// away.
size_t static_tls_bytes() {
  size_t farthest = 0;
  for_each_static_tls([&](size_t distance, const ElfW(Phdr) &, const void *) {
    if (distance <= kMostStaticBytes)
      farthest = max_of(farthest, distance);
  });
  // The thread uses libsmalloc's data and the C library's.
  const auto is_within = [&](const void *p) {
    return static_cast<size_t>(own_thread_pointer() - static_cast<const char *>(p)) <= farthest;
  };
  if (!is_within(&t_own_madvise) || !is_within(&errno))
    return 0;
  if (&__rseq_offset && __rseq_offset < 0)
    farthest = max_of(farthest, static_cast<size_t>(-__rseq_offset));
  return (farthest + kReservedBytes + kStaticAlignment - 1) / kStaticAlignment * kStaticAlignment;
}

/// Maps and initialises the thread's memory. Returns kStarted if it is ready.
ThreadStart prepare() {
  if (g_thread.memory)
    return ThreadStart::kStarted;
  if (g_thread.refused)
    return ThreadStart::kRefused;
  g_thread.static_bytes = is_sanitized() || intercepts_calls() ? 0 : static_tls_bytes();
  g_thread.refused = !g_thread.static_bytes;
  if (g_thread.refused)
    return ThreadStart::kRefused;
  void *const memory = mmap(nullptr, g_thread.mapped_bytes(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    return ThreadStart::kFailed;
  if (mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
    munmap(memory, g_thread.mapped_bytes());
    return ThreadStart::kFailed;
  }
  g_thread.memory = static_cast<char *>(memory);
  for_each_static_tls([](size_t distance, const ElfW(Phdr) & segment, const void *contents) {
    if (distance <= g_thread.static_bytes && segment.p_filesz <= distance)
      memcpy(g_thread.thread_pointer() - distance, contents, segment.p_filesz);
  });
  copy_head(g_thread.thread_pointer());
  return ThreadStart::kStarted;
}

pid_t running_tid() { return __atomic_load_n(&g_thread.tid, __ATOMIC_ACQUIRE); }

int run(void *) {
  *__ctype_b_loc() = g_thread.classes;
  *__ctype_tolower_loc() = g_thread.lower;
  *__ctype_toupper_loc() = g_thread.upper;
  g_thread.body();
  return 0; // clone(2)'s wrapper then ends this thread, not the process
}

} // namespace

ThreadStart start_bare_thread(void (*body)()) {
  KeepErrno keep;
  if (const ThreadStart ready = prepare(); ready != ThreadStart::kStarted)
    return ready;
  if (running_tid() != 0)
    return ThreadStart::kBusy;
  g_thread.process = getpid();
  g_thread.body = body;
  g_thread.classes = *__ctype_b_loc();
  g_thread.lower = *__ctype_tolower_loc();
  g_thread.upper = *__ctype_toupper_loc();
  // The flags of pthread_create, which the filters of containers expect.
  const int started =
      clone(run, g_thread.stack_end(),
            CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
            nullptr, &g_thread.tid, g_thread.thread_pointer(), &g_thread.tid);
  if (started == -1)
    return ThreadStart::kFailed;
  __atomic_store_n(&g_thread.last_tid, started, __ATOMIC_RELAXED);
  return ThreadStart::kStarted;
}

bool is_bare_thread() {
  return g_thread.memory && own_thread_pointer() == g_thread.thread_pointer();
}

bool bare_thread_has_ended() {
  // A child of vfork or of a direct system call sees the record of its parent's thread.
  return running_tid() == 0 || g_thread.process != getpid();
}

/// True once the kernel no longer counts the ended thread. It clears the thread's number a moment
/// before, and until then refuses unshare(CLONE_NEWUSER).
static bool is_released() {
  const pid_t tid = __atomic_load_n(&g_thread.last_tid, __ATOMIC_RELAXED);
  if (tid != 0 && syscall(SYS_tgkill, getpid(), tid, 0) == 0)
    return false;
  __atomic_store_n(&g_thread.last_tid, 0, __ATOMIC_RELAXED);
  return true;
}

bool wait_for_bare_thread(long ns) {
  KeepErrno keep;
  timespec from;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (;;) {
    const pid_t tid = running_tid();
    if (g_thread.process != getpid() || (tid == 0 && is_released()))
      return true;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long left = ns - ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec);
    if (left <= 0)
      return false;
    constexpr long kReleaseNs = 20000;
    if (tid == 0) {
      sleep_ns(kReleaseNs);
      continue;
    }
    constexpr long kStep = 1000000; // the wake-up is lost if another waiter takes it
    const timespec pause = {0, left < kStep ? left : kStep};
    syscall(SYS_futex, &g_thread.tid, FUTEX_WAIT, tid, &pause, nullptr, 0);
  }
}

void forget_bare_thread() { g_thread = BareThread{}; }

#else
ThreadStart start_bare_thread(void (*)()) { return ThreadStart::kRefused; }
bool is_bare_thread() { return false; }
bool bare_thread_has_ended() { return true; }
bool wait_for_bare_thread(long) { return true; }
void forget_bare_thread() {}
#endif

} // namespace smalloc
