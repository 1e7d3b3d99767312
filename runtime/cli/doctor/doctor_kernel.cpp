// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_kernel.cpp checks which superpages this kernel can give now, by its settings and by
// trials.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/cli/free_memory.h"
#include "runtime/cli/sites/site_report.h"

#include "runtime/errors/diagnostics.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

namespace smalloc::cli {
namespace {

constexpr size_t kSuperpage = size_t{2} << 20;
const std::string kThp = "/sys/kernel/mm/transparent_hugepage/";

// True if SMALLOC_CONF of the environment asks for pages of that pool.
bool wants_pool(uint64_t page_bytes) {
  const char *conf = std::getenv("SMALLOC_CONF");
  const std::string items = conf ? "," + std::string(conf) + "," : "";
  return items.find(page_bytes == kSuperpage ? ",pages:hugetlb," : ",pages:1g,") !=
         std::string::npos;
}

void check_thp(const SystemView &system, Checks &checks) {
  const std::string mode = thp_mode(system);
  if (mode == "absent") {
    checks.push_back({"thp", Verdict::kFail, mode, "this kernel has no transparent huge pages",
                      "sysctl -w vm.nr_hugepages=512 # then: smalloc run --pages hugetlb"});
    return;
  }
  if (mode == "never")
    checks.push_back({"thp", Verdict::kFail, mode,
                      "transparent huge pages are switched off (never)",
                      "echo madvise > " + kThp + "enabled"});
  else
    checks.push_back(
        {"thp", Verdict::kOk, mode, fmt::format("transparent huge pages: {}", mode), ""});

  const std::string defrag = system.read_choice(kThp + "defrag").value_or("");
  if (defrag == "never")
    checks.push_back({"thp-defrag", Verdict::kWarn, defrag,
                      "defrag is never: a superpage is given only when one happens to be free",
                      "echo madvise > " + kThp + "defrag"});
  else if (!defrag.empty())
    checks.push_back(
        {"thp-defrag", Verdict::kOk, defrag, fmt::format("defrag on fault: {}", defrag), ""});

  if (const auto none = system.read_number(kThp + "khugepaged/max_ptes_none")) {
    // If 511 of 512 entries may be empty, khugepaged makes 2 MiB of one touched page. Under madvise
    // it handles only advised memory, and libsmalloc advises only full units.
    const bool bloats = mode == "always" && *none > 64;
    checks.push_back(
        {"khugepaged-max-ptes-none", bloats ? Verdict::kWarn : Verdict::kOk, *none,
         bloats ? fmt::format("khugepaged makes superpages that are empty up to {} of 512 pages",
                              *none)
                : fmt::format("khugepaged max_ptes_none: {}", *none),
         bloats ? "echo 64 > " + kThp + "khugepaged/max_ptes_none" : ""});
  }

  std::string sizes, active;
  for (const std::string &name : system.list(kThp)) {
    if (!name.starts_with("hugepages-") || !name.ends_with("kB"))
      continue;
    const std::string kib = name.substr(10, name.size() - 12);
    if (kib == std::to_string(superpage_bytes(system) >> 10) || kib == "2048")
      continue;
    sizes += (sizes.empty() ? "" : ", ") + kib;
    if (system.read_choice(kThp + name + "/enabled").value_or("never") != "never")
      active += (active.empty() ? "" : ", ") + kib;
  }
  checks.push_back({"mthp", Verdict::kOk, active.empty() ? "never" : active,
                    sizes.empty() ? std::string("no multi-size THP in this kernel")
                    : active.empty()
                        ? fmt::format("multi-size THP: {} KiB, none switched on", sizes)
                        : fmt::format("multi-size THP: {} KiB on, of {}", active, sizes),
                    ""});
}

// Collapses a unit of its own memory: the only proof that promotion works here.
void try_collapse(Checks &checks) {
  void *region =
      mmap(nullptr, 2 * kSuperpage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) {
    checks.push_back({"collapse", Verdict::kFail, nullptr, "cannot map 4 MiB: " + error_text(errno),
                      "ulimit -v unlimited"});
    return;
  }
  auto start = (reinterpret_cast<uintptr_t>(region) + kSuperpage - 1) & ~(kSuperpage - 1);
  std::memset(reinterpret_cast<void *>(start), 1, kSuperpage);
  const auto before = std::chrono::steady_clock::now();
  const int result = madvise(reinterpret_cast<void *>(start), kSuperpage, MADV_COLLAPSE);
  const int error = errno;
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  munmap(region, 2 * kSuperpage);
  if (result == 0)
    checks.push_back({"collapse", Verdict::kOk, ms,
                      fmt::format("MADV_COLLAPSE made a superpage in {:.1f} ms", ms), ""});
  else if (error == EINVAL)
    checks.push_back({"collapse", Verdict::kWarn, nullptr,
                      "MADV_COLLAPSE is refused (Linux before 6.1, or THP disabled for this "
                      "process): no promotion",
                      ""});
  else
    checks.push_back({"collapse", Verdict::kWarn, nullptr,
                      "MADV_COLLAPSE failed: " + error_text(error),
                      "echo 1 > /proc/sys/vm/compact_memory"});
}

// Touches a hugetlb page in a child, because above the cgroup's limit the first touch raises
// SIGBUS.
void try_hugetlb(Checks &checks) {
  const pid_t child = fork();
  if (child == 0) {
    void *page = mmap(nullptr, kSuperpage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
    if (page == MAP_FAILED)
      _exit(errno & 0x7f);
    *static_cast<volatile char *>(page) = 1;
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return;
  const char *cgroup_fix =
      "cat /sys/fs/cgroup$(cut -d: -f3- /proc/self/cgroup)/hugetlb.2MB.max # raise this limit";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    checks.push_back({"hugetlb-permission", Verdict::kOk, true,
                      "a 2 MiB hugetlb page can be mapped and touched", ""});
  else if (WIFSIGNALED(status))
    checks.push_back(
        {"hugetlb-permission", Verdict::kFail, false,
         fmt::format("touching a hugetlb page ends in signal {} (cgroup limit?)", WTERMSIG(status)),
         cgroup_fix});
  else
    checks.push_back({"hugetlb-permission", Verdict::kWarn, false,
                      "mapping a hugetlb page failed: " + error_text(WEXITSTATUS(status)),
                      WEXITSTATUS(status) == EPERM ? "sysctl -w vm.hugetlb_shm_group=$(id -g)"
                                                   : "sysctl -w vm.nr_hugepages=512"});
}

void check_hugetlbfs(const SystemView &system, Checks &checks) {
  std::string mounts, closed;
  std::istringstream table(system.read("/proc/self/mounts").value_or(""));
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string device, folder, type;
    if (fields >> device >> folder >> type && type == "hugetlbfs")
      mounts += (mounts.empty() ? "" : ", ") + folder;
    if (type == "hugetlbfs" && system.real() && access(folder.c_str(), W_OK) != 0)
      closed = folder;
  }
  checks.push_back({"hugetlbfs", Verdict::kOk,
                    mounts.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(mounts),
                    mounts.empty() ? "hugetlbfs is not mounted (anonymous mappings do not need it)"
                    : closed.empty()
                        ? "hugetlbfs: " + mounts
                        : fmt::format("hugetlbfs: {} ({} is not writable for you; anonymous "
                                      "mappings do not need it)",
                                      mounts, closed),
                    ""});
}

void check_libhugetlbfs(Checks &checks) {
  std::string library;
  for (const char *folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib64", "/usr/lib", "/usr/local/lib"})
    for (const std::string &name : SystemView().list(folder))
      if (library.empty() && name.starts_with("libhugetlbfs.so"))
        library = std::string(folder) + "/" + name;
  checks.push_back({"libhugetlbfs", library.empty() ? Verdict::kWarn : Verdict::kOk,
                    !library.empty(),
                    library.empty() ? "libhugetlbfs is not installed (only --pages hugetlb uses it)"
                                    : "libhugetlbfs: " + library,
                    library.empty() ? "apt-get install libhugetlbfs0" : ""});
}

void check_hugetlb(const SystemView &system, Checks &checks) {
  const auto pools = hugetlb_pools(system);
  if (pools.empty())
    checks.push_back({"hugetlb", Verdict::kWarn, 0,
                      "this kernel has no hugetlb pools (only --pages hugetlb needs them)", ""});
  uint64_t usable_2m = 0;
  for (const HugetlbPool &pool : pools) {
    const uint64_t kib = pool.page_bytes >> 10;
    if (pool.page_bytes == kSuperpage)
      usable_2m = pool.available();
    // An empty pool is right for a system that needs none: other programs cannot use its pages.
    const bool warn = pool.available() == 0 && wants_pool(pool.page_bytes);
    const std::string fix =
        pool.page_bytes == kSuperpage
            ? "sysctl -w vm.nr_hugepages=512"
            : fmt::format("echo 4 > /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages", kib);
    std::string remark;
    if (pool.available() == 0)
      remark = warn ? " (SMALLOC_CONF asks for it)" : " (only --pages hugetlb or 1g needs it)";
    checks.push_back({fmt::format("hugetlb-{}k", kib), warn ? Verdict::kWarn : Verdict::kOk,
                      nlohmann::ordered_json{{"free", pool.free},
                                             {"total", pool.total},
                                             {"available", pool.available()}},
                      fmt::format("hugetlb pool of {}: {} of {} free{}",
                                  readable_bytes(pool.page_bytes), pool.free, pool.total, remark),
                      warn ? fix : ""});
  }
  if (system.real() && usable_2m > 0)
    try_hugetlb(checks);
  check_hugetlbfs(system, checks);
  check_libhugetlbfs(checks);
}

// Reports how much free memory can become superpages without moving pages, and how much cannot.
void check_contiguous(const SystemView &system, Checks &checks) {
  const auto memory = free_memory(system);
  if (!memory)
    return;
  const bool few = memory->superpages < 64;
  checks.push_back({"contiguous-memory", few ? Verdict::kWarn : Verdict::kOk, memory->superpages,
                    fmt::format("{} superpages of {} are free in one piece ({})",
                                memory->superpages, readable_bytes(memory->superpage_bytes),
                                readable_bytes(memory->superpages * memory->superpage_bytes)),
                    few ? "echo 1 > /proc/sys/vm/compact_memory" : ""});
  checks.push_back({"memory-in-pieces", Verdict::kOk, memory->bytes_in_pieces,
                    fmt::format("{} are free in smaller pieces, which base pages come out of first",
                                readable_bytes(memory->bytes_in_pieces)),
                    ""});
}

} // namespace

void check_pages(const SystemView &system, Checks &checks) {
  check_thp(system, checks);
  if (system.real() && thp_mode(system) != "absent")
    try_collapse(checks);
  check_hugetlb(system, checks);
  check_contiguous(system, checks);
}

} // namespace smalloc::cli
