// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reader.cpp reads traces that may be damaged. It accepts a frame if its checksum holds and its
// size is below the limits of format.h. It accepts a record if its payload has all of its fields.
#include "runtime/trace/reader.h"
#include "smalloc/include/smalloc/input_file.h"

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <queue>
#include <unistd.h>

namespace smalloc::trace {

bool ChunkReader::fill(Type type, Cursor p, Event &event) {
  event = {};
  event.type = type;
  event.thread = thread_;
  const auto time = [&] { event.time_ns = time_ns_ + p.varint(); };
  const auto rest = [&] { event.text = {reinterpret_cast<const char *>(p.data()), p.left()}; };
  event.time_ns = time_ns_;
  switch (type) {
  case Type::kHeader:
  case Type::kSchema:
    rest();
    break;
  case Type::kChunk:
    event.thread = p.varint();
    event.offset = p.varint(); // sequence
    event.time_ns = p.varint();
    break;
  case Type::kSite:
    event.site = p.fixed64();
    event.kind = p.varint();
    event.offset = p.varint();
    rest();
    break;
  case Type::kAllocate:
  case Type::kReallocate:
    time();
    event.site = p.fixed64();
    event.bytes = p.varint();
    event.address = p.varint();
    if (type == Type::kReallocate)
      event.old_address = p.varint();
    if (type == Type::kReallocate && p.left() >= 8)
      event.context = p.fixed64();
    break;
  case Type::kFree:
    time();
    event.address = p.varint();
    break;
  case Type::kAccess: // of earlier writers
  case Type::kTouch: {
    const unsigned flags = type == Type::kTouch ? 2 : 1;
    event.type = Type::kAccess;
    time();
    event.weight = p.varint();
    const uint64_t count = p.varint();
    if (count > kMostAccesses || event.weight == 0)
      return false;
    accesses_.clear();
    uint64_t grain = 0;
    for (uint64_t i = 0; i < count && p.ok(); i++) {
      const uint64_t step = p.varint();
      grain += static_cast<uint64_t>(unzigzag(step >> flags));
      const uint64_t repeats = flags == 1 || (step & 1) ? p.varint() : 0;
      if (too_many_ && region_hash(grain << kGrainShift) >= threshold_)
        continue;
      accesses_.push_back({grain << kGrainShift, repeats, (step >> (flags - 1) & 1) != 0});
    }
    event.accesses = accesses_;
    break;
  }
  case Type::kNew:
    event.type = Type::kAllocate;
    time();
    event.address = last_address_ + static_cast<uint64_t>(unzigzag(p.varint()));
    event.bytes = p.varint();
    if (p.left()) {
      last_site_ = p.fixed64();
      last_context_ = p.left() ? p.fixed64() : 0;
    }
    event.site = last_site_;
    event.context = last_context_;
    last_address_ = event.address;
    break;
  case Type::kGone:
    event.type = Type::kFree;
    time();
    event.address = last_address_ + static_cast<uint64_t>(unzigzag(p.varint()));
    last_address_ = event.address;
    break;
  case Type::kSpots:
    event.type = Type::kAccess;
    time();
    if (!fill_from_spots(p))
      return false;
    event.accesses = accesses_;
    break;
  case Type::kFault:
    time();
    event.minor = p.varint();
    event.major = p.varint();
    break;
  case Type::kPhase:
    time();
    rest();
    break;
  case Type::kSegment:
    event.address = p.varint();
    event.bytes = p.varint();
    rest();
    break;
  case Type::kEnd:
    time();
    event.lost = p.varint();
    break;
  case Type::kSample:
    event.threshold = p.varint();
    too_many_ = event.threshold > threshold_;
    break;
  case Type::kWalk: {
    time();
    const uint64_t iterations = p.varint(), count = p.varint();
    if (count > kMostWalkReferences)
      return false;
    std::vector<WalkReference> references;
    uint64_t grain = 0;
    for (uint64_t i = 0; i < count && p.ok(); i++) {
      const uint64_t step = p.varint();
      grain += static_cast<uint64_t>(unzigzag(step >> 1));
      references.push_back({grain << kGrainShift, unzigzag(p.varint()), (step & 1) != 0});
    }
    double pages = 0;
    for (const WalkReference &r : references)
      pages += walk_pages(r.stride) * static_cast<double>(iterations);
    walk_.emplace(iterations, std::move(references), threshold_);
    if (!p.ok() || !walk_->plausible()) {
      walk_.reset();
      return false;
    }
    if (walk_pages_left_ && (*walk_pages_left_ -= pages) < 0) {
      walk_.reset();
      walks_left_out_++;
    }
    break;
  }
  }
  if (!p.ok())
    return false;
  thread_ = event.thread;
  time_ns_ = event.time_ns;
  return true;
}

// Reads accesses in no order. Consecutive ones of a page become one run.
bool ChunkReader::fill_from_spots(Cursor &p) {
  const uint64_t width = p.varint(), base = p.varint();
  if (width < 2 || width > 4 || p.left() / width > kMostAccesses)
    return false;
  accesses_.clear();
  uint64_t last = UINT64_MAX;
  for (; p.left() >= width; p.skip(width)) {
    uint32_t spot = 0;
    std::memcpy(&spot, p.data(), width); // little-endian, as all supported machines
    const uint64_t address = (base + (spot >> 1)) << kGrainShift;
    if (too_many_ && region_hash(address) >= threshold_)
      continue;
    if (address >> 12 == last) {
      accesses_.back().repeats++;
      accesses_.back().write |= (spot & 1) != 0;
      continue;
    }
    last = address >> 12;
    accesses_.push_back({address, 0, (spot & 1) != 0});
  }
  return true;
}

bool ChunkReader::fill_from_walk(Event &event) {
  accesses_.clear();
  if (!walk_->take(accesses_, kMostAccesses)) {
    walk_.reset();
    return false;
  }
  event = {};
  event.type = Type::kAccess;
  event.thread = thread_;
  event.time_ns = time_ns_;
  event.accesses = accesses_;
  return true;
}

bool ChunkReader::next(Event &event) {
  while (walk_ || cursor_.left() > 0) {
    if (walk_) {
      if (fill_from_walk(event))
        return true;
      continue;
    }
    const uint64_t type = cursor_.varint();
    const Cursor payload = cursor_.piece(cursor_.varint());
    if (!cursor_.ok()) {
      bad_++;
      return false; // no later record of the chunk can be found
    }
    if (type < static_cast<uint64_t>(Type::kHeader) || type > static_cast<uint64_t>(Type::kSpots)) {
      unknown_++;
      continue;
    }
    const bool good = fill(static_cast<Type>(type), payload, event);
    if (good && event.type != Type::kWalk)
      return true;
    bad_ += !good;
  }
  return false;
}

Reader::Reader(const std::string &path, Part part) {
  const char *why_not;
  size_t bytes = 0;
  fd_ = smalloc_open_input(path.c_str(), &bytes, &why_not);
  if (fd_ < 0)
    throw TraceError(why_not ? why_not : std::strerror(errno));
  const auto refuse = [this](const char *why) {
    close(fd_);
    throw TraceError(why);
  };
  file_bytes_ = bytes;
  try {
    index(part);
  } catch (...) {
    close(fd_);
    throw;
  }
  if (header_.empty())
    refuse(file_bytes_ == 0 ? "it is empty" : "it has no smalloc.trace/1 header");
  // Each recording numbers threads from 1 and times from 0: read as one they would mix.
  if (headers_ > 1)
    refuse("it holds several recordings, one behind the other: each needs a file of its own");
  if (const auto rate = header_.find("rate"); rate != header_.end()) {
    rate_ = std::strtod(rate->second.c_str(), nullptr);
    if (!(rate_ >= 1 / static_cast<double>(kEveryRegion) && rate_ <= 1))
      rate_ = 1;
  }
  rate_ =
      std::min(rate_, static_cast<double>(least_threshold_) / static_cast<double>(kEveryRegion));
  recorded_rate_ = rate_;
  if (part == Part::kHeader)
    return;
  try {
    limit_regions();
  } catch (...) {
    close(fd_);
    throw;
  }
}

Reader::~Reader() { close(fd_); }

size_t Reader::read_at(uint64_t offset, unsigned char *data, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = pread(fd_, data + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      throw TraceError(std::strerror(errno));
    if (n == 0)
      break;
    done += static_cast<size_t>(n);
  }
  return done;
}

bool Reader::decompress(uint64_t offset, uint64_t bytes, std::vector<unsigned char> &chunk) {
  frame_.resize(bytes);
  if (read_at(offset, frame_.data(), bytes) != bytes)
    return false;
  const unsigned long long size = ZSTD_getFrameContentSize(frame_.data(), bytes);
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMostChunkBytes)
    return false;
  chunk.resize(size);
  const size_t got = ZSTD_decompress(chunk.data(), chunk.size(), frame_.data(), bytes);
  return !ZSTD_isError(got) && got == size;
}

void Reader::parse_header(std::string_view text) {
  if (text.substr(0, sizeof kMagic - 1) != kMagic)
    return;
  header_["format"] = "smalloc.trace/1";
  text.remove_prefix(sizeof kMagic - 1);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (const size_t equals = line.find('='); equals != std::string_view::npos)
      header_.emplace(line.substr(0, equals), line.substr(equals + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Most bytes before the header. It is the first record of the first frame; a file without one so
// far is no trace, however long it is.
static constexpr uint64_t kMostBeforeHeader = uint64_t{64} << 20;

void Reader::index(Part part) {
  std::vector<unsigned char> window(kMostFrameBytes * 2), chunk;
  uint64_t start = 0; // of the window in the file
  size_t held = 0, at = 0;
  for (;;) {
    if (held - at < kMostFrameBytes) {
      std::memmove(window.data(), window.data() + at, held - at);
      start += at;
      held -= at;
      at = 0;
      held += read_at(start + held, window.data() + held, window.size() - held);
    }
    if (held - at < 4 || (header_.empty() && start + at > kMostBeforeHeader))
      break;
    if (part == Part::kHeader && !header_.empty())
      return;
    const unsigned char *here = window.data() + at;
    size_t bytes = 0;
    uint32_t magic;
    std::memcpy(&magic, here, 4); // little-endian, as all supported machines
    bool good = magic == kFrameMagic;
    if (good) {
      bytes = ZSTD_findFrameCompressedSize(here, held - at);
      good =
          !ZSTD_isError(bytes) && bytes <= kMostFrameBytes && decompress(start + at, bytes, chunk);
    }
    if (!good) {
      const unsigned char pattern[] = {0x28, 0xb5, 0x2f, 0xfd};
      const auto *next = std::search(
          here + 1, static_cast<const unsigned char *>(window.data() + held), pattern, pattern + 4);
      // The last three bytes may be the start of a magic number.
      const size_t left = held - at;
      size_t step = static_cast<size_t>(next - here);
      if (step == left && left > 3)
        step = left - 3;
      skipped_bytes_ += step;
      at += step;
      continue;
    }
    if (content_bytes_ + chunk.size() > limits().content_bytes) {
      unread_bytes_ = file_bytes_ - (start + at);
      return;
    }
    content_bytes_ += chunk.size();
    walk_pages_ += declared_walk_pages(chunk);
    Frame frame = {start + at, bytes, 0, 0};
    ChunkReader records(chunk);
    Event event;
    if (records.next(event)) {
      if (event.type == Type::kHeader && headers_++ == 0)
        parse_header(event.text);
      if (event.type == Type::kChunk) {
        frame.thread = event.thread;
        frame.sequence = event.offset;
        if (records.next(event) && event.type == Type::kSample && event.threshold > 0)
          least_threshold_ = std::min(least_threshold_, event.threshold);
      }
    }
    frames_.push_back(frame);
    at += bytes;
  }
  skipped_bytes_ += held - at;
}

std::map<std::string, std::string> Reader::header_of(const std::string &path) {
  return Reader(path, Part::kHeader).header_;
}

// Lowers the rate if the trace may hold too much. A first pass counts the accesses of each region;
// the second reads only as many regions as the limits allow.
void Reader::limit_regions() {
  if (ReadingLimits::is_modest(file_bytes_, content_bytes_, static_cast<uint64_t>(walk_pages_)))
    return;
  RegionBudget budget(limits());
  read_within(
      static_cast<uint64_t>(std::llround(rate_ * static_cast<double>(kEveryRegion))), UINT64_MAX,
      [&](const Event &e) { budget.add(e.accesses); }, {}, UINT64_MAX);
  rate_ =
      std::min(rate_, static_cast<double>(budget.threshold()) / static_cast<double>(kEveryRegion));
  // The least rate, at which a sample keeps nothing.
  rate_ = std::max(rate_, 1 / static_cast<double>(kEveryRegion));
}

std::vector<std::string> Reader::left_out() const {
  std::vector<std::string> sentences;
  const auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return std::string(text);
  };
  if (unread_bytes_)
    sentences.push_back("its first " + std::to_string(file_bytes_ - unread_bytes_) + " of " +
                        std::to_string(file_bytes_) + " bytes stand for " +
                        number(static_cast<double>(content_bytes_) / (1 << 20)) +
                        " MiB of records already, and the rest is left out");
  if (rate_ < recorded_rate_)
    sentences.push_back("its " + std::to_string(file_bytes_) +
                        " bytes stand for accesses to so many pages (" + number(walk_pages_) +
                        " of loops alone) that only " + number(rate_) +
                        " of the 2 MiB regions are looked at");
  if (walks_left_out_)
    sentences.push_back("from some time on " + std::to_string(walks_left_out_) +
                        " loops are left out, of " + number(walk_pages_) + " pages in " +
                        std::to_string(file_bytes_) + " bytes");
  if (accesses_left_out_)
    sentences.push_back("from some time on accesses are left out, " +
                        std::to_string(accesses_left_out_) +
                        " of those to the regions that are looked at");
  return sentences;
}

void Reader::read(const std::function<void(const Event &)> &visit,
                  const std::function<void(uint64_t, uint64_t)> &progress, uint64_t last_ns) {
  read_within(
      static_cast<uint64_t>(std::llround(rate_ * static_cast<double>(kEveryRegion))),
      ReadingLimits::is_modest(file_bytes_, content_bytes_, static_cast<uint64_t>(walk_pages_))
          ? UINT64_MAX
          : limits().runs,
      visit, progress, last_ns);
}

void Reader::read_within(uint64_t threshold, uint64_t most_runs,
                         const std::function<void(const Event &)> &visit,
                         const std::function<void(uint64_t, uint64_t)> &progress,
                         uint64_t last_ns) {
  struct Thread {
    std::vector<const Frame *> frames;
    size_t next_frame = 0;
    std::vector<unsigned char> chunk;
    std::unique_ptr<ChunkReader> records;
    Event event;
  };
  std::map<uint64_t, Thread> threads;
  for (const Frame &frame : frames_)
    threads[frame.thread].frames.push_back(&frame);
  uint64_t done = 0, runs = 0;
  double walk_pages_left = static_cast<double>(limits().walk_pages);
  unknown_ = bad_ = walks_left_out_ = accesses_left_out_ = 0;
  const auto advance = [&](Thread &t) {
    for (;;) {
      if (t.records && t.records->next(t.event))
        return true;
      if (t.records) {
        unknown_ += t.records->unknown_records();
        bad_ += t.records->bad_records();
        walks_left_out_ += t.records->walks_left_out();
        t.records.reset();
      }
      if (t.next_frame == t.frames.size()) {
        std::vector<unsigned char>().swap(t.chunk);
        return false;
      }
      const Frame &frame = *t.frames[t.next_frame++];
      done += frame.bytes;
      if (progress)
        progress(done, file_bytes_);
      if (decompress(frame.offset, frame.bytes, t.chunk)) {
        t.records = std::make_unique<ChunkReader>(t.chunk);
        t.records->only_regions_below(threshold, rate_ < recorded_rate_);
        t.records->take_walk_pages_of(walk_pages_left);
      }
    }
  };
  using Waiting = std::pair<uint64_t, uint64_t>; // time, thread
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue;
  for (auto &[id, thread] : threads) {
    std::sort(thread.frames.begin(), thread.frames.end(), [](const Frame *a, const Frame *b) {
      return std::pair(a->sequence, a->offset) < std::pair(b->sequence, b->offset);
    });
    if (advance(thread))
      queue.push({thread.event.time_ns, id});
  }
  while (!queue.empty() && queue.top().first <= last_ns) {
    const uint64_t id = queue.top().second;
    queue.pop();
    Thread &thread = threads[id];
    const uint64_t until = std::min(queue.empty() ? UINT64_MAX : queue.top().first, last_ns);
    bool more = true;
    do {
      if (const size_t told = thread.event.accesses.size(); told && runs + told > most_runs)
        accesses_left_out_ += told;
      else
        visit(thread.event);
      runs += thread.event.accesses.size();
      more = advance(thread);
    } while (more && thread.event.time_ns <= until);
    if (more)
      queue.push({thread.event.time_ns, id});
  }
}

} // namespace smalloc::trace
