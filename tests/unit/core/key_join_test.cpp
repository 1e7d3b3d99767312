// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// key_join_test.cpp tests the join of unit summaries on sections that are built block by block.
#include "smalloc/sites/key_join.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

using namespace smalloc;

namespace {

constexpr uint64_t kSite = 1, kOther = 2, kKey = 10, kNext = 11, kLast = 12;

/// Builds a section block by block.
class Section {
public:
  Section &block(std::vector<smalloc_flow> flows, std::vector<smalloc_key_access> accesses = {}) {
    smalloc_keys head = {SMALLOC_KEYS_MAGIC,
                         SMALLOC_ABI_VERSION,
                         sizeof(smalloc_keys),
                         0,
                         static_cast<uint32_t>(flows.size()),
                         static_cast<uint32_t>(accesses.size()),
                         0};
    const char name[] = "name";
    uint32_t strings = static_cast<uint32_t>(sizeof head + flows.size() * sizeof(smalloc_flow) +
                                             accesses.size() * sizeof(smalloc_key_access));
    for (smalloc_flow &f : flows)
      f.name = strings;
    for (smalloc_key_access &a : accesses)
      a.name = strings;
    head.bytes = (strings + uint32_t{sizeof name} + 7) & ~7u;
    size_t at = bytes_.size();
    bytes_.resize(at + head.bytes);
    auto put = [&](const void *data, size_t n) {
      if (n)
        memcpy(bytes_.data() + at, data, n);
      at += n;
    };
    put(&head, sizeof head);
    put(flows.data(), flows.size() * sizeof(smalloc_flow));
    put(accesses.data(), accesses.size() * sizeof(smalloc_key_access));
    put(name, sizeof name);
    return *this;
  }
  Section &padding(size_t bytes) {
    bytes_.resize(bytes_.size() + bytes);
    return *this;
  }
  std::vector<char> &bytes() { return bytes_; }

private:
  std::vector<char> bytes_;
};

smalloc_flow flow(uint64_t from, uint64_t to, uint32_t flags = 0) { return {from, to, 0, flags}; }
smalloc_key_access access(uint64_t key, uint64_t min_bytes, bool contents = false,
                          float saving = 10) {
  return {key, min_bytes, 0.5f, saving, 0, 0, SMALLOC_PATTERN_SCATTERED, contents, 70, {}};
}

/// Runs a join; section and scratch memory live as long as the result.
struct Joined {
  explicit Joined(Section section) : words((section.bytes().size() + 7) / 8) {
    std::copy(section.bytes().begin(), section.bytes().end(),
              reinterpret_cast<unsigned char *>(words.data()));
    join = KeyJoin(words.data(), reinterpret_cast<char *>(words.data()) + section.bytes().size());
    scratch.resize(join.scratch_bytes() / 8 + 1);
    if (join.scratch_bytes())
      join.run(scratch.data());
  }
  const smalloc_key_access *of(uint64_t node) { return join.of(node).access; }
  std::vector<uint64_t> words, scratch;
  KeyJoin join{nullptr, nullptr};
};

} // namespace

TEST(KeyJoin, CarriesAnAccessOfOneUnitToTheSiteOfAnother) {
  Joined j(Section().block({flow(kSite, kKey)}).block({}, {access(kKey, 4096)}));
  ASSERT_NE(j.of(kSite), nullptr);
  EXPECT_EQ(j.of(kSite)->min_bytes, 4096u);
  EXPECT_EQ(j.of(kOther), nullptr);
}

TEST(KeyJoin, GoesThroughUnitsInBetween) {
  Joined j(Section()
               .block({flow(kNext, kLast)})
               .block({}, {access(kLast, 1)})
               .block({flow(kSite, kKey)})
               .block({flow(kKey, kNext)}));
  EXPECT_NE(j.of(kSite), nullptr);
  EXPECT_EQ(j.join.of(kSite).first->to, kKey);
  EXPECT_STREQ(string_of(*j.join.of(kSite).first_block, j.join.of(kSite).first->name), "name");
}

TEST(KeyJoin, GoesAgainstTheFlowOnly) {
  Joined j(Section().block({flow(kKey, kSite)}, {access(kKey, 1)}));
  EXPECT_EQ(j.of(kSite), nullptr);
}

TEST(KeyJoin, TheAccessThatPaysSoonestCounts) {
  Joined j(Section().block({flow(kSite, kKey), flow(kSite, kNext)},
                           {access(kKey, SMALLOC_UNKNOWN), access(kNext, 8192), access(kLast, 0)}));
  ASSERT_NE(j.of(kSite), nullptr);
  EXPECT_EQ(j.of(kSite)->min_bytes, 8192u);
}

TEST(KeyJoin, TwoUnitsMayDisagreeAboutAKey) {
  for (bool swapped : {false, true}) {
    smalloc_key_access a = access(kKey, 4096, false, 1), b = access(kKey, 4096, false, 30);
    Joined j(Section().block({flow(kSite, kKey)}, {swapped ? b : a}).block({}, {swapped ? a : b}));
    ASSERT_NE(j.of(kSite), nullptr);
    EXPECT_EQ(j.of(kSite)->saving_cycles_per_access, 30);
  }
}

TEST(KeyJoin, ContentsAreNotTheBlockItself) {
  // rows[i] = site; other = rows; other flows to kKey, whose contents are walked.
  Joined j(Section()
               .block({flow(kSite, kOther, SMALLOC_FLOW_TO_CONTENTS), flow(kOther, kKey)})
               .block({}, {access(kKey, 1, true)}));
  EXPECT_NE(j.of(kSite), nullptr);
  EXPECT_EQ(j.of(kOther), nullptr);
}

TEST(KeyJoin, WhatIsLoadedFromContentsFlowsOn) {
  // p = *kKey flows to kNext, which is walked; kSite was stored in kKey's memory.
  Joined j(Section().block({flow(kSite, kKey, SMALLOC_FLOW_TO_CONTENTS),
                            flow(kKey, kNext, SMALLOC_FLOW_FROM_CONTENTS), flow(kOther, kKey)},
                           {access(kNext, 1)}));
  EXPECT_NE(j.of(kSite), nullptr);
  EXPECT_EQ(j.of(kOther), nullptr);
}

TEST(KeyJoin, WhatACalleeStoresComesBack) {
  // double *p; make(&p); walk(&p): kOther is p's memory, kKey is make's argument. make passes it on
  // to kNext, which stores.
  Joined j(Section()
               .block({flow(kOther, kKey), flow(kOther, kLast)})
               .block({flow(kKey, kNext)})
               .block({flow(kSite, kNext, SMALLOC_FLOW_TO_CONTENTS)})
               .block({}, {access(kLast, 1, true)}));
  EXPECT_NE(j.of(kSite), nullptr);
  EXPECT_EQ(j.of(kOther), nullptr);
}

TEST(KeyJoin, CallersOfOneFunctionDoNotSeeEachOthersMemory) {
  // One caller's memory holds kSite, the other's is walked. The function that both call stores
  // kOther.
  constexpr uint64_t first = 20, second = 21;
  Joined j(Section().block({flow(kSite, first, SMALLOC_FLOW_TO_CONTENTS), flow(first, kKey),
                            flow(second, kKey), flow(kOther, kKey, SMALLOC_FLOW_TO_CONTENTS)},
                           {access(second, 1, true)}));
  EXPECT_EQ(j.of(kSite), nullptr);
  EXPECT_NE(j.of(kOther), nullptr);
}

TEST(KeyJoin, AWrapperIsSeenThrough) {
  std::vector<smalloc_flow> flows = {flow(kSite, kKey),
                                     flow(kKey, kNext, SMALLOC_FLOW_UNLESS_WRAPPER)};
  Joined without(Section().block(flows, {access(kNext, 1)}));
  EXPECT_NE(without.of(kSite), nullptr);
  EXPECT_FALSE(without.join.is_wrapper(kKey));
  Joined with(
      Section().block(flows, {access(kNext, 1)}).block({flow(kKey, 0, SMALLOC_FLOW_WRAPPER)}));
  EXPECT_EQ(with.of(kSite), nullptr);
  EXPECT_TRUE(with.join.is_wrapper(kKey));
}

TEST(KeyJoin, AWrapperOfAnotherUnitsWrapperIsOne) {
  // kLast's function is a wrapper if kNext's is, and that one if kKey's is.
  std::vector<smalloc_flow> flows = {
      flow(kLast, 99, SMALLOC_FLOW_WRAPPER | SMALLOC_FLOW_CONDITIONAL),
      flow(kNext, kLast, SMALLOC_FLOW_IF_WRAPPER), flow(kKey, kNext, SMALLOC_FLOW_IF_WRAPPER)};
  EXPECT_FALSE(Joined(Section().block(flows)).join.is_wrapper(kLast));
  Joined joined(Section().block(flows).block({flow(kKey, 98, SMALLOC_FLOW_WRAPPER)}));
  EXPECT_TRUE(joined.join.is_wrapper(kNext));
  EXPECT_TRUE(joined.join.is_wrapper(kLast));
  EXPECT_FALSE(joined.join.is_wrapper(99));
}

TEST(KeyJoin, CyclesEnd) {
  Joined j(Section().block({flow(kSite, kKey), flow(kKey, kNext), flow(kNext, kKey),
                            flow(kNext, kNext, SMALLOC_FLOW_FROM_CONTENTS)},
                           {access(kNext, 1)}));
  EXPECT_NE(j.of(kSite), nullptr);
}

TEST(KeyJoin, PassesOverWhatIsNoBlock) {
  Section s;
  s.padding(24).block({flow(kSite, kKey)}).padding(8).block({}, {access(kKey, 1)}).padding(16);
  EXPECT_NE(Joined(s).of(kSite), nullptr);
  Section other;
  other.block({flow(kSite, kKey)}, {access(kKey, 1)});
  other.bytes()[4] = 2; // an unknown version
  EXPECT_EQ(Joined(other).of(kSite), nullptr);
}

TEST(KeyJoin, EveryTruncationIsSafe) {
  Section whole;
  whole.block({flow(kSite, kKey), flow(kKey, kNext)}, {access(kNext, 1)}).block({flow(1, 2)});
  for (size_t n = 0; n < whole.bytes().size(); n++) {
    Section cut = whole;
    cut.bytes().resize(n);
    Joined j(cut);
    EXPECT_EQ(j.of(kSite) != nullptr, n >= 24 + 48 + 40 + 8) << n;
  }
}

TEST(KeyJoin, CountsThatLieAreNotBelieved) {
  for (size_t field : {8, 12, 16}) { // bytes, flow_count, access_count
    Section s;
    s.block({flow(kSite, kKey)}, {access(kKey, 1)});
    const uint32_t huge = 0xfffffff8;
    memcpy(s.bytes().data() + field, &huge, sizeof huge);
    EXPECT_EQ(Joined(s).of(kSite), nullptr) << field;
  }
}

TEST(KeyJoin, NothingToJoinNeedsNoMemory) {
  EXPECT_EQ(KeyJoin(nullptr, nullptr).scratch_bytes(), 0u);
  Section s;
  s.padding(4096);
  EXPECT_EQ(Joined(s).join.scratch_bytes(), 0u);
}

TEST(KeyJoin, NamesThatDoNotEndInsideAreEmpty) {
  Section s;
  s.block({flow(kSite, kKey)});
  std::vector<uint64_t> words(s.bytes().size() / 8);
  for (size_t i = 24 + 24; i < s.bytes().size(); i++)
    s.bytes()[i] = 'x';
  memcpy(words.data(), s.bytes().data(), s.bytes().size());
  auto *block = reinterpret_cast<const smalloc_keys *>(words.data());
  for (uint32_t offset : {0u, 1u, 24u, 48u, 55u, 56u, 0xffffffffu})
    EXPECT_STREQ(string_of(*block, offset), "") << offset;
}
