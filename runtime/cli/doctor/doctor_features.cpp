// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_features.cpp tries abilities of the kernel, each with one call on its own memory. A call
// that would change this process runs in a child. Versions are not compared: distributions backport
// features to old kernels, and containers forbid them on new ones.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/errors/diagnostics.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

// The running kernel may be newer than the headers of the build.
constexpr int kPopulateWrite = 23, kExceptAdvised = 1 << 1, kUserModeOnly = 1;

struct ScanArguments { // struct pm_scan_arg of linux/fs.h, 6.7
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

// Maps and touches its own pages; unmaps them at the end.
class Pages {
public:
  explicit Pages(size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ != MAP_FAILED)
      std::memset(data_, 1, bytes);
  }
  ~Pages() {
    if (data_ != MAP_FAILED)
      munmap(data_, bytes_);
  }
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;
  void *data() const { return data_; }
  size_t size() const { return bytes_; }

private:
  size_t bytes_;
  void *data_;
};

int result_of(long value) { return value < 0 ? errno : 0; }

int try_populate() {
  Pages pages(static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return result_of(madvise(pages.data(), pages.size(), kPopulateWrite));
}

int try_pagemap_scan() {
  Pages pages(static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0)
    return errno;
  uint64_t regions[3] = {};
  ScanArguments arguments = {};
  arguments.size = sizeof arguments;
  arguments.start = reinterpret_cast<uintptr_t>(pages.data());
  arguments.end = arguments.start + pages.size();
  arguments.vec = reinterpret_cast<uintptr_t>(regions);
  arguments.vec_len = 1;
  arguments.category_anyof_mask = arguments.return_mask = 1 << 3; // PAGE_IS_PRESENT
  const int error = result_of(ioctl(map, _IOWR('f', 16, ScanArguments), &arguments));
  close(map);
  return error;
}

int try_userfaultfd() {
#ifdef SYS_userfaultfd
  const long fd = syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly);
  if (fd < 0)
    return errno;
  close(static_cast<int>(fd));
  return 0;
#else
  return ENOSYS;
#endif
}

int try_move_pages() {
  Pages pages(static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  void *list[1] = {pages.data()};
  int status[1] = {0}; // without nodes, the call only asks where the page is
  return result_of(syscall(SYS_move_pages, 0, 1ul, list, nullptr, status, 0));
}

int disable_thp(int flags) { return result_of(prctl(PR_SET_THP_DISABLE, 1, flags, 0, 0)); }

// Runs `attempt` in a child, because the setting applies to the process and is inherited.
int in_child(int (*attempt)()) {
  const pid_t child = fork();
  if (child == 0)
    _exit(attempt() & 0x7f);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

struct Feature {
  const char *name, *works, *lost;
  int (*attempt)();
  bool child;
};
constexpr Feature kFeatures[] = {
    {"feature-populate", "MADV_POPULATE_WRITE", "hugetlb pages cannot be tried without a signal",
     try_populate, false},
    {"feature-pagemap-scan", "PAGEMAP_SCAN", "resident pages are counted one by one",
     try_pagemap_scan, false},
    {"feature-userfaultfd", "userfaultfd for user mode",
     "writers cannot be held while pages of a pool are moved", try_userfaultfd, false},
    {"feature-move-pages", "move_pages", "pages cannot be moved between NUMA nodes", try_move_pages,
     false},
    {"feature-thp-disable", "PR_SET_THP_DISABLE", "smalloc study cannot force base pages",
     [] { return disable_thp(0); }, true},
    {"feature-thp-except-advised", "PR_THP_DISABLE_EXCEPT_ADVISED",
     "under THP=always, freed units are moved instead of kept off superpages",
     [] { return disable_thp(kExceptAdvised); }, true},
};

} // namespace

void check_features(const SystemView &system, Checks &checks) {
  if (!system.real())
    return;
  for (const Feature &feature : kFeatures) {
    const int error = feature.child ? in_child(feature.attempt) : feature.attempt();
    checks.push_back(
        {feature.name, error ? Verdict::kWarn : Verdict::kOk, error == 0,
         error ? fmt::format("{}: {}; {}", feature.works, error_text(error), feature.lost)
               : fmt::format("{} works", feature.works),
         ""});
  }
}

} // namespace smalloc::cli
