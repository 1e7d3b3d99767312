// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stats_exit.cpp distinguishes the user's own process from its children. The parent of a child has
// the same settings in its start environment, and prints statistics itself.
#include "smalloc/stats/stats_exit.h"
#include "smalloc/base/file_name.h"
#include "smalloc/core/runtime.h"
#include "smalloc/files/high_descriptor.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/files/uncancelled.h"
#include "smalloc/process/process_identity.h"
#include "smalloc/stats/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// Bytes in small objects below which a child does not print: short commands of a script and its
/// subshells have less.
constexpr uint64_t kLeastSmallBytes = uint64_t{4} << 20;

int g_kept_stderr = -1;
struct stat g_kept_file; ///< the file of g_kept_stderr
bool g_forked;
/// Counts that grow with any use of the heaps.
struct Work {
  uint64_t big, small;
};
Work g_work_at_fork;

Work work() {
  const Counters &c = g_live.counters();
  return {c.big_objects.get() + c.promotions.get() + c.moves.get() + c.freezes.get(),
          c.small_bytes_peak.get() + c.class_bytes_peak.get() + c.node_bytes_peak.get()};
}

/// True if the parent has the same SMALLOC_CONF and a library of smalloc, linked or preloaded.
bool parent_reports_too() {
  const char *conf = getenv("SMALLOC_CONF");
  return conf && parent_has_seen("SMALLOC_CONF", conf, "libsmalloc");
}

bool has_file_of_its_own(const Options &o) {
  for (const char *p = o.stats_file; *p; p++)
    if (*p == '%' && *++p != 0 && *p == 'p')
      return true;
    else if (*p == 0)
      break;
  return false;
}

/// True if this process has to print. If several processes write to one place, a child prints only
/// about superpages or much memory.
bool has_something_to_say(const Options &o) {
  if (!g_runtime.running())
    return !g_forked && !parent_reports_too();
  const Work now = work(), before = g_forked ? g_work_at_fork : Work{};
  if (has_file_of_its_own(o))
    return !g_forked || now.big != before.big || now.small != before.small;
  if (now.big != before.big || now.small - before.small >= kLeastSmallBytes)
    return true;
  return !g_forked && !parent_reports_too();
}

void warn_of_file(const Options &o, int error, const char *consequence) {
  char name[512];
  expand_file_name(o.stats_file, name, sizeof name);
  TextBuffer<640> text;
  text.put("SMALLOC_CONF: stats_file: cannot write ").put(name).put(" (");
  text.put(strerror(error)).put("); ").put(consequence);
  g_runtime.warn(text.text());
}

struct Destination {
  int fd;
  int error; ///< of the first failed write
};

/// Returns the kept descriptor, or -1. The program may have closed all unknown descriptors and
/// opened files of its own under their numbers.
int kept_stderr() {
  struct stat now;
  return g_kept_stderr >= 0 && fstat(g_kept_stderr, &now) == 0 &&
                 now.st_dev == g_kept_file.st_dev && now.st_ino == g_kept_file.st_ino &&
                 now.st_rdev == g_kept_file.st_rdev
             ? g_kept_stderr
             : -1;
}

int open_destination(const Options &o) {
  if (!*o.stats_file)
    return kept_stderr();
  char name[512];
  expand_file_name(o.stats_file, name, sizeof name);
  int fd = uncancelled::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
  if (fd >= 0)
    return fd;
  warn_of_file(o, errno, "statistics go to standard error");
  return kept_stderr();
}

void write_all(const char *text, size_t bytes, void *data) {
  auto &to = *static_cast<Destination *>(data);
  if (!to.error)
    to.error = write_all_quietly(to.fd, text, bytes);
}

} // namespace

static void begin_in_fork_child() {
  g_forked = true;
  // The child's peaks begin with its own life.
  Counters &c = g_live.counters();
  c.small_bytes_peak.set(c.small_bytes_now.get());
  c.class_bytes_peak.set(c.class_bytes_now.get());
  c.node_bytes_peak.set(c.node_bytes_now.get());
  g_work_at_fork = work();
}

void statistics_begin() {
  g_runtime.on_fork_in_child(begin_in_fork_child);
  if (!g_runtime.options().stats_at_exit)
    return;
  int saved = errno;
  g_kept_stderr = duplicate_high(STDERR_FILENO);
  if (g_kept_stderr < 0) // the limit of descriptors is reached
    g_kept_stderr = STDERR_FILENO;
  if (fstat(g_kept_stderr, &g_kept_file) != 0)
    g_kept_stderr = -1;
  errno = saved;
}

void statistics_end() {
  const Options &o = g_runtime.options();
  if (!o.stats_at_exit || !has_something_to_say(o))
    return;
  int saved = errno;
  Destination to = {open_destination(o), 0};
  if (to.fd >= 0) {
    StatisticsSink sink = {write_all, &to};
    if (o.stats_json)
      print_statistics_json(sink);
    else
      print_statistics(sink);
    if (o.stats_jemalloc)
      print_jemalloc_statistics(sink, o.stats_json ? "J" : nullptr);
    if (to.fd != g_kept_stderr) {
      uncancelled::close(to.fd);
      if (to.error)
        warn_of_file(o, to.error, "statistics are not complete");
    }
  }
  errno = saved;
}

} // namespace smalloc
