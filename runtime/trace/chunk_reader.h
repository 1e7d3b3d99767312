// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// chunk_reader.h reads the records of one decompressed chunk as events. An event has absolute
// times and addresses, and one type for all encodings of an allocation, a free or accesses.
#pragma once

#include "runtime/trace/walk.h"

#include <cstdint>
#include <optional>
#include <span>
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
  uint64_t kind = 0, offset = 0; ///< kSite; of kChunk: offset is its sequence number
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
  bool fill_memory(Type type, Cursor &p, Event &event);
  void fill_note(Type type, Cursor &p, Event &event);
  void fill_allocation(Cursor &p, Event &event);
  bool read_runs(Type type, Cursor &p);
  bool read_spots(Cursor &p);
  bool begin_walk(Cursor &p);
  bool fill_from_walk(Event &event);

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

} // namespace smalloc::trace
