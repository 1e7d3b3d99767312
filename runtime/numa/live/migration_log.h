// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_log.h writes the log of a migration, and repeats it: smalloc.numa.log/1, lines of
// key=value (docs/internals/numa.md, "Log"). A replay makes the moves of each interval in the same
// interval. A placement moves each page to where the log left it, from the start on, as soon as the
// page exists (the paper's static mode).
//
// Addresses are those of the process: a log fits a run whose addresses are not randomised. `smalloc
// numa record` and `replay` ensure that.
#ifndef RUNTIME_NUMA_LIVE_MIGRATION_LOG_H
#define RUNTIME_NUMA_LIVE_MIGRATION_LOG_H

#include "smalloc/base/text.h"
#include "smalloc/numa/page_mover.h"

namespace smalloc::numa {

inline constexpr char kLogHeader[] = "# smalloc.numa.log/1";

class MigrationLog {
public:
  /// Starts an empty file. Returns 0 or an errno value. The file is open during each flush only: a
  /// program may close descriptors that it did not open.
  int create(const char *path);
  bool on() const { return *path_ != 0; }
  /// Adds one line, newline included. It is written when the buffer is full or flush() is called.
  void line(Text text);
  void flush();

private:
  char path_[512] = "";
  char buffer_[16384];
  size_t used_ = 0;
};

/// One move of a log.
struct LoggedMove {
  uintptr_t address = 0;
  uint32_t interval = 0, pages = 0;
  int32_t to = -1; ///< the system's number of the node
  bool split = false;
};
/// Parses a move. False: the line is no move that was carried out.
bool parse_logged_move(Text line, LoggedMove &move);

class MigrationReplay {
public:
  enum class Kind { kReplay, kPlace };
  struct Counters {
    uint64_t moves = 0, done = 0, absent = 0, failed = 0;
  };
  /// Loads a log. Returns nullptr, or the reason why nothing was read.
  const char *load(const char *path, Kind kind);
  /// Makes the moves that are due at the end of interval `number`, from 1. Moves of absent pages
  /// are tried again. A replay tries them at the next kTries intervals; a placement tries for ever,
  /// since the page may be touched at any time.
  void interval(uint32_t number, const MoverHooks &hooks);
  /// True if every move has been made or given up.
  bool finished() const { return open_ == 0; }
  const Counters &counters() const { return counters_; }
  /// Returns the source that counted when the log was written, from the log's header; empty:
  /// unknown.
  const char *source() const { return source_; }
  static constexpr uint8_t kTries = 3;

private:
  struct Entry {
    LoggedMove move;
    uint8_t tries;
    bool closed;
  };
  void close(Entry &entry) {
    entry.closed = true;
    open_--;
  }
  void keep_last_of_each();

  Kind kind_ = Kind::kReplay;
  Entry *entries_ = nullptr;
  size_t count_ = 0, open_ = 0;
  Counters counters_;
  char source_[16] = "";
};

} // namespace smalloc::numa
#endif
