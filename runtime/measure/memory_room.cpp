// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_room.cpp reads free memory and the limits of cgroup v2 and v1, including those of
// ancestors.
#include "runtime/measure/memory_room.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <sys/resource.h>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// True if the list of controllers has this one; none: version 2.
bool has(std::string_view controllers, std::string_view controller) {
  if (controller.empty())
    return controllers.empty();
  return ("," + std::string(controllers) + ",").find("," + std::string(controller) + ",") !=
         std::string::npos;
}

// Returns the least room of the folders below `root`.
uint64_t least_room(const std::string &root, const std::vector<std::string> &folders,
                    const char *limit_name, const char *used_name) {
  uint64_t room = kNoLimit;
  for (const std::string &folder : folders) {
    const uint64_t limit = number_in(root + folder + limit_name, kNoLimit);
    if (limit >> 60 == 0) // v1 writes "no limit" as the largest multiple of a page
      room = std::min(room, limit - std::min(limit, number_in(root + folder + used_name, 0)));
  }
  return room;
}

uint64_t cgroup_room(const std::string &root) {
  std::ifstream file(root + "/proc/self/cgroup");
  const std::string membership(std::istreambuf_iterator<char>(file), {});
  return std::min(
      least_room(root, cgroup_folders(membership, ""), "/memory.max", "/memory.current"),
      least_room(root, cgroup_folders(membership, "memory"), "/memory.limit_in_bytes",
                 "/memory.usage_in_bytes"));
}

} // namespace

std::vector<std::string> cgroup_folders(std::string_view membership, std::string_view controller) {
  std::vector<std::string> folders;
  while (!membership.empty()) {
    const size_t end = std::min(membership.find('\n'), membership.size());
    const std::string_view line = membership.substr(0, end);
    membership.remove_prefix(std::min(end + 1, membership.size()));
    // For example "9:memory,hugetlb:/user.slice". Controllers that are mounted together have a link
    // of each one's name to their folder.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos ||
        !has(line.substr(first + 1, second - first - 1), controller))
      continue;
    std::string path(line.substr(second + 1));
    // In a cgroup namespace the path may lead out of the mounted tree ("/../..").
    if (path == "/" || !path.starts_with('/') || path.find("..") != std::string::npos)
      path.clear();
    std::string top = "/sys/fs/cgroup";
    if (!controller.empty())
      top += "/" + std::string(controller);
    for (;; path.resize(std::min(path.rfind('/'), path.size()))) {
      folders.push_back(top + path);
      if (path.empty())
        return folders;
    }
  }
  return folders;
}

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
