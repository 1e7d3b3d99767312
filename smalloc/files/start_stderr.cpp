// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/files/start_stderr.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/files/quiet_file.h"

#include <atomic>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
namespace {

enum class Seen : unsigned char { kNotYet, kFile, kClosed };
std::atomic<Seen> g_seen{Seen::kNotYet};
struct stat g_file;

/// True if descriptor 2 refers to the same file as at the process' start.
bool is_start_stderr() {
  struct stat now;
  return g_seen.load(std::memory_order_acquire) == Seen::kFile && fstat(STDERR_FILENO, &now) == 0 &&
         now.st_dev == g_file.st_dev && now.st_ino == g_file.st_ino &&
         now.st_rdev == g_file.st_rdev;
}

} // namespace

void remember_start_stderr() {
  if (g_seen.load(std::memory_order_relaxed) != Seen::kNotYet)
    return;
  KeepErrno keep;
  const bool open = fstat(STDERR_FILENO, &g_file) == 0;
  g_seen.store(open ? Seen::kFile : Seen::kClosed, std::memory_order_release);
}

void write_to_start_stderr(const char *text, size_t bytes) {
  KeepErrno keep;
  remember_start_stderr();
  if (is_start_stderr())
    write_all_quietly(STDERR_FILENO, text, bytes);
}

} // namespace smalloc
