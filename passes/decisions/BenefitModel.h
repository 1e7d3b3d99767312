//===- BenefitModel.h - what one reference asks for its object -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides of one reference and one site: how many pages the reference touches, how many of its accesses miss, what
// superpages would save, and from which object size on that is worth it. The references of a nest are judged together:
// they share the TLB.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_BENEFITMODEL_H
#define SMALLOC_PASSES_BENEFITMODEL_H

#include "passes/ir/LocationSet.h"
#include "passes/loops/LoopAccesses.h"
#include "passes/options/Options.h"
#include "passes/pointers/PointerOrigins.h"
#include "passes/spread/NestSpread.h"
#include "passes/spread/PayingSizes.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace smalloc {

/// What one reference asks for its object.
struct Finding {
  const LoopReference *Reference = nullptr;
  smalloc_pattern Pattern = SMALLOC_PATTERN_NONE;
  double Misses = 0, Saving = 0, Pages = -1, Accesses = -1, Exposed = 0;
  uint64_t MinBytes = SMALLOC_UNKNOWN; ///< pays from here on; 0: always
  std::string Why;
  bool pays() const { return MinBytes != SMALLOC_UNKNOWN; }
};

/// The object that a reference is judged for.
struct EvaluatedObject {
  const llvm::CallBase *Site = nullptr; ///< null: any
  uint64_t SizeBytes = SMALLOC_UNKNOWN;
  bool Many = false; ///< one of many that the site makes: their number matters, not the size
};

/// Most findings only compete with others: what is said of one, and its misses where nothing depends on them, is worked out
/// for those that are kept.
enum class Detail { Verdict, Whole };

class ReferenceBenefit {
public:
  ReferenceBenefit(const PointerOrigins &Origins, const Options &O)
      : Origins(Origins), O(O), T(O.Machine.target()) {}

  void setSize(const llvm::CallBase *Site, uint64_t Bytes) { Sizes[Site] = Bytes; }
  /// \p R must stay where it is. All are added before any is judged.
  void add(const LoopReference &R);
  /// References that may reach what \p Site allocates, in the order in which they were added.
  llvm::SmallVector<const LoopReference *, 8> reaching(const llvm::CallBase *Site) const;

  /// Good until the next question.
  const Finding &judge(const LoopReference &R, const EvaluatedObject &Object, Detail D) const;
  /// Between which bounds of its sizes known at run time only \p R, alone in its nest, walks more pages than the reach holds
  /// in a way that superpages speed up; nothing if there are none.
  std::optional<std::vector<SizeBounds>> sizesThatPay(const LoopReference &R,
                                                      const EvaluatedObject &Object,
                                                      const std::vector<OpenPlace> &Places,
                                                      size_t Sizes) const;

private:
  /// Loops that are one, unrolled: 0 for a reference that stands for itself.
  using Repetitions = size_t;
  Finding judgeAnew(const LoopReference &R, Repetitions Around, const EvaluatedObject &Object,
                    Detail D) const;
  /// Where a reference's pointer comes from.
  struct Walked {
    uint64_t Bytes = SMALLOC_UNKNOWN;
    unsigned Number = 0; ///< of the object, within the unit
  };
  Walked walkedBy(const LoopReference &R) const;
  uint64_t sizeOf(const llvm::CallBase *Site) const;
  Repetitions repetitionsOf(const LoopReference &R, const llvm::CallBase *Site) const;
  LocationSet reachingIndices(const llvm::CallBase *Site) const;
  std::vector<SpreadReference> nestOf(const LoopReference &R, const LoopReference &Given,
                                      const EvaluatedObject &Object) const;
  double savingOf(std::vector<SpreadReference> Nest, double Cost) const;
  Finding judgePaper(const LoopReference &R, const EvaluatedObject &Object) const;

  using References = llvm::SmallVector<const LoopReference *, 8>;
  const PointerOrigins &Origins;
  const Options &O;
  SpreadTarget T;
  /// Where tables of functions or containers join what a unit allocates, as many references reach each of as many sites:
  /// references are held by the sites that they share, by their place in Added.
  References Added;
  std::vector<LocationSet> Groups;
  std::map<std::vector<const llvm::CallBase *>, unsigned> GroupIds;
  llvm::DenseMap<const PointerOrigins::Answer *, unsigned> GroupOfAnswer;
  llvm::DenseMap<const llvm::CallBase *, llvm::SmallVector<unsigned, 2>> GroupsOf;
  /// Walks of a function that are like each other, by motion, stride and depth, and the nests that have one such.
  std::map<std::tuple<const llvm::Function *, Motion, int64_t, size_t>, unsigned> Alike;
  llvm::DenseMap<std::pair<unsigned, const llvm::Loop *>, unsigned> NestsAlike;
  struct Likeness {
    unsigned Walk, Nest;
  };
  llvm::DenseMap<const LoopReference *, Likeness> LikenessOf; ///< of those that move in a loop
  /// Of the site that is judged, how many nests have walks of each likeness.
  mutable const llvm::CallBase *CountedFor = nullptr;
  mutable std::vector<Repetitions> Counted;
  llvm::DenseMap<const llvm::Loop *, References> Nests;
  llvm::DenseMap<const llvm::CallBase *, uint64_t> Sizes;
  mutable llvm::DenseMap<const llvm::Value *, unsigned> ObjectNumbers;
  mutable llvm::DenseMap<const LoopReference *, Walked> Known;
  mutable llvm::DenseMap<std::pair<const LoopReference *, Repetitions>, Finding> OfAnything;
  mutable Finding Last; ///< not in it
  /// What walks of one shape cost, over an object of any size: most loops of a unit have one of a few shapes.
  struct AnySize {
    uint64_t MinBytes = SMALLOC_UNKNOWN; ///< smallest size that pays
    std::optional<double> Beyond;        ///< exposed misses an access, well beyond the reach
  };
  AnySize &ofAnySize(const SpreadReference &Own) const;
  mutable std::map<std::vector<uint64_t>, AnySize> Shapes;
  /// Between which bounds they pay, by their shapes and by what of these depends on sizes.
  mutable std::map<std::vector<uint64_t>, std::optional<std::vector<SizeBounds>>> Bounds;
};

bool tripsKnown(const LoopReference &R);
bool shapeKnown(const LoopReference &R);

} // namespace smalloc
#endif
