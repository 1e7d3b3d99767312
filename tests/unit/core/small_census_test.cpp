// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_census_test.cpp tests that jemalloc's slabs are counted only while it runs, and at most
// once a second. Objects of classes with much room then come from its arenas, and a large heap
// grows by more at a time. The tests fake jemalloc and count the calls.
#include "smalloc/jemalloc/private_jemalloc.h"
#include "smalloc/small/node_heaps.h"
#include "smalloc/small/small_heap.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>
#include <memory>
#include <string.h>

namespace {
unsigned g_questions;                ///< calls about slabs
unsigned g_decays, g_purges;         ///< purges: all at once
unsigned g_purges_all;               ///< calls of mallctl for all arenas
size_t g_active, g_dirty;            ///< pages of the arena
unsigned g_from_cache, g_from_arena; ///< objects
bool g_starts;                       ///< the fake can create arenas
size_t g_growth;                     ///< growth limit of arena 0
void (*g_while_starting)();          ///< runs as another thread would meanwhile
constexpr unsigned kClasses = 2;
constexpr size_t kSlot[kClasses] = {64, 128}, kLive[kClasses] = {1000, 50000},
                 kSlabs[kClasses] = {400, 200};
constexpr uint32_t kObjects[kClasses] = {512, 256};
char g_object[128];
} // namespace

extern "C" {
unsigned char je_sz_size2index_tab[512];
size_t je_sz_index2size_tab[64] = {64, 128};
jemalloc_arena *jepriv_arenas[1];
bool jepriv_opt_cache_oblivious = true;
int jepriv_mallctl(const char *name, void *out, size_t *, void *in, size_t) {
  if (strcmp(name, "arenas.nbins") == 0) {
    g_questions++;
    *static_cast<unsigned *>(out) = kClasses;
  }
  g_purges_all += strcmp(name, "arena.4096.purge") == 0;
  if (strcmp(name, "arena.0.retain_grow_limit") == 0)
    g_growth = *static_cast<size_t *>(in);
  if (strcmp(name, "experimental.arenas_create_ext") == 0) {
    if (g_while_starting)
      g_while_starting();
    return g_starts ? 0 : 1;
  }
  return 0;
}
int jepriv_mallctlnametomib(const char *name, size_t *mib, size_t *) {
  g_questions++;
  mib[0] = strstr(name, "curregs")    ? 0
           : strstr(name, "curslabs") ? 1
           : strstr(name, "nregs")    ? 2
                                      : 3;
  return 0;
}
int jepriv_mallctlbymib(const size_t *mib, size_t parts, void *out, size_t *, void *, size_t) {
  g_questions++;
  const size_t index = mib[mib[0] < 2 ? 4 : 2];
  if (parts == 0 || index >= kClasses)
    return 1;
  switch (mib[0]) {
  case 0:
    return *static_cast<size_t *>(out) = kLive[index], 0;
  case 1:
    return *static_cast<size_t *>(out) = kSlabs[index], 0;
  case 2:
    return *static_cast<uint32_t *>(out) = kObjects[index], 0;
  default:
    return *static_cast<size_t *>(out) = kSlot[index], 0;
  }
}
void jepriv_arena_decay(jemalloc_thread *, jemalloc_arena *, bool, bool all) {
  g_decays++;
  g_purges += all;
}
void *jepriv_malloc(size_t) { return g_from_cache++, g_object; }
void *jepriv_mallocx(size_t, int flags) {
  EXPECT_TRUE(flags & smalloc::kJeNoTcache);
  return g_from_arena++, g_object;
}
// Referenced by small_heap.cpp, small_census.cpp and small_decay.cpp; no test calls them.
void *jepriv_calloc(size_t, size_t) { abort(); }
void *jepriv_rallocx(void *, size_t, int) { abort(); }
size_t jepriv_xallocx(void *, size_t, size_t, int) { abort(); }
void jepriv_dallocx(void *, int) {}
void jepriv_arena_basic_stats_merge(jemalloc_thread *, jemalloc_arena *, unsigned *, const char **,
                                    ssize_t *, ssize_t *, size_t *active, size_t *dirty, size_t *) {
  *active += g_active;
  *dirty += g_dirty;
}
#if SMALLOC_JEMALLOC_RELEASE == 50300
void jepriv_tcache_gc_event_handler(jemalloc_thread *, uint64_t) { abort(); }
void jepriv_tcache_gc_dalloc_event_handler(jemalloc_thread *, uint64_t) { abort(); }
#else
jemalloc_event jepriv_tcache_gc_te_handler;
#endif
}

namespace smalloc {
constinit NodeHeaps g_node_heaps; ///< never started
void drop_own_file_pages() { abort(); }
bool take_table_back() { return true; }
namespace {
constexpr uint64_t kMiB = 1 << 20, kSecond = 1000000000;

struct SmallCensusTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    Region::Config config = FakeOs::config();
    config.pending = &pending;
    ASSERT_TRUE(region.init(config, counters));
    SmallHeap::Config heap_config;
    heap_config.serves_process = true;
    heap_config.drop_file_pages = false;
    std::destroy_at(&g_small); // each test has a heap that is not started
    std::construct_at(&g_small);
    g_small.configure(region, heap_config);
    t_small = {};
    g_questions = g_decays = g_purges = g_purges_all = g_from_cache = g_from_arena = 0;
    g_growth = 0;
    g_starts = true;
    g_while_starting = nullptr;
  }
  /// Runs a look. True: jemalloc's slabs were counted.
  static bool asks() {
    const unsigned before = g_questions;
    g_small.tick(nullptr, false);
    return g_questions != before;
  }
  void use(uint64_t bytes) {
    SmallPages &pages = g_small.main_pages();
    char *p = pages.grow(bytes, kBasePageBytes, 1);
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(pages.commit(p, bytes));
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
};

TEST_F(SmallCensusTest, JemallocIsAskedOnlyOnceItRuns) {
  EXPECT_FALSE(asks()); // not started
  static bool asked_meanwhile;
  asked_meanwhile = true;
  g_while_starting = [] {
    FakeOs::clock_ns += kSecond;
    asked_meanwhile = asks();
  };
  ASSERT_TRUE(g_small.start());
  g_while_starting = nullptr;
  EXPECT_FALSE(asked_meanwhile);
  EXPECT_EQ(g_decays, 0u);
  ASSERT_TRUE(g_small.ready());
  FakeOs::clock_ns += kSecond;
  EXPECT_FALSE(asks()); // fragmentation below 8 MiB is ignored
  EXPECT_EQ(g_decays, 1u);
  use(8 * kMiB);
  FakeOs::clock_ns += kSecond / 2;
  EXPECT_TRUE(asks());
  FakeOs::clock_ns += kSecond - 1;
  EXPECT_FALSE(asks());
  FakeOs::clock_ns += kSecond;
  EXPECT_TRUE(asks());
  EXPECT_EQ(g_decays, 4u);
}

// A heap that has emptied gives all back at once, since the program may never call again.
TEST_F(SmallCensusTest, AHeapThatHasEmptiedIsPurged) {
  ASSERT_TRUE(g_small.start());
  const auto frees = [](size_t active, size_t dirty) {
    g_active = active, g_dirty = dirty;
    FakeOs::clock_ns += kSecond / 10;
    g_small.tick(nullptr, true);
    return g_purges;
  };
  EXPECT_EQ(frees(10000, 5000), 0u);
  EXPECT_EQ(frees(7000, 8000), 1u);
  EXPECT_EQ(frees(9000, 1000), 1u); // filled again
  EXPECT_EQ(frees(10, 9990), 2u);
}

// Frames: the program frees and requests as much again. Its pages are kept from the second time on.
TEST_F(SmallCensusTest, AHeapThatFillsAgainKeepsItsPages) {
  ASSERT_TRUE(g_small.start());
  uint64_t step = kSecond / 10;
  const auto frees = [&](size_t active, size_t dirty) {
    g_active = active, g_dirty = dirty;
    FakeOs::clock_ns += step;
    g_small.tick(nullptr, true);
    return g_purges;
  };
  EXPECT_EQ(frees(4000, 6000), 1u); // the program goes on freeing
  EXPECT_EQ(frees(1000, 3000), 2u);
  EXPECT_EQ(frees(9000, 0), 2u); // the next frame
  EXPECT_FALSE(g_small.keeps_unused());
  EXPECT_EQ(frees(1000, 8000), 2u);
  EXPECT_TRUE(g_small.keeps_unused());
  EXPECT_EQ(frees(500, 8500), 2u); // the same pages
  EXPECT_EQ(frees(9000, 0), 2u);
  EXPECT_FALSE(g_small.keeps_unused());
  EXPECT_EQ(frees(1000, 8000), 2u);
  step = kSecond + 1; // too long unused
  EXPECT_EQ(frees(1000, 8000), 3u);
  EXPECT_FALSE(g_small.keeps_unused());
  EXPECT_EQ(frees(9000, 0), 3u);
  EXPECT_EQ(frees(1000, 8000), 4u); // needed again, but late
  step = kSecond / 10;
  EXPECT_EQ(frees(9000, 0), 4u);
  EXPECT_EQ(frees(1000, 8000), 4u);
  ASSERT_TRUE(g_small.keeps_unused());
  g_small.purge();
  EXPECT_FALSE(g_small.keeps_unused());
}

// The helper thread runs: an emptied heap keeps its pages for a second. It gives them back then, by
// a call of the helper thread or of the program.
TEST_F(SmallCensusTest, AHeapKeepsItsPagesForASecondBesideTheHelperThread) {
  SmallHeap::Config config;
  config.may_keep = [] { return true; };
  config.drop_file_pages = false;
  g_small.configure(region, config);
  ASSERT_TRUE(g_small.start());
  const auto frees = [&](size_t active, size_t dirty) {
    g_active = active, g_dirty = dirty;
    FakeOs::clock_ns += kSecond / 10;
    g_small.tick(nullptr, true);
    return g_purges;
  };
  EXPECT_EQ(frees(1000, 6000), 0u);
  EXPECT_TRUE(g_small.give_back_emptied());
  FakeOs::clock_ns += kSecond / 2;
  EXPECT_TRUE(g_small.give_back_emptied());
  EXPECT_EQ(g_purges_all, 0u);
  FakeOs::clock_ns += kSecond;
  EXPECT_FALSE(g_small.give_back_emptied());
  EXPECT_EQ(g_purges_all, 1u);
  EXPECT_EQ(frees(9000, 0), 0u);
  EXPECT_EQ(frees(1000, 6000), 0u);
  EXPECT_TRUE(g_small.keeps_unused());
  FakeOs::clock_ns += kSecond;
  EXPECT_EQ(frees(1000, 6000), 1u);
}

TEST_F(SmallCensusTest, AHeapThatCannotStartIsNeverAsked) {
  g_starts = false;
  EXPECT_FALSE(g_small.start());
  FakeOs::clock_ns += kSecond;
  EXPECT_FALSE(asks());
  EXPECT_EQ(g_small.allocate(64), nullptr);
}

TEST_F(SmallCensusTest, ObjectsOfAClassWithRoomComeFromTheArena) {
  ASSERT_TRUE(g_small.start());
  use(16 * kMiB);
  FakeOs::clock_ns += kSecond;
  ASSERT_TRUE(asks());
  EXPECT_FALSE(g_small.packs()); // no time has been earned yet
  EXPECT_NE(g_small.allocate(64), nullptr);
  EXPECT_EQ(g_from_cache, 1u);
  FakeOs::clock_ns += kSecond;
  ASSERT_TRUE(asks());
  // Of the class of 64 bytes 12.4 of 12.5 MiB are free, of 128 bytes nearly nothing.
  EXPECT_TRUE(g_small.packs());
  EXPECT_NE(g_small.allocate(64), nullptr);
  EXPECT_EQ(g_from_arena, 1u);
  EXPECT_NE(g_small.allocate(128), nullptr);
  EXPECT_EQ(g_from_arena, 1u);
  EXPECT_EQ(g_from_cache, 2u);
  EXPECT_EQ(g_small.packed_objects(), 1u);
}

TEST_F(SmallCensusTest, ALargeHeapGrowsByMoreAtATime) {
  ASSERT_TRUE(g_small.start());
  EXPECT_EQ(g_growth, kSuperpageBytes);
  use(62 * kMiB);
  FakeOs::clock_ns += kSecond;
  asks();
  EXPECT_EQ(g_growth, kSuperpageBytes);
  EXPECT_FALSE(g_small.growth_due());
  use(2 * kMiB);
  FakeOs::clock_ns += kSecond;
  asks();
  ASSERT_TRUE(g_small.growth_due());
  g_small.grow_further();
  EXPECT_EQ(g_growth, 16 * kMiB);
  g_growth = 0;
  FakeOs::clock_ns += kSecond;
  asks();
  EXPECT_FALSE(g_small.growth_due()); // once
}
} // namespace
} // namespace smalloc
