// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// jemalloc is asked about its slabs only when it runs: who calls it while another thread is just starting it waits for that
// thread's locks, or starts it without our hooks. jemalloc is faked here, and counts what it is asked.
#include "smalloc/core/private_jemalloc.h"
#include "smalloc/core/small_heap.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>
#include <string.h>

namespace {
unsigned g_questions;
bool g_starts;              ///< the fake's arenas can be made
void (*g_while_starting)(); ///< what another thread does then
constexpr unsigned kClasses = 2;
constexpr size_t kSlot[kClasses] = {64, 128}, kLive[kClasses] = {1000, 50000},
                 kSlabs[kClasses] = {400, 200};
constexpr uint32_t kObjects[kClasses] = {512, 256};
} // namespace

extern "C" {
unsigned char je_sz_size2index_tab[512];
size_t je_sz_index2size_tab[64] = {64, 128};
int jepriv_mallctl(const char *name, void *out, size_t *, void *, size_t) {
  g_questions++;
  if (strcmp(name, "arenas.nbins") == 0)
    *static_cast<unsigned *>(out) = kClasses;
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
// Named by small_heap.cpp and small_census.cpp; no test comes there.
void *jepriv_malloc(size_t) { abort(); }
void *jepriv_calloc(size_t, size_t) { abort(); }
void *jepriv_mallocx(size_t, int) { abort(); }
void *jepriv_rallocx(void *, size_t, int) { abort(); }
size_t jepriv_xallocx(void *, size_t, size_t, int) { abort(); }
void jepriv_dallocx(void *, int) { abort(); }
}

namespace smalloc {
void drop_own_file_pages() { abort(); }
bool take_table_back() { return true; }
namespace {
struct SmallCensusTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    Region::Config config = FakeOs::config();
    config.pending = &pending;
    ASSERT_TRUE(region.init(config, counters));
    heap.configure(region, {});
    g_questions = 0;
    g_starts = true;
    g_while_starting = nullptr;
  }
  static bool asks() {
    const unsigned before = g_questions;
    const bool answered = heap.roomy_slots(true, roomy, count);
    EXPECT_EQ(answered, g_questions != before);
    return answered;
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
  static inline SmallHeap heap;
  static inline size_t roomy[SmallHeap::kMostRoomy];
  static inline unsigned count;
};

// One heap for all: what follows is its life.
TEST_F(SmallCensusTest, JemallocIsAskedOnlyOnceItRuns) {
  EXPECT_FALSE(asks()); // nobody has started it
  static bool asked_meanwhile = true;
  g_while_starting = [] { asked_meanwhile = asks(); };
  ASSERT_TRUE(heap.start());
  g_while_starting = nullptr;
  EXPECT_FALSE(asked_meanwhile);
  ASSERT_TRUE(heap.ready());
  ASSERT_TRUE(asks());
  ASSERT_EQ(count, 1u); // 12.4 of 12.5 MiB are free there, nearly nothing in the other
  EXPECT_EQ(roomy[0], 64u);
}
} // namespace
} // namespace smalloc
