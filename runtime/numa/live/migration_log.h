// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// migration_log.h decides what is written of a migration, and how it is done again: smalloc.numa.log/1, lines of
// key=value (docs/numa.md, "Log"). A replay makes the moves of each interval in the same interval; a placement puts each page
// where the log left it, from the start on, as soon as the page is there (the paper's static mode).
//
// Addresses are those of the process: a log fits a run whose addresses are not randomised, which `smalloc numa record` and
// `replay` see to.
#ifndef RUNTIME_NUMA_LIVE_MIGRATION_LOG_H
#define RUNTIME_NUMA_LIVE_MIGRATION_LOG_H

#include "smalloc/base/text.h"
#include "smalloc/numa/page_mover.h"

namespace smalloc::numa {

inline constexpr char kLogHeader[] = "# smalloc.numa.log/1";

class MigrationLog {
public:
  /// Starts an empty file. 0 or an errno value. The file is opened for each flush only: a program may close descriptors that
  /// it did not open.
  int create(const char *path);
  bool on() const { return *path_ != 0; }
  /// One line, newline included; written when the buffer is full or flush() is called.
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
/// False: the line is no move that was carried out.
bool parse_logged_move(Text line, LoggedMove &move);

class MigrationReplay {
public:
  enum class Kind { kReplay, kPlace };
  struct Counters {
    uint64_t moves = 0, done = 0, absent = 0, failed = 0;
  };
  /// nullptr, or why nothing was read.
  const char *load(const char *path, Kind kind);
  /// The end of an interval, from 1: makes the moves that are due. What is absent is tried again: at the next kTries intervals
  /// by a replay, for ever by a placement, since nobody knows when the page will be touched.
  void interval(uint32_t number, const MoverHooks &hooks);
  /// Everything has been done or given up.
  bool finished() const { return open_ == 0; }
  const Counters &counters() const { return counters_; }
  /// Who counted when the log was written, as its header says; empty: it does not.
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
