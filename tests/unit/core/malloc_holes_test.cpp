// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the births of a program go whose objects die in two heaps: neither keeps many holes, whatever the shares.
#include "smalloc/core/malloc_holes.h"
#include "smalloc/core/site_sizes.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace smalloc {
namespace {
constexpr uint64_t kKiB = 1 << 10, kMiB = 1 << 20;

TEST(MallocHoles, BeginAtASixtyFourthAndEndAtAnEighthOfThat) {
  MallocHoles holes;
  EXPECT_FALSE(holes.wanted(0));
  while (holes.bytes() < 256 * kKiB) {
    EXPECT_FALSE(holes.wanted(0));
    holes.sampled_free(64);
  }
  EXPECT_FALSE(holes.wanted(64 * kMiB)); // 1 MiB of it nobody minds
  EXPECT_TRUE(holes.wanted(0));
  holes.filled(200 * kKiB, 64);
  EXPECT_TRUE(holes.wanted(0));
  holes.filled(40 * kKiB, 64);
  EXPECT_FALSE(holes.wanted(0));
}

TEST(MallocHoles, LargeObjectsCountLittle) {
  MallocHoles holes;
  holes.sampled_free(MallocHoles::kMappedBytes);
  EXPECT_EQ(holes.bytes(), 0u);
  holes.sampled_free(MallocHoles::kMappedBytes - 1);
  EXPECT_EQ(holes.bytes(), MallocHoles::kMostSampleBytes * MallocHoles::kFreesPerSample);
  holes.filled(1 * kMiB, 64); // more than there is
  EXPECT_EQ(holes.bytes(), 0u);
}

TEST(MallocHoles, WhatDoesNotFitAsksAgainWhenMoreIsFree) {
  MallocHoles holes;
  while (!holes.wanted(0))
    holes.sampled_free(64);
  const uint64_t before = holes.bytes(), until = holes.no_place(0, 1, 64);
  EXPECT_EQ(holes.bytes(), before - before / 8);
  EXPECT_EQ(until, holes.freed() + 256 * kKiB);
  EXPECT_TRUE(holes.wanted(0)); // others may fit
  holes.filled(before, 64);
  EXPECT_LT(holes.freed(), until);
  while (holes.freed() < until)
    holes.sampled_free(64);
  EXPECT_TRUE(holes.wanted(0));
}

TEST(MallocHoles, AThreadWithoutAPlaceForgetsItsShareOnly) {
  MallocHoles holes;
  while (holes.bytes() < 1 * kMiB)
    holes.sampled_free(64);
  const uint64_t before = holes.bytes();
  holes.no_place(0, 8, 64);
  EXPECT_EQ(holes.bytes(), before - before / 64);
  for (int i = 0; i < 7; i++)
    holes.no_place(0, 8, 64);
  EXPECT_GE(holes.bytes(), before - before / 8);
}

TEST(MallocHoles, AThreadFillsItsOwnFirst) {
  MallocHoles holes;
  constexpr uint64_t kNever = UINT64_MAX;
  EXPECT_EQ(holes.may_fill(32 * kKiB - 1, false, 0, 0), 0u);
  EXPECT_EQ(holes.may_fill(32 * kKiB, false, kNever, 0), 32 * kKiB);
  EXPECT_EQ(holes.may_fill(4 * kKiB, true, kNever, 0), 4 * kKiB);
  EXPECT_EQ(holes.may_fill(4 * kKiB - 1, true, kNever, 0), 0u);
  EXPECT_EQ(holes.may_fill(1 * kMiB, false, 0, 0), 64 * kKiB);
  while (!holes.wanted(0))
    holes.sampled_free(64);
  EXPECT_EQ(holes.may_fill(0, false, holes.freed(), 0), 16 * kKiB);
  EXPECT_EQ(holes.may_fill(0, false, holes.freed() + 1, 0), 0u);
}

TEST(MallocHoles, EachSizeFillsItsOwn) {
  MallocHoles holes;
  while (holes.bytes() < 4 * kMiB) { // a fifth of it places of 72 bytes
    holes.sampled_free(72);
    for (int i = 0; i < 2; i++)
      holes.sampled_free(136);
  }
  EXPECT_TRUE(holes.wanted(64 * kMiB));
  EXPECT_TRUE(holes.fit(72, 64 * kMiB, false));
  EXPECT_TRUE(holes.fit(136, 64 * kMiB, false));
  EXPECT_FALSE(holes.fit(56, 64 * kMiB, true)); // nothing of it has been freed
  EXPECT_FALSE(holes.fit(88, 64 * kMiB, true));
  holes.filled(3 * kMiB / 4, 72);
  EXPECT_FALSE(holes.fit(72, 64 * kMiB, false)); // a quarter of what nobody minds in all
  EXPECT_TRUE(holes.fit(72, 64 * kMiB, true));
  EXPECT_TRUE(holes.fit(136, 64 * kMiB, false));
  holes.filled(kMiB, 72); // more than there is
  EXPECT_FALSE(holes.fit(72, 64 * kMiB, true));
  EXPECT_TRUE(holes.fit(136, 64 * kMiB, false));
  holes.given_back(holes.bytes());
  EXPECT_FALSE(holes.fit(136, 64 * kMiB, false));
  while (!holes.wanted(0))
    holes.sampled_free(4000);
  EXPECT_FALSE(holes.fit(4000, 0, true)); // large ones empty whole pages
}

TEST(MallocHoles, OfOneSizeOrNot) {
  MallocHoles holes;
  EXPECT_FALSE(holes.are_of(64));
  while (holes.freed() < 1 * kMiB)
    holes.sampled_free(72); // glibc's place for 57 to 72 bytes
  EXPECT_TRUE(holes.are_of(64));
  EXPECT_TRUE(holes.are_of(72));
  EXPECT_FALSE(holes.are_of(73));
  EXPECT_FALSE(holes.are_of(56));
  for (int i = 0; i < 1000; i++) {
    holes.sampled_free(72);
    holes.sampled_free(40);
  }
  EXPECT_FALSE(holes.are_of(64)); // 64 % of the bytes
  EXPECT_FALSE(holes.are_of(40));
  for (int i = 0; i < 3000; i++)
    holes.sampled_free(40);
  EXPECT_TRUE(holes.are_of(40)); // lately
  for (int i = 0; i < 3000; i++)
    holes.sampled_free(1000);
  EXPECT_FALSE(holes.are_of(1000)); // large ones empty whole pages
}

TEST(MallocHoles, TrimIsDueWhenTheyHaveDoubled) {
  MallocHoles holes;
  auto free_until = [&](uint64_t bytes) {
    while (holes.bytes() < bytes)
      holes.sampled_free(1000);
  };
  EXPECT_FALSE(holes.trim_is_due());
  free_until(2 * kMiB);
  EXPECT_TRUE(holes.trim_is_due());
  holes.given_back(0); // no page of them is free
  EXPECT_FALSE(holes.trim_is_due());
  free_until(7 * kMiB / 2);
  EXPECT_FALSE(holes.trim_is_due());
  free_until(5 * kMiB);
  EXPECT_TRUE(holes.trim_is_due());
  holes.given_back(holes.bytes());
  EXPECT_EQ(holes.bytes(), 0u);
  free_until(2 * kMiB);
  EXPECT_TRUE(holes.trim_is_due());
  holes.given_back(0);
  holes.filled(3 * kMiB / 2, 1000);
  EXPECT_FALSE(holes.trim_is_due());
  free_until(2 * kMiB);
  EXPECT_TRUE(holes.trim_is_due());
}

/// A steady number of objects of 64 bytes, in two heaps; random ones are replaced. Each look, as a site's in 64 KiB, asks.
TEST(MallocHoles, BirthsFollowDeaths) {
  constexpr unsigned kObjects = 400000, kBytes = 64, kTurnovers = 10;
  for (unsigned theirs_percent : {5, 40, 90}) {
    std::mt19937 random(7);
    MallocHoles holes;
    std::vector<bool> theirs(kObjects);
    uint64_t live_there = 0, most_there = 0, most_here = 0;
    for (auto &&t : theirs)
      live_there += t = random() % 100 < theirs_percent;
    const uint64_t there_at_first = live_there, here_at_first = kObjects - live_there;
    unsigned frees = 0;
    bool fills = false;
    for (unsigned step = 0; step < kObjects * kTurnovers; step++) {
      const unsigned which = random() % kObjects;
      if (theirs[which] && ++frees % MallocHoles::kFreesPerSample == 0)
        holes.sampled_free(kBytes);
      live_there -= theirs[which];
      if (step % 1024 == 0) {
        if (fills)
          holes.filled(1024 * kBytes, kBytes);
        fills = holes.wanted((kObjects - live_there) * kBytes);
      }
      theirs[which] = fills;
      live_there += fills;
      most_there = max_of(most_there, live_there);
      most_here = max_of(most_here, kObjects - live_there);
    }
    // Both heaps stay as large as they were, but for the holes that nobody minds and what passes between two looks.
    const uint64_t allowed =
        (max_of<uint64_t>(256 * kKiB, kObjects * kBytes / 64) + 192 * kKiB) / kBytes;
    EXPECT_LE(most_there, there_at_first + allowed) << theirs_percent;
    EXPECT_LE(most_here, here_at_first + allowed) << theirs_percent;
  }
}

/// Threads replace their objects at random, each in a heap of its own there, and as long as a processor lets them. Each fills
/// what it has freed, or what others have freed in its heap. Neither these heaps grow much nor ours.
TEST(MallocHoles, ThreadsFillTheirOwn) {
  constexpr unsigned kThreads = 8, kObjects = 40000, kBytes = 48, kPlace = 56, kTurnovers = 12;
  constexpr uint64_t kThere = kObjects * 2 / 3, kHere = kObjects - kThere;
  struct Thread {
    std::vector<bool> theirs = std::vector<bool>(kObjects);
    uint64_t live = kThere, places = kThere, no_place_until = 0, own = 0, fills = 0, looks_in = 0;
    unsigned frees = 0;
  };
  for (unsigned freed_by_others_percent : {0, 50, 100}) {
    std::mt19937 random(7);
    MallocHoles holes;
    std::vector<Thread> threads(kThreads);
    for (Thread &t : threads)
      for (unsigned i = 0; i < kThere; i++)
        t.theirs[i] = true;
    uint64_t here = kThreads * kHere, most_here = here;
    for (uint64_t steps = 0, turn; steps < uint64_t{kObjects} * kTurnovers * kThreads;
         steps += turn) {
      const unsigned running = random() % kThreads;
      Thread &t = threads[running];
      turn = 1 + random() % (2 * kObjects);
      for (uint64_t step = 0; step < turn; step++) {
        const unsigned which = random() % kObjects;
        Thread &frees =
            random() % 100 < freed_by_others_percent ? threads[(running + 1) % kThreads] : t;
        if (t.theirs[which] && ++frees.frees % MallocHoles::kFreesPerSample == 0)
          frees.own += holes.sampled_free(kPlace);
        t.live -= t.theirs[which];
        here -= !t.theirs[which];
        bool again = false, fills = t.fills != 0;
        if (fills)
          again = --t.fills == 0;
        if (again || (!fills && t.looks_in-- == 0)) {
          t.looks_in = SiteSizes::kSampleBytes / kBytes;
          t.fills = holes.may_fill(t.own, again, t.no_place_until, here * kBytes) / kPlace;
          if (t.fills && t.live + 16 >= t.places) {
            t.fills = t.own = 0;
            t.no_place_until = holes.no_place(here * kBytes, kThreads, kPlace);
          }
          fills = t.fills != 0;
          holes.filled(t.fills * kPlace, kPlace);
          t.own -= min_of(t.own, t.fills * kPlace);
        }
        t.theirs[which] = fills;
        t.live += fills;
        here += !fills;
        t.places = max_of(t.places, t.live);
        most_here = max_of(most_here, here);
      }
    }
    uint64_t there = 0;
    for (const Thread &t : threads)
      there += t.places;
    // Without filling, ours has three times as much in the end: 15 MiB. Holes that others make are found late.
    const uint64_t allowed = freed_by_others_percent ? 3 * kMiB / 2 : 1 * kMiB / 2;
    EXPECT_LE(there * (kPlace + 8), kThreads * kThere * (kPlace + 8) + allowed)
        << freed_by_others_percent;
    EXPECT_LE(most_here * kBytes, kThreads * kHere * kBytes + allowed) << freed_by_others_percent;
  }
}

} // namespace
} // namespace smalloc
