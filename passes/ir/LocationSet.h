//===- LocationSet.h - the set of places that a pointer may point to --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds one of PointerOrigins' sets as a sorted vector of words. A word holds 64 places; empty
// words are left out. Nearly every operation adds one set to another that has all or nearly all of
// its members already. LLVM's SparseBitVector, a linked list, takes four times the instructions for
// that.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LOCATIONSET_H
#define SMALLOC_PASSES_LOCATIONSET_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cstdint>

namespace smalloc {

class LocationSet {
  struct Word {
    unsigned Index; ///< first member of the word / 64
    uint64_t Bits;
    bool operator<(const Word &Other) const {
      return Index != Other.Index ? Index < Other.Index : Bits < Other.Bits;
    }
  };
  llvm::SmallVector<Word, 1> Words;

  /// Returns the position of the word \p Index, or where it has to be inserted. The position is at
  /// most \p Index, because at most that many words have smaller indices.
  size_t find(unsigned Index) const {
    const size_t Most = std::min<size_t>(Index, Words.size());
    if (Most == 0 || Words[Most - 1].Index < Index)
      return Most;
    if (Words[Most - 1].Index == Index) // members usually arrive in ascending order
      return Most - 1;
    return static_cast<size_t>(
        std::lower_bound(Words.begin(), Words.begin() + Most, Index,
                         [](const Word &W, unsigned I) { return W.Index < I; }) -
        Words.begin());
  }

public:
  bool empty() const { return Words.empty(); }

  size_t words() const { return Words.size(); }
  void reserve(size_t Count) { Words.reserve(Count); }

  unsigned count() const {
    unsigned Count = 0;
    for (const Word &W : Words)
      Count += static_cast<unsigned>(llvm::popcount(W.Bits));
    return Count;
  }

  bool test(unsigned Member) const {
    const size_t At = find(Member / 64);
    return At < Words.size() && Words[At].Index == Member / 64 &&
           (Words[At].Bits >> Member % 64 & 1);
  }

  /// Adds \p Member; true if the set did not have it.
  bool insert(unsigned Member) {
    const uint64_t Bit = uint64_t(1) << Member % 64;
    const size_t At = find(Member / 64);
    if (At == Words.size() || Words[At].Index != Member / 64) {
      Words.insert(Words.begin() + At, Word{Member / 64, Bit});
      return true;
    }
    const bool New = !(Words[At].Bits & Bit);
    Words[At].Bits |= Bit;
    return New;
  }

  /// Adds \p Others; the members that were missing also go into \p New. True if any was missing.
  bool insert(const LocationSet &Others, LocationSet &New) {
    bool Any = false;
    size_t At = 0, Missing = 0;
    for (const Word &O : Others.Words) {
      // Two sets usually have nearly the same words, so the next word is tried before a search.
      if (At < Words.size() && Words[At].Index < O.Index && ++At < Words.size() &&
          Words[At].Index < O.Index)
        At = find(O.Index);
      const bool Here = At < Words.size() && Words[At].Index == O.Index;
      const uint64_t Fresh = Here ? O.Bits & ~Words[At].Bits : O.Bits;
      if (!Fresh)
        continue;
      if (!Any) // usually the first of several
        New.reserve(New.words() + static_cast<size_t>(Others.Words.end() - &O));
      Any = true;
      New.add(Word{O.Index, Fresh});
      if (Here)
        Words[At].Bits |= Fresh;
      else
        ++Missing;
    }
    if (Missing)
      merge(Others, Missing);
    return Any;
  }

  /// Adds members one by one; cheap if each is near the one before it.
  class Filler {
  public:
    explicit Filler(LocationSet &Into) : Into(Into) {}
    void insert(unsigned Member) {
      const uint64_t Bit = uint64_t(1) << Member % 64;
      if (At >= Into.Words.size() || Into.Words[At].Index != Member / 64) {
        At = Into.find(Member / 64);
        if (At == Into.Words.size() || Into.Words[At].Index != Member / 64)
          Into.Words.insert(Into.Words.begin() + At, Word{Member / 64, 0});
      }
      Into.Words[At].Bits |= Bit;
    }

  private:
    LocationSet &Into;
    size_t At = 0; ///< position of the last member's word
  };

  /// An arbitrary total order, for use as a key of a std::map.
  bool operator<(const LocationSet &Other) const {
    return std::lexicographical_compare(Words.begin(), Words.end(), Other.Words.begin(),
                                        Other.Words.end());
  }

  /// Calls \p Take with each member that is also in \p Wanted, in ascending order.
  template <typename Function> void eachOf(const LocationSet &Wanted, Function Take) const {
    size_t At = 0;
    for (const Word &W : Wanted.Words) {
      if (At < Words.size() && Words[At].Index < W.Index && ++At < Words.size() &&
          Words[At].Index < W.Index)
        At = find(W.Index);
      if (At == Words.size())
        return;
      if (Words[At].Index == W.Index)
        for (uint64_t Left = Words[At].Bits & W.Bits; Left; Left &= Left - 1)
          Take(W.Index * 64 + static_cast<unsigned>(llvm::countr_zero(Left)));
    }
  }

  /// Visits the members in ascending order.
  class Iterator {
  public:
    Iterator(const Word *At, const Word *End) : At(At), End(End), Left(At == End ? 0 : At->Bits) {}
    unsigned operator*() const {
      return At->Index * 64 + static_cast<unsigned>(llvm::countr_zero(Left));
    }
    Iterator &operator++() {
      Left &= Left - 1;
      if (!Left && ++At != End)
        Left = At->Bits;
      return *this;
    }
    bool operator!=(const Iterator &Other) const { return At != Other.At || Left != Other.Left; }

  private:
    const Word *At, *End;
    uint64_t Left;
  };
  Iterator begin() const { return {Words.begin(), Words.end()}; }
  Iterator end() const { return {Words.end(), Words.end()}; }

private:
  void add(Word W) {
    if (Words.empty() || Words.back().Index < W.Index) {
      Words.push_back(W);
      return;
    }
    const size_t At = find(W.Index);
    if (At < Words.size() && Words[At].Index == W.Index)
      Words[At].Bits |= W.Bits;
    else
      Words.insert(Words.begin() + At, W);
  }

  /// Inserts the \p Missing words that only \p Others has; moves each word once.
  void merge(const LocationSet &Others, size_t Missing) {
    size_t Own = Words.size(), Other = Others.Words.size();
    Words.resize_for_overwrite(Own + Missing);
    for (size_t To = Words.size(); To > Own;) {
      const Word &O = Others.Words[Other - 1];
      if (Own > 0 && Words[Own - 1].Index > O.Index) {
        Words[--To] = Words[Own - 1];
        --Own;
      } else if (Own > 0 && Words[Own - 1].Index == O.Index) {
        --Other;
      } else {
        Words[--To] = O;
        --Other;
      }
    }
  }
};

} // namespace smalloc
#endif
