// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_process.cpp finds the statistics page: first among the process' own descriptors. If the
// process has closed them, it looks in its mappings, which only the superuser may open.
#include "runtime/cli/process/live_process.h"

#include "runtime/cli/system_view.h"
#include "runtime/errors/diagnostics.h"
#include "smalloc/live.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

constexpr size_t kMostNameBytes = 4096;

class PageReader {
public:
  explicit PageReader(const std::vector<unsigned char> &bytes) : bytes_(bytes) {}

  template <class T> bool read(uint64_t offset, T &value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value)
      return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }
  // Returns the string at `offset`; "" if it does not end inside the page.
  std::string string(const smalloc_live_header &h, uint32_t offset) const {
    const uint64_t at = uint64_t{h.strings} + offset;
    if (offset == 0 || at >= bytes_.size())
      return {};
    const auto *from = bytes_.data() + at;
    const auto *end = static_cast<const unsigned char *>(
        std::memchr(from, 0, std::min(bytes_.size() - at, kMostNameBytes)));
    return end ? std::string(from, end) : std::string();
  }

private:
  const std::vector<unsigned char> &bytes_;
};

std::string text_of(const std::string &path) { return SystemView().read(path).value_or(""); }

// Copies at most the size of a page. Only a regular file, since a process may put anything under a
// name.
std::vector<unsigned char> copy_of(const std::string &path) {
  std::vector<unsigned char> bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    bytes.resize(SMALLOC_LIVE_BYTES);
    const ssize_t got = pread(fd, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  }
  if (fd >= 0)
    close(fd);
  return bytes;
}

bool names_a_page(const std::string &link) {
  char target[64];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  constexpr std::string_view wanted = "/memfd:" SMALLOC_LIVE_NAME;
  return size >= static_cast<ssize_t>(wanted.size()) &&
         std::string_view(target, wanted.size()) == wanted;
}

std::vector<std::string> entries(const std::string &folder, int &error) {
  std::vector<std::string> names;
  error = 0;
  DIR *dir = opendir(folder.c_str());
  if (!dir) {
    error = errno;
    return names;
  }
  while (const dirent *entry = readdir(dir))
    if (entry->d_name[0] != '.')
      names.push_back(folder + "/" + entry->d_name);
  closedir(dir);
  return names;
}

// Returns the process' number in its own namespace: the last of "NSpid: 4711 1".
uint32_t pid_inside(int pid) {
  const std::string status = text_of(fmt::format("/proc/{}/status", pid));
  const size_t line = status.find("\nNSpid:");
  if (line == std::string::npos)
    return static_cast<uint32_t>(pid);
  const size_t end = std::min(status.find('\n', line + 1), status.size());
  const size_t number = status.find_last_of(" \t", end - 1);
  uint32_t result = static_cast<uint32_t>(pid);
  if (number != std::string::npos && number > line)
    std::from_chars(status.data() + number + 1, status.data() + end, result);
  return result;
}

[[noreturn]] void say_why_not(int pid, int error) {
  const std::string which = fmt::format("process {}", pid);
  if (has_ended(pid))
    throw Failure{"cannot show statistics", which, "there is no such process", "pgrep -l app",
                  kFailed};
  if (error == EACCES || error == EPERM)
    throw Failure{"cannot show statistics", which,
                  "it belongs to another user, or must not be traced",
                  fmt::format("sudo smalloc stats {}", pid), kFailed};
  const bool loaded =
      text_of(fmt::format("/proc/{}/maps", pid)).find("/libsmalloc") != std::string::npos;
  if (loaded)
    throw Failure{"cannot show statistics", which,
                  "its superpage heaps have not started: nothing has asked for superpages yet "
                  "(or it runs with stats:off, or has closed the descriptor of its statistics)",
                  fmt::format("smalloc sites /proc/{}/exe", pid), kFailed};
  throw Failure{"cannot show statistics", which, "it runs without libsmalloc",
                "smalloc run -- COMMAND", kFailed};
}

} // namespace

std::optional<LiveView> parse_live_page(const std::vector<unsigned char> &bytes, std::string &why) {
  const PageReader page(bytes);
  smalloc_live_header h;
  if (!page.read(0, h) || h.magic != SMALLOC_LIVE_MAGIC) {
    why = "it is no statistics page";
    return std::nullopt;
  }
  if (h.version != SMALLOC_LIVE_VERSION || h.bytes < sizeof h) {
    why = fmt::format("its version is {}, and this command reads version {}", h.version,
                      SMALLOC_LIVE_VERSION);
    return std::nullopt;
  }
  LiveView view;
  view.pid_inside = h.pid;
  view.started_ns = h.started_ns;
  view.sample_bytes = h.sample_bytes;
  view.strategy = h.strategy;
  view.policy = h.policy;
  view.bar_thousandths = h.bar_thousandths;
  view.phases = h.agent_phases;
  view.superpages_supply = h.agent_supply;
  view.superpages_claimed = h.agent_claimed;
  view.superpages_taken = h.agent_used;
  view.tracking = h.tracking;
  view.machine = page.string(h, h.machine);
  view.thp = page.string(h, h.thp);
  view.library_version = page.string(h, h.version_text);
  for (uint32_t i = 0; i < std::min(h.heap_count, SMALLOC_LIVE_HEAPS); i++) {
    smalloc_live_heap heap;
    if (page.read(uint64_t{h.heaps} + i * sizeof heap, heap))
      view.heaps.push_back({page.string(h, heap.name), heap.start, heap.end, {}, {}});
  }
  for (uint32_t i = 0; i < std::min(h.counter_count, SMALLOC_LIVE_COUNTERS); i++) {
    uint32_t name;
    uint64_t value;
    if (page.read(uint64_t{h.counter_names} + i * sizeof name, name) &&
        page.read(uint64_t{h.counters} + i * sizeof value, value))
      view.counters.emplace_back(page.string(h, name), value);
  }
  for (uint32_t i = 0; i < std::min(h.site_count, SMALLOC_LIVE_SITES); i++) {
    smalloc_live_site site;
    if (!page.read(uint64_t{h.sites} + i * sizeof site, site) ||
        (site.requested_bytes == 0 && site.peak_bytes == 0))
      continue;
    view.sites.push_back({site.id, page.string(h, site.function), page.string(h, site.file),
                          site.line, site.small_seen != 0, site.requested_bytes, site.live_bytes,
                          site.peak_bytes, site.live_objects, site.superpages, site.superpages_peak,
                          site.agent, site.superpages_predicted,
                          site.page_shift < 64 ? site.page_shift : 0});
  }
  std::stable_sort(view.sites.begin(), view.sites.end(), [](const auto &a, const auto &b) {
    return a.peak_bytes != b.peak_bytes ? a.peak_bytes > b.peak_bytes
                                        : a.requested_bytes > b.requested_bytes;
  });
  return view;
}

void add_kernel_view(LiveView &view, const std::string &smaps) {
  if (smaps.empty())
    return;
  for (LiveHeap &heap : view.heaps)
    heap.resident_bytes = heap.superpage_bytes = 0;
  LiveHeap *current = nullptr;
  std::istringstream lines(smaps);
  for (std::string line; std::getline(lines, line);) {
    uint64_t start = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), start, 16);
    if (error == std::errc() && end != line.data() + line.size() && *end == '-') {
      const auto found = std::find_if(view.heaps.begin(), view.heaps.end(), [&](const LiveHeap &h) {
        return start >= h.start && start < h.end;
      });
      current = found == view.heaps.end() ? nullptr : &*found;
      view.mappings_all++;
      view.mappings_of_heaps += current != nullptr;
      continue;
    }
    const size_t colon = line.find(':');
    if (!current || colon == std::string::npos)
      continue;
    const std::string key = line.substr(0, colon);
    const bool hugetlb = key == "Private_Hugetlb" || key == "Shared_Hugetlb"; // not part of Rss
    const bool resident = hugetlb || key == "Rss", superpages = hugetlb || key == "AnonHugePages";
    if (!resident && !superpages)
      continue;
    uint64_t kib = 0;
    const size_t number = line.find_first_not_of(' ', colon + 1);
    if (number != std::string::npos)
      std::from_chars(line.data() + number, line.data() + line.size(), kib);
    if (resident)
      *current->resident_bytes += kib * 1024;
    if (superpages)
      *current->superpage_bytes += kib * 1024;
  }
}

LiveView look_into(int pid) {
  int error = 0;
  const uint32_t inside = pid_inside(pid);
  std::string why;
  for (const char *folder : {"fd", "map_files"}) {
    int here = 0;
    for (const std::string &link : entries(fmt::format("/proc/{}/{}", pid, folder), here)) {
      if (!names_a_page(link))
        continue;
      const std::vector<unsigned char> bytes = copy_of(link);
      if (bytes.empty())
        continue; // not allowed, or ended meanwhile
      auto view = parse_live_page(bytes, why);
      // A page with another number was inherited; its counters are those of the parent.
      if (view && view->pid_inside == inside) {
        add_kernel_view(*view, text_of(fmt::format("/proc/{}/smaps", pid)));
        return *view;
      }
    }
    error = error ? error : here;
  }
  if (!why.empty())
    throw Failure{"cannot show statistics", fmt::format("process {}", pid), why,
                  "use the smalloc command of the same installation", kFailed};
  say_why_not(pid, error);
}

bool has_ended(int pid) {
  struct stat info;
  if (stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0)
    return true;
  const std::string status = text_of(fmt::format("/proc/{}/status", pid));
  return status.find("\nState:\tZ") != std::string::npos;
}

std::string program_name(int pid) {
  const std::string name = text_of(fmt::format("/proc/{}/comm", pid));
  return name.empty() ? "?" : name;
}

} // namespace smalloc::cli
