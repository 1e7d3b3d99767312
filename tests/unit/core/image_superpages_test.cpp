// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_superpages_test.cpp tests the parts of a segment that are put on superpages, the calls that
// do it, and refusals of the kernel.
#include "smalloc/base/units.h"
#include "smalloc/pages/image_superpages.h"
#include "tests/unit/core/fake_os.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <vector>

namespace smalloc {
namespace {

struct Copy {
  size_t offset, units;
  bool executable;
};
std::vector<Copy> copies;
std::vector<size_t> collapses, advices;
int copy_error, collapse_error;
size_t collapses_refused_from;
char *const kBase = reinterpret_cast<char *>(size_t{1} << 40);
size_t unit_of(const void *p) {
  return static_cast<size_t>(static_cast<const char *>(p) - kBase) / kSuperpageBytes;
}

class ImageSuperpages : public ::testing::Test {
protected:
  void SetUp() override {
    copies.clear(), collapses.clear(), advices.clear();
    copy_error = 0, collapse_error = EINVAL, collapses_refused_from = 0;
    hooks = FakeOs::hooks();
    hooks.collapse = [](void *p, size_t) {
      collapses.push_back(unit_of(p));
      return unit_of(p) < collapses_refused_from ? 0 : collapse_error;
    };
    hooks.advise = [](void *p, size_t bytes, Advice) {
      for (size_t i = 0; i < bytes / kSuperpageBytes; i++)
        advices.push_back(unit_of(p) + i);
      return 0;
    };
    hooks.resident_pages = [](const void *, size_t) -> size_t { return 0; };
    pages.os = &hooks;
    pages.copy = [](char *p, size_t bytes, bool executable) {
      copies.push_back({unit_of(p), bytes / kSuperpageBytes, executable});
      return copy_error;
    };
    pages.may_copy_data = true;
    options.static_on_superpages = options.text_on_superpages = true;
  }
  /// Makes a segment; positions are in pages from kBase.
  ImageSegment segment(size_t start, size_t anonymous, size_t end, bool writable, bool executable) {
    return {"",
            kBase + start * kBasePageBytes,
            kBase + end * kBasePageBytes,
            kBase + anonymous * kBasePageBytes,
            writable,
            executable};
  }
  OsHooks hooks;
  ImagePages pages;
  Options options;
};

TEST_F(ImageSuperpages, BssIsAdvisedAndDataCopiedInOnePiece) {
  // .data from page 10 to 1600, .bss to 4000: units 1, 2 are whole in .data, 3 holds the border,
  // 4-6 .bss
  put_on_superpages(segment(10, 1600, 4000, true, false), options, pages);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].offset, 1u);
  EXPECT_EQ(copies[0].units, 3u);
  EXPECT_FALSE(copies[0].executable);
  EXPECT_EQ(advices, (std::vector<size_t>{4, 5, 6}));
  EXPECT_EQ(pages.static_units, 6u);
  EXPECT_TRUE(collapses.empty()) << "untouched memory gets its superpages by faults";
}
TEST_F(ImageSuperpages, TouchedBssIsCollapsed) {
  hooks.resident_pages = [](const void *p, size_t) -> size_t { return unit_of(p) == 1; };
  collapse_error = 0;
  put_on_superpages(segment(0, 0, 4 * 512, true, false), options, pages);
  EXPECT_EQ(collapses, std::vector<size_t>{1});
}
TEST_F(ImageSuperpages, WithThreadsDataStays) {
  pages.may_copy_data = false;
  put_on_superpages(segment(0, 1024, 2048, true, false), options, pages);
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(advices, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(pages.refused_units, 2u);
  EXPECT_EQ(pages.last_error, EBUSY);
}
TEST_F(ImageSuperpages, TextIsCollapsedInPlaceAndTheRestCopied) {
  collapses_refused_from = 2;
  put_on_superpages(segment(0, 5 * 512, 5 * 512, false, true), options, pages);
  EXPECT_EQ(collapses.size(), 5u);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].offset, 2u);
  EXPECT_EQ(copies[0].units, 3u);
  EXPECT_TRUE(copies[0].executable);
  EXPECT_EQ(pages.text_units, 5u);
}
TEST_F(ImageSuperpages, RefusalsAreCounted) {
  copy_error = EACCES;
  put_on_superpages(segment(0, 2 * 512, 2 * 512, false, true), options, pages);
  EXPECT_EQ(pages.text_units, 0u);
  EXPECT_EQ(pages.refused_units, 2u);
  EXPECT_EQ(pages.last_error, EACCES);
}
TEST_F(ImageSuperpages, TheBudgetEndsIt) {
  pages.units_left = 3;
  put_on_superpages(segment(0, 2 * 512, 10 * 512, true, false), options, pages);
  EXPECT_EQ(pages.static_units, 3u);
  EXPECT_EQ(copies[0].units, 2u);
  EXPECT_EQ(advices.size(), 1u);
  put_on_superpages(segment(0, 5 * 512, 5 * 512, false, true), options, pages);
  EXPECT_EQ(pages.text_units, 0u);
}
TEST_F(ImageSuperpages, OnlyWhatWasAskedFor) {
  options.text_on_superpages = false;
  put_on_superpages(segment(0, 5 * 512, 5 * 512, false, true), options, pages);
  options.text_on_superpages = true;
  options.static_on_superpages = false;
  put_on_superpages(segment(0, 0, 5 * 512, true, false), options, pages);
  put_on_superpages(segment(0, 5 * 512, 5 * 512, true, true), options, pages);   // text relocations
  put_on_superpages(segment(0, 5 * 512, 5 * 512, false, false), options, pages); // .rodata
  EXPECT_EQ(pages.static_units + pages.text_units + pages.refused_units, 0u);
}
TEST_F(ImageSuperpages, LessThanASuperpageIsLeftAlone) {
  put_on_superpages(segment(1, 300, 1000, true, false), options, pages);
  put_on_superpages(segment(1, 1000, 1000, false, true), options, pages);
  EXPECT_TRUE(copies.empty() && advices.empty() && collapses.empty());
}

TEST_F(ImageSuperpages, TakesTheStacksWholeUnitsFromItsUpperEnd) {
  const StackRange stack = {kBase + kBasePageBytes, kBase + 5 * kSuperpageBytes + 100, 0};
  put_stack(stack, pages);
  EXPECT_EQ(advices, (std::vector<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(pages.stack_units, 4u);
  advices.clear();
  pages.units_left = 2; // the budget
  put_stack(stack, pages);
  EXPECT_EQ(advices, (std::vector<size_t>{3, 4}));
  advices.clear();
  put_stack({}, pages); // another thread's
  pages.units_left = 9;
  put_stack({kBase + 1, kBase + 2 * kSuperpageBytes - 1}, pages); // no whole unit
  EXPECT_TRUE(advices.empty());
}

} // namespace
} // namespace smalloc
