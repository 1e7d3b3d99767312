// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/trace/reader.h"
#include "runtime/trace/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace smalloc::trace;
namespace fs = std::filesystem;

namespace {

class Trace : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "smalloc-trace.XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
    path_ = (folder_ / "t.trace").string();
  }
  void TearDown() override {
    output_.close();
    fs::remove_all(folder_);
  }
  void open(const std::string &header = "program=/bin/app\npid=7\n") {
    ASSERT_EQ(output_.open(path_.c_str(), header.data(), header.size()), 0);
  }
  ThreadChunk *thread(uint64_t id) { return ThreadChunk::create(output_, id); }
  static void finish(ThreadChunk *chunk) {
    chunk->flush();
    chunk->destroy();
  }
  // Returns the trace's events, one line each.
  std::vector<std::string> lines(const std::string &path) {
    std::vector<std::string> all;
    Reader reader(path);
    reader.read([&](const Event &e) {
      std::ostringstream s;
      s << e.thread << " " << e.time_ns << " " << static_cast<int>(e.type);
      if (e.type == Type::kAllocate || e.type == Type::kReallocate || e.type == Type::kFree)
        s << " " << e.site << " " << e.bytes << " " << e.address << " " << e.old_address;
      if (e.type == Type::kSite)
        s << " " << e.site << " " << e.kind << " " << e.offset << " " << e.text;
      for (const AccessRun &a : e.accesses)
        s << " " << a.address << (a.write ? "w" : "r") << a.repeats;
      if (e.type != Type::kChunk && e.type != Type::kHeader && e.type != Type::kSchema)
        all.push_back(s.str());
    });
    return all;
  }
  std::string bytes_of(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_file(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  fs::path folder_;
  std::string path_;
  Output output_;
};

TEST_F(Trace, KeepsEveryField) {
  open();
  ThreadChunk *t = thread(3);
  t->site(0x1122334455667788u, kReturnAddress, 4660, "/bin/app", 8);
  t->allocate(1000, 0x1122334455667788u, 4096, 0x7f0000001000);
  t->reallocate(1500, {5, UINT64_MAX, 0x7f0000003000}, 0x7f0000001000);
  const ThreadChunk::Access list[] = {{0x7f0000003010, 0, false},
                                      {0x7f0000004ff0, 12, true},
                                      {0x7f0000004000, 0, false},
                                      {0x1000, UINT32_MAX, false}};
  t->accesses(1600, 100, list, 4);
  t->free(1500, 0x7f0000003000); // a clock that goes back does no harm
  t->end(2000);
  finish(t);
  EXPECT_THAT(lines(path_), testing::ElementsAre(
                                "3 0 4 1234605616436508552 1 4660 /bin/app",
                                "3 1000 5 1234605616436508552 4096 139637976731648 0",
                                "3 1500 7 5 18446744073709551615 139637976739840 139637976731648",
                                "3 1600 8 139637976739856r0 139637976748016w13 4096r4294967295",
                                "3 1600 6 0 0 139637976739840 0", "3 2000 12"));
  Reader reader(path_);
  EXPECT_EQ(reader.header().at("program"), "/bin/app");
  EXPECT_EQ(reader.header().at("pid"), "7");
  EXPECT_EQ(reader.skipped_bytes(), 0u);
}

TEST_F(Trace, WritesNothingOfAClosedChunk) {
  open();
  ThreadChunk *t = thread(1);
  t->allocate(10, 5, 64, 4096);
  unsigned naps = 3;
  t->close(naps);
  EXPECT_EQ(naps, 3u);
  const auto bytes = fs::file_size(path_);
  t->free(20, 4096);
  t->flush();
  t->close(naps); // taken already: waits as long as it may
  EXPECT_EQ(naps, 0u);
  EXPECT_EQ(t->lost(), 1u);
  EXPECT_EQ(fs::file_size(path_), bytes);
  t->destroy();
  EXPECT_THAT(lines(path_), testing::ElementsAre("1 10 5 5 64 4096 0"));
}

TEST_F(Trace, MergesThreadsByTime) {
  open();
  std::vector<std::thread> threads;
  for (uint64_t id = 1; id <= 4; id++)
    threads.emplace_back([&, id] {
      ThreadChunk *t = thread(id);
      for (uint64_t i = 0; i < 50000; i++)
        t->allocate(i * 10 + id, id, 64, (i << 20) + id);
      finish(t);
    });
  for (std::thread &t : threads)
    t.join();
  uint64_t last = 0, count[5] = {};
  Reader reader(path_);
  EXPECT_GT(reader.chunks(), 8u); // every thread filled several
  reader.read([&](const Event &e) {
    EXPECT_GE(e.time_ns, last);
    last = e.time_ns;
    if (e.type == Type::kAllocate) {
      EXPECT_EQ(e.thread, e.site);
      EXPECT_EQ(e.address, (count[e.thread]++ << 20) + e.thread);
    }
  });
  for (uint64_t id = 1; id <= 4; id++)
    EXPECT_EQ(count[id], 50000u);
  // Up to a given time: 0 to 300,002, times of 1 to 4 in each ten.
  for (const uint64_t until : {uint64_t{300002}, uint64_t{0}}) {
    uint64_t events = 0;
    reader.read(
        [&](const Event &e) {
          EXPECT_LE(e.time_ns, until);
          events += e.type == Type::kAllocate;
        },
        {}, until);
    EXPECT_EQ(events, until ? 4 * 30000u + 2 : 0u);
  }
  EXPECT_EQ(Reader::header_of(path_), reader.header());
}

TEST_F(Trace, EveryTruncationLeavesTheWholeChunks) {
  open();
  ThreadChunk *t = thread(1);
  std::mt19937_64 random(1);
  std::vector<size_t> ends; // file size after each chunk
  for (uint64_t i = 0; i < 5; i++) {
    t->allocate(i * 1000, random(), 64, random());
    t->flush();
    ends.push_back(fs::file_size(path_));
  }
  t->destroy();
  const std::string whole = bytes_of(path_);
  const std::string cut_path = (folder_ / "cut").string();
  for (size_t length = ends[0]; length <= whole.size(); length++) {
    write_file(cut_path, whole.substr(0, length));
    const size_t expected = static_cast<size_t>(
        std::count_if(ends.begin(), ends.end(), [&](size_t e) { return e <= length; }));
    ASSERT_EQ(lines(cut_path).size(), expected) << length;
  }
}

TEST_F(Trace, DamageCostsOneChunk) {
  open();
  ThreadChunk *t = thread(1);
  std::vector<size_t> ends;
  for (uint64_t i = 0; i < 5; i++) {
    for (uint64_t k = 0; k < 100; k++)
      t->allocate(i * 1000 + k, k * 77777, 64, k * 123456789);
    t->flush();
    ends.push_back(fs::file_size(path_));
  }
  t->destroy();
  std::string bytes = bytes_of(path_);
  for (size_t at = ends[1] + 8; at < ends[1] + 30; at++)
    bytes[at] = static_cast<char>(bytes[at] ^ 0x5a);
  write_file(path_, bytes);
  EXPECT_EQ(lines(path_).size(), 400u);
  EXPECT_EQ(Reader(path_).skipped_bytes(), ends[2] - ends[1]);
}

// Near the end of the file each step once moved all bytes behind it.
TEST_F(Trace, FalseFramesTakeLinearTime) {
  {
    std::ofstream out(path_, std::ios::binary);
    for (int i = 0; i < 1 << 18; i++)
      out.write("\x28\xb5\x2f\xfd", 4);
  }
  const std::clock_t start = std::clock();
  EXPECT_THROW(Reader{path_}, TraceError);
  EXPECT_LT(std::clock() - start, 3 * CLOCKS_PER_SEC);
}

TEST_F(Trace, UnknownRecordsAreSkipped) {
  unsigned char memory[256];
  Bytes chunk(memory, sizeof memory);
  chunk.varint(999); // a type of the future
  chunk.varint(3);
  chunk.text("abc", 3);
  chunk.varint(static_cast<uint64_t>(Type::kFree));
  chunk.varint(3); // one byte more than the current fields
  chunk.varint(5);
  chunk.varint(66);
  chunk.varint(1);
  ChunkReader reader({memory, chunk.size()});
  Event event;
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(event.type, Type::kFree);
  EXPECT_EQ(event.address, 66u);
  EXPECT_FALSE(reader.next(event));
  EXPECT_EQ(reader.unknown_records(), 1u);
  EXPECT_EQ(reader.bad_records(), 0u);
}

TEST_F(Trace, EarlierAccessesAreRead) {
  unsigned char memory[64];
  Bytes chunk(memory, sizeof memory), payload(memory + 32, 32);
  for (const uint64_t value : {5, 1, 2})
    payload.varint(value); // dt, weight, count
  payload.varint(zigzag(0x300) << 1);
  payload.varint(0);
  payload.varint(zigzag(-0x100) << 1 | 1);
  payload.varint(7);
  chunk.varint(static_cast<uint64_t>(Type::kAccess));
  chunk.varint(payload.size());
  chunk.text(reinterpret_cast<const char *>(payload.data()), payload.size());
  ChunkReader reader({memory, chunk.size()});
  Event event;
  ASSERT_TRUE(reader.next(event));
  ASSERT_EQ(event.accesses.size(), 2u);
  EXPECT_EQ(event.accesses[0].address, 0x3000u);
  EXPECT_EQ(event.accesses[0].repeats, 0u);
  EXPECT_FALSE(event.accesses[0].write);
  EXPECT_EQ(event.accesses[1].address, 0x2000u);
  EXPECT_EQ(event.accesses[1].repeats, 7u);
  EXPECT_TRUE(event.accesses[1].write);
  EXPECT_FALSE(reader.next(event));
}

TEST_F(Trace, AddressesInNoOrderComeBack) {
  // Enough for chunks that are compressed well, and for others that are compressed quickly.
  open();
  ThreadChunk *t = thread(1);
  std::mt19937_64 random(1);
  std::vector<uint64_t> told;
  for (int i = 0; i < 500000; i++)
    told.push_back((random() >> 17 & ~uint64_t{15}) | (i % 3 ? 0 : kWrites));
  for (size_t i = 0; i < told.size(); i += 1000)
    t->told(i, told.data() + i, 1000);
  finish(t);
  Reader reader(path_);
  size_t at = 0;
  reader.read([&](const Event &e) {
    for (const AccessRun &a : e.accesses) {
      ASSERT_LT(at, told.size());
      ASSERT_EQ(a.address | (a.write ? kWrites : 0), told[at]);
      ASSERT_EQ(a.repeats, 0u);
      at++;
    }
  });
  EXPECT_EQ(at, told.size());
  EXPECT_EQ(reader.bad_records() + reader.skipped_bytes(), 0u);
}

// Missing if this fails: a list comes back if it begins lower than the one before, is wider,
// narrower, or lies elsewhere.
TEST_F(Trace, ListsInNoOrderMayMove) {
  open();
  ThreadChunk *t = thread(1);
  std::mt19937_64 random(3);
  std::vector<uint64_t> told;
  uint64_t start = 0x7f0000000000;
  for (int list = 0; list < 600; list++) {
    if (random() % 8 == 0)
      start = random() % 2 ? start - random() % 5000 * 4096 : random() >> 18;
    const uint64_t span = uint64_t{1} << (13 + random() % (list < 300 ? 8 : 25));
    std::vector<uint64_t> some;
    for (uint64_t n = 1 + random() % 700; n > 0; n--)
      some.push_back(((start + random() % span) & ~uint64_t{15}) | (random() % 2 ? kWrites : 0));
    t->told(static_cast<uint64_t>(list), some.data(), some.size());
    told.insert(told.end(), some.begin(), some.end());
  }
  finish(t);
  Reader reader(path_);
  size_t at = 0;
  reader.read([&](const Event &e) {
    for (const AccessRun &a : e.accesses) {
      ASSERT_LE(at + a.repeats, told.size());
      ASSERT_EQ(a.address, told[at] & ~kWrites) << at;
      for (uint32_t k = 0; k <= a.repeats; k++, at++)
        ASSERT_EQ(a.address >> 12, (told[at] & ~kWrites) >> 12) << at;
    }
  });
  EXPECT_EQ(at, told.size());
  EXPECT_EQ(reader.bad_records() + reader.skipped_bytes(), 0u);
}

TEST_F(Trace, SpotsAreWhatRunsAre) {
  // The same addresses in the two forms of accesses, near each other and far apart, with pages that
  // come again.
  open();
  std::mt19937_64 random(2);
  for (const uint64_t window :
       {uint64_t{1} << 13, uint64_t{1} << 19, uint64_t{1} << 20, uint64_t{1} << 27,
        uint64_t{1} << 28, uint64_t{1} << 34, uint64_t{1} << 35, uint64_t{1} << 40}) {
    std::vector<uint64_t> told;
    std::vector<ThreadChunk::Access> list;
    for (int i = 0; i < 1000; i++) {
      uint64_t address = 0x7f0000000000 + random() % window / 16 * 16;
      if (i % 7 == 3)
        address = (told.back() & ~kWrites) ^ 64;
      told.push_back(address | (i % 5 ? 0 : kWrites));
      list.push_back({address, 0, i % 5 == 0});
    }
    told.push_back(0x7f0000000000 + window - 16);
    list.push_back({0x7f0000000000 + window - 16, 0, false});
    ThreadChunk *a = thread(window), *b = thread(window + 1);
    a->told(window, told.data(), told.size());
    b->accesses(window, 1, list.data(), list.size());
    finish(a);
    finish(b);
  }
  std::map<uint64_t, std::vector<std::vector<AccessRun>>> by_time;
  Reader reader(path_);
  reader.read([&](const Event &e) {
    if (e.type == Type::kAccess)
      by_time[e.time_ns].emplace_back(e.accesses.begin(), e.accesses.end());
  });
  EXPECT_EQ(reader.bad_records() + reader.unknown_records(), 0u);
  ASSERT_EQ(by_time.size(), 8u);
  for (const auto &[time, both] : by_time) {
    ASSERT_EQ(both.size(), 2u);
    ASSERT_EQ(both[0].size(), both[1].size());
    for (size_t i = 0; i < both[0].size(); i++) {
      EXPECT_EQ(both[0][i].address, both[1][i].address);
      EXPECT_EQ(both[0][i].repeats, both[1][i].repeats);
      EXPECT_EQ(both[0][i].write, both[1][i].write);
    }
  }
}

TEST_F(Trace, AllocationsComeBackWhatTheyAre) {
  open();
  ThreadChunk *t = thread(1);
  std::mt19937_64 random(3);
  std::vector<std::array<uint64_t, 5>> made; // time, site, bytes, address; a free has no site
  uint64_t now = 0;
  for (int i = 0; i < 100000; i++) {
    now += random() % 1000;
    const uint64_t bytes = i % 100 == 7 ? UINT64_MAX : random() % 4096;
    const uint64_t address = i % 50 == 3 ? random() : 0x550000000000 + random() % (1 << 30);
    if (random() % 2) {
      const uint64_t site = i % 10 ? 0x8877665544332211 : random();
      const uint64_t context = i % 30 < 20 ? 0 : 0x1020304050607080 + static_cast<uint64_t>(i % 3);
      if (i % 17 == 5)
        t->reallocate(now, {site, bytes, address, context}, 77);
      else
        t->allocate(now, site, bytes, address, context);
      made.push_back({now, site, bytes, address, context});
    } else {
      t->free(now, address);
      made.push_back({now, 0, 0, address, 0});
    }
  }
  finish(t);
  Reader reader(path_);
  EXPECT_GT(reader.chunks(), 10u);
  size_t at = 0;
  reader.read([&](const Event &e) {
    if (e.type != Type::kAllocate && e.type != Type::kReallocate && e.type != Type::kFree)
      return;
    ASSERT_LT(at, made.size());
    EXPECT_EQ(e.type == Type::kFree, made[at][1] == 0);
    EXPECT_EQ((std::array{e.time_ns, e.site, e.bytes, e.address, e.context}), made[at]);
    at++;
  });
  EXPECT_EQ(at, made.size());
  EXPECT_EQ(reader.bad_records() + reader.unknown_records(), 0u);
}

TEST_F(Trace, ShortRecordsAreBad) {
  unsigned char memory[64];
  Bytes chunk(memory, sizeof memory);
  chunk.varint(static_cast<uint64_t>(Type::kAllocate));
  chunk.varint(4); // an id has 8
  chunk.text("abcd", 4);
  ChunkReader reader({memory, chunk.size()});
  Event event;
  EXPECT_FALSE(reader.next(event));
  EXPECT_EQ(reader.bad_records(), 1u);
}

TEST_F(Trace, NeverOverwritesAnotherTrace) {
  open();
  Output second;
  ASSERT_EQ(second.open(path_.c_str(), "", 0), 0);
  EXPECT_NE(std::string(second.path()), path_);
  EXPECT_EQ(std::string(second.path()), path_ + "." + std::to_string(getpid()));
  second.close();
}

TEST_F(Trace, StandsBesideNothingButFiles) {
  const std::string header = "program=/bin/app\n";
  EXPECT_EQ(output_.open(folder_.c_str(), header.data(), header.size()), EISDIR);
  EXPECT_EQ(output_.open("/dev/null", header.data(), header.size()), EEXIST);
  EXPECT_FALSE(output_.recording());
  EXPECT_TRUE(fs::is_empty(folder_));
  for (const auto &entry : fs::directory_iterator(folder_.parent_path()))
    EXPECT_FALSE(entry.path().string().starts_with(folder_.string() + ".")) << entry.path();
}

TEST_F(Trace, AFullDiskStopsTheRecordingOnly) {
  open();
  const size_t header = fs::file_size(path_);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = header + 100000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  ThreadChunk *t = thread(1);
  std::mt19937_64 random(2);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 200000 && output_.recording(); i++)
    t->allocate(static_cast<uint64_t>(i), random(), random(), random());
  t->destroy();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(output_.recording());
  EXPECT_THAT(said, testing::HasSubstr("no space is left for the file; recording stopped"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_GT(lines(path_).size(), 1000u);
}

TEST_F(Trace, OtherFilesAreRefused) {
  const auto why = [&](const std::string &bytes) {
    write_file(path_, bytes);
    try {
      Reader reader(path_);
    } catch (const TraceError &error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(why(""), "it is empty");
  EXPECT_EQ(why("hello, this is text"), "it has no smalloc.trace/1 header");
  EXPECT_EQ(why(std::string(3 << 20, '\x28')), "it has no smalloc.trace/1 header");
  fs::remove(path_);
  open();
  finish(thread(1));
  output_.close();
  const std::string one = bytes_of(path_);
  EXPECT_EQ(why(one), "accepted");
  EXPECT_EQ(why(one + one),
            "it holds several recordings, one behind the other: each needs a file of its own");
  EXPECT_THROW(Reader(folder_.string()), TraceError);
  EXPECT_THROW(Reader((folder_ / "none").string()), TraceError);
  EXPECT_THROW(Reader::header_of((folder_ / "none").string()), TraceError);
}

TEST_F(Trace, EventsAreSmall) {
  open();
  ThreadChunk *t = thread(1);
  const size_t before = fs::file_size(path_);
  std::vector<ThreadChunk::Access> list;
  for (uint64_t i = 0; i < 100000; i++)
    list.push_back({0x7f0000000000 + i * 4096, 511, false});
  t->accesses(1, 1, list.data(), list.size());
  finish(t);
  // A walk over pages takes far below a byte a run once compressed.
  EXPECT_LT(fs::file_size(path_) - before, 20000u);
}

} // namespace
