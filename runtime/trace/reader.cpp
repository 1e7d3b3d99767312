// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reader.cpp reads traces that may be damaged. It accepts a frame if its checksum holds and its
// size is below the limits of format.h.
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

// Returns the number of bytes up to the next that may begin a frame.
static size_t bytes_to_next_frame(std::span<const unsigned char> here) {
  const unsigned char pattern[] = {0x28, 0xb5, 0x2f, 0xfd};
  const auto next = std::search(here.begin() + 1, here.end(), pattern, pattern + 4);
  const auto step = static_cast<size_t>(next - here.begin());
  // The last three bytes may be the start of a magic number.
  return step == here.size() && step > 3 ? step - 3 : step;
}

// Returns the bytes of the frame at `offset`, where the file's bytes are `here`, and decompresses
// it. 0: there is no whole frame.
size_t Reader::read_frame(uint64_t offset, std::span<const unsigned char> here,
                          std::vector<unsigned char> &chunk) {
  uint32_t magic;
  std::memcpy(&magic, here.data(), 4); // little-endian, as all supported machines
  if (magic != kFrameMagic)
    return 0;
  const size_t bytes = ZSTD_findFrameCompressedSize(here.data(), here.size());
  return !ZSTD_isError(bytes) && bytes <= kMostFrameBytes && decompress(offset, bytes, chunk)
             ? bytes
             : 0;
}

void Reader::add_frame(uint64_t offset, uint64_t bytes, std::span<const unsigned char> chunk) {
  content_bytes_ += chunk.size();
  walk_pages_ += declared_walk_pages(chunk);
  Frame frame = {offset, bytes, 0, 0};
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
}

void Reader::index(Part part) {
  std::vector<unsigned char> window(kMostFrameBytes * 2), chunk;
  uint64_t start = 0; // of the window in the file
  size_t held = 0, at = 0;
  bool has_more = true; // bytes behind the window: at the file's end there is nothing to move for
  for (;;) {
    if (has_more && held - at < kMostFrameBytes) {
      std::memmove(window.data(), window.data() + at, held - at);
      start += at;
      held -= at;
      at = 0;
      held += read_at(start + held, window.data() + held, window.size() - held);
      has_more = held == window.size();
    }
    if (held - at < 4 || (header_.empty() && start + at > kMostBeforeHeader))
      break;
    if (part == Part::kHeader && !header_.empty())
      return;
    const std::span<const unsigned char> here(window.data() + at, held - at);
    const size_t bytes = read_frame(start + at, here, chunk);
    if (!bytes) {
      const size_t step = bytes_to_next_frame(here);
      skipped_bytes_ += step;
      at += step;
      continue;
    }
    if (content_bytes_ + chunk.size() > limits().content_bytes) {
      unread_bytes_ = file_bytes_ - (start + at);
      return;
    }
    add_frame(start + at, bytes, chunk);
    at += bytes;
  }
  skipped_bytes_ += held - at;
}

Header Reader::header_of(const std::string &path) { return Reader(path, Part::kHeader).header_; }

// Holds what one pass over all events calls and leaves out, and how far it is.
struct Reader::Pass {
  std::function<void(const Event &)> visit;
  std::function<void(uint64_t, uint64_t)> progress = {}; // may be empty
  uint64_t last_ns = UINT64_MAX, most_runs = UINT64_MAX;
  uint64_t threshold = 0, done_bytes = 0;
  double walk_pages_left = 0;
};

// Lowers the rate if the trace may hold too much. A first pass counts the accesses of each region;
// the second reads only as many regions as the limits allow.
void Reader::limit_regions() {
  if (ReadingLimits::is_modest(file_bytes_, content_bytes_, static_cast<uint64_t>(walk_pages_)))
    return;
  RegionBudget budget(limits());
  read_within({.visit = [&](const Event &e) { budget.add(e.accesses); }});
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
                        std::to_string(file_bytes_) + " bytes expand to " +
                        number(static_cast<double>(content_bytes_) / (1 << 20)) +
                        " MiB of records; the rest is left out");
  if (rate_ < recorded_rate_)
    sentences.push_back("its " + std::to_string(file_bytes_) +
                        " bytes expand to accesses to too many pages (" + number(walk_pages_) +
                        " in loops alone): only a share of " + number(rate_) +
                        " of the 2 MiB regions is evaluated");
  if (walks_left_out_)
    sentences.push_back("after some time " + std::to_string(walks_left_out_) +
                        " loops are left out, of " + number(walk_pages_) + " pages in " +
                        std::to_string(file_bytes_) + " bytes");
  if (accesses_left_out_)
    sentences.push_back("after some time accesses are left out, " +
                        std::to_string(accesses_left_out_) + " of those to the evaluated regions");
  return sentences;
}

void Reader::read(const std::function<void(const Event &)> &visit,
                  const std::function<void(uint64_t, uint64_t)> &progress, uint64_t last_ns) {
  const bool modest =
      ReadingLimits::is_modest(file_bytes_, content_bytes_, static_cast<uint64_t>(walk_pages_));
  read_within({visit, progress, last_ns, modest ? UINT64_MAX : limits().runs});
}

// Holds the frames of one thread in a pass, and its next event.
struct Reader::ThreadRecords {
  std::vector<const Frame *> frames;
  size_t next_frame = 0;
  std::vector<unsigned char> chunk;
  std::unique_ptr<ChunkReader> records;
  Event event;
};

// Reads the thread's next event. False at its end.
bool Reader::advance(ThreadRecords &thread, Pass &pass) {
  for (;;) {
    if (thread.records && thread.records->next(thread.event))
      return true;
    if (thread.records) {
      unknown_ += thread.records->unknown_records();
      bad_ += thread.records->bad_records();
      walks_left_out_ += thread.records->walks_left_out();
      thread.records.reset();
    }
    if (thread.next_frame == thread.frames.size()) {
      std::vector<unsigned char>().swap(thread.chunk);
      return false;
    }
    const Frame &frame = *thread.frames[thread.next_frame++];
    pass.done_bytes += frame.bytes;
    if (pass.progress)
      pass.progress(pass.done_bytes, file_bytes_);
    if (decompress(frame.offset, frame.bytes, thread.chunk)) {
      thread.records = std::make_unique<ChunkReader>(thread.chunk);
      thread.records->only_regions_below(pass.threshold, rate_ < recorded_rate_);
      thread.records->take_walk_pages_of(pass.walk_pages_left);
    }
  }
}

void Reader::read_within(Pass pass) {
  std::map<uint64_t, ThreadRecords> threads;
  for (const Frame &frame : frames_)
    threads[frame.thread].frames.push_back(&frame);
  pass.threshold = static_cast<uint64_t>(std::llround(rate_ * static_cast<double>(kEveryRegion)));
  pass.walk_pages_left = static_cast<double>(limits().walk_pages);
  unknown_ = bad_ = walks_left_out_ = accesses_left_out_ = 0;
  using Waiting = std::pair<uint64_t, uint64_t>; // time, thread
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue;
  for (auto &[id, thread] : threads) {
    std::sort(thread.frames.begin(), thread.frames.end(), [](const Frame *a, const Frame *b) {
      return std::pair(a->sequence, a->offset) < std::pair(b->sequence, b->offset);
    });
    if (advance(thread, pass))
      queue.push({thread.event.time_ns, id});
  }
  uint64_t runs = 0;
  while (!queue.empty() && queue.top().first <= pass.last_ns) {
    const uint64_t id = queue.top().second;
    queue.pop();
    ThreadRecords &thread = threads[id];
    const uint64_t until = std::min(queue.empty() ? UINT64_MAX : queue.top().first, pass.last_ns);
    bool more = true;
    do {
      const size_t recorded = thread.event.accesses.size();
      if (recorded && runs + recorded > pass.most_runs)
        accesses_left_out_ += recorded;
      else
        pass.visit(thread.event);
      runs += recorded;
      more = advance(thread, pass);
    } while (more && thread.event.time_ns <= until);
    if (more)
      queue.push({thread.event.time_ns, id});
  }
}

} // namespace smalloc::trace
