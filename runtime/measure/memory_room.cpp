// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_room.cpp reads free memory and the limits of cgroup v2 and v1, including those of
// ancestors.
#include "runtime/measure/memory_room.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <limits>

#include <sys/resource.h>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// Returns the least room of `path` and its ancestors, up to `top`. In a container only the host may
// have the path; then the mounted top is the cgroup of this process.
uint64_t least_room(const std::string &top, std::string path, const char *limit_name,
                    const char *used_name) {
  if (path.find("..") != std::string::npos)
    path.clear();
  uint64_t room = kNoLimit;
  for (;; path.resize(std::min(path.rfind('/'), path.size()))) {
    const std::string folder = top + (path == "/" ? "" : path) + "/";
    const uint64_t limit = number_in(folder + limit_name, kNoLimit);
    if (limit >> 60 == 0) // v1 writes "no limit" as the largest multiple of a page
      room = std::min(room, limit - std::min(limit, number_in(folder + used_name, 0)));
    if (path.empty() || path == "/")
      return room;
  }
}

uint64_t cgroup_room(const std::string &root) {
  uint64_t room = kNoLimit;
  std::ifstream membership(root + "/proc/self/cgroup");
  for (std::string line; std::getline(membership, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      room =
          std::min(room, least_room(root + "/sys/fs/cgroup", path, "memory.max", "memory.current"));
    else if (controllers.find(",memory,") != std::string::npos)
      room = std::min(room, least_room(root + "/sys/fs/cgroup/memory", path,
                                       "memory.limit_in_bytes", "memory.usage_in_bytes"));
  }
  return room;
}

} // namespace

uint64_t number_in(const std::string &path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : otherwise;
}

uint64_t available_bytes(const std::string &root) {
  std::ifstream info(root + "/proc/meminfo");
  uint64_t available = 0;
  for (std::string line; std::getline(info, line);)
    if (std::sscanf(line.c_str(), "MemAvailable: %" SCNu64 " kB", &available) == 1)
      break;
  available <<= 10;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    available = std::min<uint64_t>(available, limit.rlim_cur / 2);
  return std::min(available, cgroup_room(root));
}

} // namespace smalloc::calibrate
