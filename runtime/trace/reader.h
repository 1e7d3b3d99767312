// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reader.h reads a trace in two passes. The first finds the frames; behind a torn or damaged one it
// looks for the next that holds together. The second merges the threads' chunks by time. Memory:
// one chunk for each thread and 32 bytes for each frame, however long the trace (10 GB: about 20
// MB).
#pragma once

#include "runtime/trace/chunk_reader.h"
#include "runtime/trace/declared_work.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::trace {

/// The lines of a trace's header: program, build_id, pid, host, source, rate, ....
class Header : public std::map<std::string, std::string> {
public:
  /// Returns the value of `key`, or an empty text if the header has no such line.
  std::string word(const char *key) const {
    const auto at = find(key);
    return at == end() ? std::string() : at->second;
  }
};

/// Error in a trace; what() is the reason in words, without the file's name.
class TraceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class Reader {
public:
  /// Opens and indexes the file. Throws TraceError if it cannot be read, has no smalloc.trace/1
  /// header, or holds several recordings.
  explicit Reader(const std::string &path) : Reader(path, Part::kAll) {}
  ~Reader();
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  const Header &header() const { return header_; }
  /// Returns the share of 2 MiB regions whose accesses are in the trace from its beginning to its
  /// end; 1 if the trace does not say. If the rate fell (samples:N), it is the last one; it is
  /// lower still if the file stands for too much (declared_work.h). Earlier accesses to the regions
  /// that were dropped are left out.
  double rate() const { return rate_; }
  /// Calls `visit` for every event of every thread in the order of time, up to and including
  /// last_ns. Calls `progress`, if any, now and then with the bytes done and the bytes in all.
  void read(const std::function<void(const Event &)> &visit,
            const std::function<void(uint64_t, uint64_t)> &progress = {},
            uint64_t last_ns = UINT64_MAX);
  /// Reads the header alone, of a file of any length. Throws as the constructor does.
  static Header header_of(const std::string &path);

  uint64_t chunks() const { return frames_.size(); }
  uint64_t file_bytes() const { return file_bytes_; }
  /// Returns the bytes that belong to no whole chunk: a torn end, or damage.
  uint64_t skipped_bytes() const { return skipped_bytes_; }
  uint64_t unknown_records() const { return unknown_; }
  uint64_t bad_records() const { return bad_; }
  /// Returns a sentence for each part of the trace that is left out because a file of this size
  /// stands for too much (declared_work.h). What read() leaves out is known after it.
  std::vector<std::string> left_out() const;
  ReadingLimits limits() const { return ReadingLimits(file_bytes_); }

private:
  struct Frame {
    uint64_t offset, bytes, thread, sequence;
  };
  struct Pass;
  struct ThreadRecords;
  enum class Part { kHeader, kAll };
  Reader(const std::string &path, Part part);
  void index(Part part);
  size_t read_frame(uint64_t offset, std::span<const unsigned char> here,
                    std::vector<unsigned char> &chunk);
  bool decompress(uint64_t offset, uint64_t bytes, std::vector<unsigned char> &chunk);
  void add_frame(uint64_t offset, uint64_t bytes, std::span<const unsigned char> chunk);
  size_t read_at(uint64_t offset, unsigned char *data, size_t bytes);
  void parse_header(std::string_view text);
  void limit_regions();
  void read_within(Pass pass);
  bool advance(ThreadRecords &thread, Pass &pass);

  int fd_ = -1;
  uint64_t file_bytes_ = 0, skipped_bytes_ = 0, unknown_ = 0, bad_ = 0;
  double rate_ = 1, recorded_rate_ = 1;
  double walk_pages_ = 0;      ///< declared by walks
  uint64_t content_bytes_ = 0; ///< of the frames, decompressed
  uint64_t unread_bytes_ = 0;  ///< of the file, behind those frames
  uint64_t walks_left_out_ = 0, accesses_left_out_ = 0;
  uint64_t least_threshold_ = kEveryRegion; ///< lowest of the chunks
  std::vector<Frame> frames_;
  Header header_;
  uint64_t headers_ = 0;
  std::vector<unsigned char> frame_; // compressed
};

} // namespace smalloc::trace
