// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reader.h reads a trace in two passes. The first finds the frames; behind a torn or damaged one it
// looks for the next that holds together. The second merges the threads' chunks by time. Memory:
// one chunk for each thread and 32 bytes for each frame, however long the trace (10 GB: about 20
// MB).
#pragma once

#include "runtime/trace/declared_work.h"
#include "runtime/trace/walk.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::trace {

/// One record, with the fields of its type. Text and accesses are valid until the next event. A
/// walk comes as the accesses that it stands for, in as many events as they need.
struct Event {
  Type type = Type::kHeader;
  uint64_t thread = 0;
  uint64_t time_ns = 0; ///< since the trace began
  uint64_t site = 0, context = 0, bytes = 0, address = 0, old_address = 0;
  uint64_t weight = 1;           ///< kAccess: accesses that each entry stands for
  uint64_t kind = 0, offset = 0; ///< kSite
  uint64_t minor = 0, major = 0; ///< kFault
  uint64_t lost = 0;             ///< kEnd
  uint64_t threshold = 0;        ///< kSample
  std::string_view text;
  std::span<const AccessRun> accesses;
};

/// Reads the records of one decompressed chunk. Never fails: invalid records are skipped and
/// counted.
class ChunkReader {
public:
  explicit ChunkReader(std::span<const unsigned char> chunk)
      : cursor_(chunk.data(), chunk.size()) {}
  /// Leaves out accesses to regions whose hash is not below `threshold`: the trace does not hold
  /// them as a whole. Walks reach such regions, and so do chunks from before a fall of the sample's
  /// rate.
  /// others: all chunks hold accesses to those regions, though none has a record of it.
  void only_regions_below(uint64_t threshold, bool others = false) {
    threshold_ = threshold;
    too_many_ = others;
  }
  /// Limits the pages of walks to `left`, from which those taken are subtracted. Further walks are
  /// left out.
  void take_walk_pages_of(double &left) { walk_pages_left_ = &left; }
  uint64_t walks_left_out() const { return walks_left_out_; }
  /// Reads the next record. False at the end.
  bool next(Event &event);
  uint64_t unknown_records() const { return unknown_; }
  uint64_t bad_records() const { return bad_; }

private:
  bool fill(Type type, Cursor p, Event &event);
  bool fill_from_walk(Event &event);
  bool fill_from_spots(Cursor &p);

  Cursor cursor_;
  uint64_t threshold_ = kEveryRegion;
  bool too_many_ = false;         ///< the chunk was sampled at a higher rate
  std::optional<WalkPages> walk_; ///< not yet at its end
  uint64_t thread_ = 0, time_ns_ = 0;
  uint64_t last_address_ = 0, last_site_ = 0, last_context_ = 0;
  uint64_t unknown_ = 0, bad_ = 0, walks_left_out_ = 0;
  double *walk_pages_left_ = nullptr;
  std::vector<AccessRun> accesses_;
};

/// Error in a trace; what() is the reason in words, without the file's name.
class TraceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class Reader {
public:
  /// Opens and indexes the file. Throws TraceError if it cannot be read or has no smalloc.trace/1
  /// header.
  explicit Reader(const std::string &path) : Reader(path, Part::kAll) {}
  ~Reader();
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  /// Returns the header's lines: program, build_id, pid, host, source, rate, ....
  const std::map<std::string, std::string> &header() const { return header_; }
  /// Returns the share of 2 MiB regions whose accesses are in the trace from its beginning to its
  /// end; 1 if the trace does not say. If the rate fell (samples:N), it is the last one. Earlier
  /// accesses to the regions that were dropped are left out.
  double rate() const { return rate_; }
  /// Calls `visit` for every event of every thread in the order of time, up to and including
  /// last_ns. Calls `progress`, if any, now and then with the bytes done and the bytes in all.
  void read(const std::function<void(const Event &)> &visit,
            const std::function<void(uint64_t, uint64_t)> &progress = {},
            uint64_t last_ns = UINT64_MAX);
  /// Reads the header alone, of a file of any length. Throws as the constructor does.
  static std::map<std::string, std::string> header_of(const std::string &path);

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
  enum class Part { kHeader, kAll };
  Reader(const std::string &path, Part part);
  void index(Part part);
  bool decompress(uint64_t offset, uint64_t bytes, std::vector<unsigned char> &chunk);
  size_t read_at(uint64_t offset, unsigned char *data, size_t bytes);
  void parse_header(std::string_view text);
  void limit_regions();
  void read_within(uint64_t threshold, uint64_t most_runs,
                   const std::function<void(const Event &)> &visit,
                   const std::function<void(uint64_t, uint64_t)> &progress, uint64_t last_ns);

  int fd_ = -1;
  uint64_t file_bytes_ = 0, skipped_bytes_ = 0, unknown_ = 0, bad_ = 0;
  double rate_ = 1, recorded_rate_ = 1;
  double walk_pages_ = 0;      ///< declared by walks
  uint64_t content_bytes_ = 0; ///< of the frames, decompressed
  uint64_t unread_bytes_ = 0;  ///< of the file, behind those frames
  uint64_t walks_left_out_ = 0, accesses_left_out_ = 0;
  uint64_t least_threshold_ = kEveryRegion; ///< lowest of the chunks
  std::vector<Frame> frames_;
  std::map<std::string, std::string> header_;
  uint64_t headers_ = 0;
  std::vector<unsigned char> frame_; // compressed
};

} // namespace smalloc::trace
