// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_log.cpp writes a log without stdio, reads one without malloc, and repeats its moves.
#include "runtime/numa/live/migration_log.h"
#include "runtime/numa/live/pages.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/units.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/include/smalloc/input_file.h"

#include <algorithm>
#include <charconv>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace smalloc::numa {

int MigrationLog::create(const char *path) {
  const int before = errno;
  size_t size = 0;
  if (*path != '/') { // the program may change its folder
    if (!getcwd(path_, sizeof path_ - 2))
      return errno;
    size = strlen(path_);
    path_[size++] = '/';
  }
  int error = 0;
  if (size + strlen(path) >= sizeof path_) {
    error = ENAMETOOLONG;
  } else {
    memcpy(path_ + size, path, strlen(path) + 1);
    const int fd = open(path_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    error = fd < 0 ? errno : 0;
    if (fd >= 0)
      ::close(fd);
  }
  if (error)
    *path_ = 0;
  errno = before;
  return error;
}

void MigrationLog::line(Text text) {
  if (!on() || text.size > sizeof buffer_)
    return;
  if (used_ + text.size > sizeof buffer_)
    flush();
  memcpy(buffer_ + used_, text.data, text.size);
  used_ += text.size;
}

void MigrationLog::flush() {
  if (!on() || used_ == 0)
    return;
  const int before = errno;
  const int fd = open(path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) {
    write_all_quietly(fd, buffer_, used_); // a full disk ends the log, not the program
    ::close(fd);
  }
  used_ = 0;
  errno = before;
}

namespace {

/// Returns the value of " key=value" in a line; empty: there is none.
Text field(Text line, const char *key) {
  const size_t length = strlen(key);
  for (size_t at = 0; at + length + 1 < line.size; at++)
    if (line.data[at] == ' ' && memcmp(line.data + at + 1, key, length) == 0 &&
        line.data[at + 1 + length] == '=') {
      const size_t from = at + length + 2;
      size_t end = from;
      while (end < line.size && line.data[end] != ' ')
        end++;
      return Text(line.data + from, end - from);
    }
  return Text();
}

bool parse_hex(Text t, uintptr_t &value) {
  const char *end = t.data + t.size;
  const auto [at, error] = std::from_chars(t.data, end, value, 16);
  return at == end && error == std::errc();
}

} // namespace

bool parse_logged_move(Text line, LoggedMove &move) {
  constexpr char kWord[] = "move ";
  constexpr uint64_t kMostNode = 1023;
  constexpr uintptr_t kUserEnd = uintptr_t{1} << 56;
  if (line.size < sizeof kWord || memcmp(line.data, kWord, sizeof kWord - 1) != 0 ||
      !field(line, "result").is("done"))
    return false;
  uint64_t interval, pages, to;
  const Text action = field(line, "action");
  move = LoggedMove();
  if (!parse_hex(field(line, "address"), move.address) ||
      !parse_number(field(line, "interval"), interval) ||
      !parse_number(field(line, "pages"), pages) || !parse_number(field(line, "to"), to) ||
      interval > UINT32_MAX || (pages != 1 && pages != kPagesPerUnit) || to > kMostNode ||
      move.address % kBasePageBytes || move.address >= kUserEnd || action.is("collapse"))
    return false;
  move.interval = static_cast<uint32_t>(interval);
  move.pages = static_cast<uint32_t>(pages);
  move.to = static_cast<int32_t>(to);
  move.split = action.is("split");
  return true;
}

const char *MigrationReplay::load(const char *path, Kind kind) {
  const int before = errno;
  const char *no_file;
  size_t bytes = 0;
  const int fd = smalloc_open_input(path, &bytes, &no_file);
  const int error = errno;
  errno = before;
  if (fd < 0)
    return no_file ? no_file : error == ENOENT ? "no such file" : "it cannot be read";
  void *map = bytes ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  ::close(fd);
  errno = before;
  if (map == MAP_FAILED)
    return bytes ? "it cannot be mapped" : "it is empty";
  const auto *text = static_cast<const char *>(map);
  const char *why = nullptr;
  if (bytes < sizeof kLogHeader - 1 || memcmp(text, kLogHeader, sizeof kLogHeader - 1) != 0)
    why = "it does not begin with '# smalloc.numa.log/1'";
  size_t lines = 1;
  for (size_t i = 0; i < bytes; i++)
    lines += text[i] == '\n';
  if (!why)
    entries_ = static_cast<Entry *>(map_pages(lines * sizeof(Entry)));
  for (size_t at = 0; !why && entries_ && at < bytes;) {
    size_t end = at;
    while (end < bytes && text[end] != '\n')
      end++;
    if (at == 0) {
      const Text name = field(Text(text, end), "source");
      const size_t size = min_of(name.size, sizeof source_ - 1);
      if (size) // an absent field has no text
        memcpy(source_, name.data, size);
      source_[size] = 0;
    }
    LoggedMove move;
    // a line without its end is cut off
    if (end < bytes && parse_logged_move(Text(text + at, end - at), move))
      entries_[count_++].move = move;
    at = end + 1;
  }
  munmap(map, bytes);
  errno = before;
  if (!why && !entries_)
    why = "no memory";
  kind_ = kind;
  if (!why && kind == Kind::kPlace)
    keep_last_of_each();
  counters_.moves = open_ = count_;
  return why;
}

/// Keeps the last move of each page, since a placement is where pages end up. Whole superpages come
/// before parts of them; a move of the whole replaces earlier moves and splits of its parts.
void MigrationReplay::keep_last_of_each() {
  // Not stable_sort, which allocates: a page moves at most once an interval.
  std::sort(entries_, entries_ + count_, [](const Entry &a, const Entry &b) {
    return a.move.address != b.move.address ? a.move.address < b.move.address
           : a.move.split != b.move.split   ? a.move.split < b.move.split
                                            : a.move.interval < b.move.interval;
  });
  size_t kept = 0;
  uintptr_t unit = UINTPTR_MAX;
  uint32_t whole = 0; // interval of the unit's last move as a whole; its moves come first
  for (size_t i = 0; i < count_; i++) {
    Entry e = entries_[i];
    if (const uintptr_t its = align_down(e.move.address, kSuperpageBytes); its != unit) {
      unit = its;
      whole = 0;
      for (size_t k = i; k < count_ && entries_[k].move.address == unit; k++)
        if (entries_[k].move.pages != 1 && !entries_[k].move.split)
          whole = entries_[k].move.interval;
    }
    if (e.move.interval < whole)
      continue;
    e.move.interval = 0;
    const bool same = kept && entries_[kept - 1].move.address == e.move.address &&
                      entries_[kept - 1].move.split == e.move.split &&
                      entries_[kept - 1].move.pages == e.move.pages;
    entries_[same ? kept - 1 : kept++] = e;
  }
  count_ = kept;
}

void MigrationReplay::interval(uint32_t number, const MoverHooks &hooks) {
  Entry *batch[PageMover::kBatch];
  void *pages[PageMover::kBatch];
  int nodes[PageMover::kBatch], status[PageMover::kBatch];
  unsigned n = 0;
  const auto answer = [&](Entry &e, long result) {
    if (result == -ENOENT || result == -EFAULT) {
      if (kind_ == Kind::kPlace || ++e.tries <= kTries)
        return;
      counters_.absent++;
    } else if (result == e.move.to) {
      counters_.done++;
    } else {
      if (++e.tries <= kTries && (result == -EBUSY || result == -EAGAIN))
        return;
      counters_.failed++;
    }
    close(e);
  };
  const auto flush = [&] {
    if (n == 0)
      return;
    const long r = hooks.move_pages(n, pages, nodes, status);
    for (unsigned i = 0; i < n; i++)
      answer(*batch[i], r < 0 ? r : status[i]);
    n = 0;
  };
  for (size_t i = 0; i < count_ && open_; i++) {
    Entry &e = entries_[i];
    if (e.closed || e.move.interval > number)
      continue;
    void *page = reinterpret_cast<void *>(e.move.address);
    if (e.move.split) {
      flush();            // moves before it in the log come before it here
      int where = -EBUSY; // an absent page cannot be split
      const long r = hooks.move_pages(1, &page, nullptr, &where);
      const int error = r < 0 || where < 0 ? 0 : hooks.split(page);
      answer(e, r < 0 ? r : where < 0 ? where : error ? -error : e.move.to);
      continue;
    }
    batch[n] = &e;
    pages[n] = page;
    nodes[n] = e.move.to;
    status[n] = -EBUSY;
    if (++n == PageMover::kBatch)
      flush();
  }
  flush();
}

} // namespace smalloc::numa
