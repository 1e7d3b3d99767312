// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// budget.cpp reads the numbers of budget.h from files. The footprint comes from /proc/self/statm,
// the pool's size from nr_hugepages. The limit comes from the memory cgroup (v2, or v1) with the
// tightest limit on the way up to the root. Memory that the cgroup could drop at once (inactive
// file pages) counts as room.
#include "smalloc/pages/budget.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/text.h"
#include "smalloc/process/process_memory.h"

#include <initializer_list>

namespace smalloc {
namespace {

/// Returns the number after `name` and a space at the start of a line; 0 if no line has it.
uint64_t field(const char *text, const char *name) {
  size_t n = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, n) != 0 || line[n] != ' ')
      continue;
    line += n + 1;
    return take_number(line);
  }
  return 0;
}

template <size_t kCapacity> bool store(char (&to)[kCapacity], const TextBuffer<512> &path) {
  if (path.size() >= kCapacity)
    return false;
  memcpy(to, path.data(), path.size());
  to[path.size()] = 0;
  return true;
}

} // namespace

uint64_t Budget::pool_share(const OsHooks &os, const char *sysfs, bool gigantic, unsigned percent) {
  uint64_t units = 0;
  for (const size_t page : {kSuperpageBytes, size_t{1} << kGiganticShift}) {
    if (page != kSuperpageBytes && !gigantic)
      continue;
    TextBuffer<512> path;
    path.put(sysfs).put("/kernel/mm/hugepages/hugepages-").number(page / 1024);
    path.put("kB/nr_hugepages").put_char('\0');
    units += number_in_file(os, path.data(), 0) * (page / kSuperpageBytes);
  }
  return units == 0 ? 0 : max_of<uint64_t>(units * percent / 100, 1);
}

void Budget::init(const OsHooks &os, const Config &config) {
  os_ = &os;
  units_ = config.bytes ? max_of<uint64_t>(config.bytes / kSuperpageBytes, 1) : kNone;
  percent_ = config.percent;
  pool_units_ = percent_ ? config.pool_units : 0;
  TextBuffer<512> statm;
  store(statm_, statm.put(config.procfs).put("/self/statm"));
  find_cgroup(config);
}

/// Records the cgroup at `folder` and returns true if its limit is tighter than the tightest found
/// so far.
bool Budget::try_cgroup(const char *folder, size_t folder_size, bool old) {
  static char path[512]; // static for the reason given in find_cgroup
  Text at(folder, folder_size);
  const auto file = [&](const char *name) { return TextBuffer<512>().put(at).put(name); };
  const char *limit = old ? "/memory.limit_in_bytes" : "/memory.max";
  constexpr size_t kLongestName = sizeof "/memory.limit_in_bytes";
  static_assert(sizeof usage_file_ == sizeof stat_file_ && sizeof stat_file_ == sizeof limit_file_);
  // All three paths or none: the limit of one group beside the usage of another would be wrong.
  if (folder_size + kLongestName > sizeof usage_file_ || !store(path, file(limit)))
    return false;
  uint64_t bytes = number_in_file(*os_, path, kNone); // "max" is no number: the fallback applies
  constexpr uint64_t kUnlimited = uint64_t{1} << 60;  // v1 writes a huge number
  if (bytes >= kUnlimited || bytes >= cgroup_limit_)
    return false;
  if (!store(usage_file_, file(old ? "/memory.usage_in_bytes" : "/memory.current")) ||
      !store(stat_file_, file("/memory.stat")) || !store(limit_file_, file(limit)))
    return false;
  cgroup_limit_ = bytes;
  return true;
}

void Budget::find_cgroup(const Config &config) {
  TextBuffer<512> name;
  // Not on the stack, which may be a signal handler's. Starts run one at a time.
  static char path[512], text[4096];
  if (!store(path, name.put(config.procfs).put("/self/cgroup")) ||
      os_->read_file(path, text, sizeof text) <= 0)
    return;
  // "0::/a/b" (v2), "4:memory:/a/b" (v1)
  for (const char *line = text; *line;) {
    const char *end = strchr(line, '\n');
    size_t size = end ? static_cast<size_t>(end - line) : strlen(line);
    const char *first = static_cast<const char *>(memchr(line, ':', size));
    const char *second = first ? static_cast<const char *>(memchr(
                                     first + 1, ':', size - static_cast<size_t>(first + 1 - line)))
                               : nullptr;
    if (second) {
      Text controllers(first + 1, static_cast<size_t>(second - first - 1));
      Text group(second + 1, size - static_cast<size_t>(second + 1 - line));
      bool old = controllers.is("memory");
      if (old || controllers.size == 0) {
        TextBuffer<512> folder;
        folder.put(config.sysfs).put(old ? "/fs/cgroup/memory" : "/fs/cgroup");
        size_t root = folder.size();
        if (!group.is("/"))
          folder.put(group);
        for (size_t n = folder.size();; n--) { // up to the root
          if (n == folder.size() || folder.data()[n] == '/')
            try_cgroup(folder.data(), n, old);
          if (n == root)
            break;
        }
      }
    }
    line += size + (end ? 1 : 0);
  }
}

uint64_t Budget::cgroup_room() const {
  if (limit_file_[0] == 0)
    return kNone;
  uint64_t limit = number_in_file(*os_, limit_file_, kNone); // the administrator may change it
                                                             // while the program runs
  uint64_t used = number_in_file(*os_, usage_file_, 0);
  // Small enough for any thread's stack: the wanted fields are within the first 900 bytes (v2) or
  // 1600 bytes (v1).
  char stat[2048];
  if (os_->read_file(stat_file_, stat, sizeof stat) > 0) {
    uint64_t droppable = max_of(field(stat, "inactive_file"), field(stat, "total_inactive_file"));
    used -= min_of(used, droppable);
  }
  return limit > used ? limit - used : 0;
}

uint64_t Budget::most_bytes(uint64_t bytes, unsigned percent) {
  if (bytes || !percent)
    return bytes ? bytes : kNone;
  return system_memory_bytes() / 100 * percent;
}

uint64_t Budget::superpages_left(uint64_t charged) const {
  const uint64_t room = cgroup_room();
  const uint64_t most =
      percent_ ? min_of(units_, most_bytes(0, percent_) / kSuperpageBytes + pool_units_) : units_;
  return min_of(most - min_of(most, charged), room == kNone ? kNone : room / kSuperpageBytes);
}

uint64_t Budget::resident_bytes() const {
  char text[128];
  if (os_->read_file(statm_, text, sizeof text) <= 0)
    return 0;
  const char *second = strchr(text, ' ');
  return second ? take_number(++second) * kBasePageBytes : 0;
}

Budget::Answer Budget::allows(uint64_t wanted, uint64_t added, bool fresh) {
  if (wanted > units_)
    return Answer::kOverBudget;
  if (percent_) {
    // The resident pages of statm do not include pool pages.
    const uint64_t others = (wanted - min_of(wanted, pool_units_)) * kSuperpageBytes;
    uint64_t footprint = resident_bytes() + (fresh ? added * kSuperpageBytes : 0);
    // Superpages that were charged and are not touched yet are not resident.
    footprint = max_of(footprint, others);
    if (others * 100 > footprint * percent_)
      return Answer::kOverBudget;
  }
  // A promotion needs one more superpage for a moment; new memory needs all of them.
  if (limit_file_[0] && cgroup_room() < (fresh ? added : 1) * kSuperpageBytes)
    return Answer::kCgroupFull;
  return Answer::kYes;
}

} // namespace smalloc
