// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_report.cpp appends the line only to a safe file: folder and regular file belong to this user,
// no other user may write to them, and neither is a symbolic link. The file has at most
// kMostFileBytes, in case no command ever reads it. The command renames a file before it reads it
// (runtime/database/run_lines.cpp); a shared lock and a second look at the name detect that.
#include "smalloc/agent/run_report.h"
#include "smalloc/base/units.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/files/uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
namespace {

constexpr off_t kMostFileBytes = off_t{16} << 20;
constexpr size_t kEndBytes = 8;

/// Makes every folder on the path. Returns false if it cannot make one.
bool make_folders(char *path) {
  for (char *c = path + 1;; c++) {
    if (*c != '/' && *c != 0)
      continue;
    const char kept = *c;
    *c = 0;
    const bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
    *c = kept;
    if (!there)
      return false;
    if (!kept)
      return true;
  }
}

bool is_ours(const struct stat &info) {
  return info.st_uid == geteuid() && (info.st_mode & 022) == 0;
}

} // namespace

const char *verdict_name(Verdict verdict) {
  static const char *const kNames[] = {"held", "failed", "short", "unused", "not-taken"};
  return kNames[static_cast<unsigned>(verdict)];
}

const char *policy_name(Policy policy) {
  static const char *const kNames[] = {"", "same-input", "other-input", "base"};
  return kNames[static_cast<unsigned>(policy)];
}

Verdict judge(const SiteOutcome &o, Policy policy, bool refused) {
  if (o.decision != DirectiveOutcome::kTaken)
    return Verdict::kNotTaken;
  if (!o.possible)
    return Verdict::kShort;
  const bool medium = o.page_shift == kMediumShift;
  if (medium && o.live_bytes_peak == 0)
    return Verdict::kShort; // small objects only: the program's malloc served them
  if (o.small_objects && !medium)
    return o.heap_on_superpages ? Verdict::kHeld : Verdict::kShort;
  const uint64_t live = o.live_bytes_peak / kSuperpageBytes;
  // Less than a quarter of the prediction: the site is not as profiled.
  if (live < (o.predicted + 3) / 4)
    return o.others_had_it                ? Verdict::kShort
           : policy == Policy::kSameInput ? Verdict::kFailed
                                          : Verdict::kUnused;
  if (medium)
    return refused ? Verdict::kShort : Verdict::kHeld;
  const uint64_t wanted = max_of<uint64_t>(min_of(o.predicted, live), 1);
  if (o.superpages_peak * 2 >= wanted)
    return Verdict::kHeld;
  return refused ? Verdict::kShort : Verdict::kFailed;
}

void RunLine::raw(Text text) {
  const size_t n = min_of(text.size, capacity_ - size_);
  memcpy(data_ + size_, text.data, n);
  size_ += n;
}

void RunLine::number(const char *key, uint64_t value) {
  TextBuffer<96> text;
  raw(text.put(",\"").put(key).put("\":").number(value).text());
}

void RunLine::seconds(const char *key, uint64_t microseconds) {
  TextBuffer<96> text;
  text.put(",\"").put(key).put("\":").number(microseconds / 1000000).put_char('.');
  for (uint64_t digit = 100000; digit; digit /= 10)
    text.put_char(static_cast<char>('0' + microseconds / digit % 10));
  raw(text.text());
}

/// Appends a string of at most 500 bytes. Replaces bytes that are not printable ASCII by '?': names
/// of hosts and paths are for people, and half a UTF-8 character would make the line invalid.
void RunLine::string(const char *key, const char *value) {
  TextBuffer<640> text;
  text.put(",\"").put(key).put("\":\"");
  for (size_t i = 0; value[i] && i < 500; i++) {
    const char c = value[i];
    if (c == '"' || c == '\\')
      text.put_char('\\').put_char(c);
    else
      text.put_char(c >= ' ' && c < 127 ? c : '?');
  }
  raw(text.put("\"").text());
}

void RunLine::begin(const RunReport &r) {
  // Starts a new line: a full disk may have cut the previous one. Readers skip empty lines.
  raw("\n{\"schema\":\"smalloc.run/1\"");
  string("program", r.build_id);
  string("path", r.path);
  string("host", r.host);
  string("machine", r.machine);
  number("pid", r.pid);
  number("started_ns", r.started_ns);
  string("kind", r.superpages_peak || r.medium_got ? "superpages" : "base");
  if (r.input_known) {
    TextBuffer<48> text;
    raw(text.put(",\"input\":\"").hex(r.input).put("\"").text());
  }
  seconds("seconds", r.ended_ns > r.started_ns ? (r.ended_ns - r.started_ns) / 1000 : 0);
  seconds("user_seconds", r.user_us);
  seconds("system_seconds", r.system_us);
  number("peak_bytes", r.peak_bytes);
  number("minor_faults", r.minor_faults);
  number("major_faults", r.major_faults);
  if (r.misses_known)
    number("tlb_misses", r.tlb_misses);
  if (r.superpages_touched) {
    number("superpages_touched", r.superpages_touched);
    seconds("touch_seconds", r.touch_us);
  }
  string("policy", policy_name(r.policy));
  if (r.policy != Policy::kNone) {
    seconds("bar_percent", r.bar_thousandths * 1000);
    number("superpages_supply", r.superpages_supply);
  }
  number("superpages_peak", r.superpages_peak);
  number("superpages_at_first_touch", r.superpages_at_first_touch);
  number("promotions", r.promotions);
  number("migrations", r.migrations);
  number("live_bytes_peak", r.live_bytes_peak);
  raw(",\"directives\":[");
}

void RunLine::directive(const Directives::Entry &e, const SiteOutcome &o, Verdict verdict) {
  TextBuffer<320> text;
  text.put(directives_ ? ",{\"site\":\"" : "{\"site\":\"").hex(e.site).put("\",\"context\":");
  if (e.has_context)
    text.put("\"").hex(e.context).put("\"");
  else
    text.put("null");
  text.put(",\"taken\":").put(o.decision == DirectiveOutcome::kTaken ? "true" : "false");
  text.put(",\"superpages_predicted\":").number(o.predicted);
  text.put(",\"superpages_peak\":");
  if (o.small_objects && o.superpages_peak == 0)
    text.put("null"); // their heap's superpages are not counted by site
  else
    text.number(o.superpages_peak);
  text.put(",\"live_bytes_peak\":").number(o.live_bytes_peak);
  text.put(",\"verdict\":\"").put(verdict_name(verdict)).put("\"}");
  if (text.size() + kEndBytes > capacity_ - size_)
    return;
  raw(text.text());
  directives_++;
}

void RunLine::end() { raw("]}\n"); }

const char *append_run(const char *state, const char *home, const char *build_id, Text line) {
  TextBuffer<1024> folder, file;
  if (state && *state == '/')
    folder.put(state).put("/smalloc/runs");
  else if (home && *home == '/')
    folder.put(home).put("/.local/state/smalloc/runs");
  else
    return "neither XDG_STATE_HOME nor HOME is set";
  if (folder.size() > 900)
    return "the folder's name is too long";
  file.put(folder.text()).put("/").put(build_id).put(".jsonl").put_char('\0');
  folder.put_char('\0');
  char *path = const_cast<char *>(folder.data());
  struct stat info;
  if (!make_folders(path) || lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || !is_ours(info))
    return "its folder cannot be made, or other users may write to it";
  // A command that reads the file between open and lock renames it first: open a new one then.
  for (unsigned tries = 0; tries < 8; tries++) {
    const int fd = uncancelled::open(
        file.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
        0600);
    if (fd < 0)
      return "it cannot be opened";
    struct stat now;
    const char *why = nullptr;
    bool moved = false;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !is_ours(info))
      why = "it is not a regular file of this user";
    else if (info.st_size > kMostFileBytes)
      why = "it is full; smalloc db list imports it";
    else
      moved = flock(fd, LOCK_SH | LOCK_NB) != 0 || lstat(file.data(), &now) != 0 ||
              now.st_ino != info.st_ino || now.st_dev != info.st_dev;
    if (!why && !moved &&
        write_quietly(fd, line.data, line.size) != static_cast<ssize_t>(line.size))
      why = "the disk is full";
    uncancelled::close(fd);
    if (!moved)
      return why;
  }
  return "other processes keep renaming it";
}

} // namespace smalloc
