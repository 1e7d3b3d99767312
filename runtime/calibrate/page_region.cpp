// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_region.cpp decides what advice a region gets and which files say what became of it.
#include "runtime/calibrate/page_region.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace smalloc::calibrate {
namespace {

// The number in a file of one number; absent or "max" is no limit.
uint64_t number_in(const std::string &path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : otherwise;
}

uint64_t cgroup_room() {
  std::ifstream membership("/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(membership, line);)
    if (line.rfind("0::", 0) == 0)
      path = line.substr(3);
  const std::string folder = "/sys/fs/cgroup" + path;
  const uint64_t limit = number_in(folder + "/memory.max", UINT64_MAX),
                 used = number_in(folder + "/memory.current", 0);
  return limit == UINT64_MAX ? UINT64_MAX : limit - std::min(limit, used);
}

} // namespace

PageRegion::PageRegion(size_t bytes, uint64_t page_bytes) : page_bytes_(page_bytes) {
  const size_t align = std::max<size_t>(page_bytes, base_page_bytes());
  size_ = (bytes + align - 1) / align * align;
  mapped_ = size_ + align;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    return;
  }
  const auto start = (reinterpret_cast<uintptr_t>(mapping_) + align - 1) / align * align;
  data_ = reinterpret_cast<char *>(start);
  // A kernel without superpages refuses the advice; then there is nothing to advise.
  madvise(data_, size_, page_bytes > base_page_bytes() ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

PageRegion::~PageRegion() {
  if (mapping_)
    munmap(mapping_, mapped_);
}

void PageRegion::drop() {
  if (data_)
    madvise(data_, size_, MADV_DONTNEED);
}

uint64_t PageRegion::superpage_bytes() const {
  std::ifstream maps("/proc/self/smaps");
  const auto from = reinterpret_cast<uintptr_t>(data_), to = from + size_;
  uint64_t total = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uint64_t low = 0, high = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &low, &high) == 2)
      inside = low < to && high > from;
    else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %" SCNu64 " kB", &kib) == 1)
      total += kib << 10;
  }
  return total;
}

uint64_t base_page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

uint64_t transparent_superpage_bytes() {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  std::ifstream mode(folder + "enabled");
  std::string text;
  if (!std::getline(mode, text) || text.find("[never]") != std::string::npos)
    return 0;
  return number_in(folder + "hpage_pmd_size", 0);
}

uint64_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  uint64_t available = 0;
  for (std::string line; std::getline(info, line);)
    if (std::sscanf(line.c_str(), "MemAvailable: %" SCNu64 " kB", &available) == 1)
      break;
  available <<= 10;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    available = std::min<uint64_t>(available, limit.rlim_cur / 2);
  return std::min(available, cgroup_room());
}

} // namespace smalloc::calibrate
