//===- BenefitModel.h - what superpages save for one reference ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the benefit of superpages for one reference and one site. It counts the pages that the
// reference touches, its TLB misses, and the cycles that superpages would save. From that follows
// the object size from which superpages pay. The references of a loop nest are evaluated together,
// since they share the TLB.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_BENEFITMODEL_H
#define SMALLOC_PASSES_BENEFITMODEL_H

#include "passes/ir/LocationSet.h"
#include "passes/loops/LoopAccesses.h"
#include "passes/options/Options.h"
#include "passes/pointers/PointerOrigins.h"
#include "passes/spread/NestSpread.h"
#include "passes/spread/PayingSizes.h"
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace smalloc {

/// The benefit of superpages for one reference, and the numbers that it follows from.
struct Finding {
  const LoopReference *Reference = nullptr;
  smalloc_pattern Pattern = SMALLOC_PATTERN_NONE;
  double Misses = 0, Saving = 0, Pages = -1, Accesses = -1, Exposed = 0;
  uint64_t MinBytes = SMALLOC_UNKNOWN; ///< superpages pay from this object size; 0: always
  std::string Why;
  bool pays() const { return MinBytes != SMALLOC_UNKNOWN; }
};

/// The object for which a reference is evaluated.
struct EvaluatedObject {
  const llvm::CallBase *Site = nullptr; ///< null: any site
  uint64_t SizeBytes = SMALLOC_UNKNOWN;
  bool Many = false; ///< the site makes many objects: their total counts, not this size
};

/// How much of a finding is computed. Most findings are only compared with others. Their text, and
/// the misses that nothing depends on, are computed only for the findings that are kept (Whole).
enum class Detail { Verdict, Whole };

class ReferenceBenefit {
public:
  ReferenceBenefit(const PointerOrigins &Origins, const Options &O)
      : Origins(Origins), O(O), T(O.Machine.target()) {}

  void setSize(const llvm::CallBase *Site, uint64_t Bytes) { Sizes[Site] = Bytes; }
  /// Adds \p R, which must keep its address. All references must be added before the first judge().
  void add(const LoopReference &R);
  /// Returns the references that may reach what \p Site allocates, in the order of add().
  llvm::SmallVector<const LoopReference *, 8> reaching(const llvm::CallBase *Site) const;

  /// Returns the finding for \p R and \p Object. The result is valid until the next call.
  const Finding &judge(const LoopReference &R, const EvaluatedObject &Object, Detail D) const;
  /// Returns the bounds of the sizes in \p Places, known at run time only, between which superpages
  /// pay for \p R. They pay if \p R, alone in its nest, walks more pages than the TLB reach holds
  /// and superpages speed up the walk. Returns nothing if there are no such bounds.
  std::optional<std::vector<SizeBounds>> sizesThatPay(const LoopReference &R,
                                                      const EvaluatedObject &Object,
                                                      const std::vector<OpenPlace> &Places,
                                                      size_t Sizes) const;

private:
  /// number of copies of one unrolled loop; 0: the reference is no copy
  using Repetitions = size_t;
  Finding judgeAnew(const LoopReference &R, Repetitions Around, const EvaluatedObject &Object,
                    Detail D) const;
  /// The object that a reference walks.
  struct Walked {
    uint64_t Bytes = SMALLOC_UNKNOWN;
    unsigned Number = 0; ///< number of the object within the unit
  };
  Walked walkedBy(const LoopReference &R) const;
  uint64_t sizeOf(const llvm::CallBase *Site) const;
  Repetitions repetitionsOf(const LoopReference &R, const llvm::CallBase *Site) const;
  LocationSet reachingIndices(const llvm::CallBase *Site) const;
  struct Evaluation;
  const SpreadResult &inNest(Evaluation &E) const;
  bool isRare(Evaluation &E) const;
  void judgeCounted(Evaluation &E, double Cost, Finding &Out) const;
  void judgeAnySize(Evaluation &E, Finding &Out) const;
  std::vector<SpreadReference> nestOf(const LoopReference &R, const LoopReference &Given,
                                      const EvaluatedObject &Object) const;
  double savingOf(std::vector<SpreadReference> Nest, double Cost) const;
  Finding judgePaper(const LoopReference &R, const EvaluatedObject &Object) const;

  using References = llvm::SmallVector<const LoopReference *, 8>;
  const PointerOrigins &Origins;
  const Options &O;
  SpreadTarget T;
  /// References are grouped by the set of sites that they may reach. Tables of functions or
  /// containers can join the allocations of a unit, so that many references reach each of many
  /// sites. A group holds indices into Added.
  References Added;
  std::vector<LocationSet> Groups;
  std::map<std::vector<const llvm::CallBase *>, unsigned> GroupIds;
  llvm::DenseMap<const PointerOrigins::Answer *, unsigned> GroupOfAnswer;
  llvm::DenseMap<const llvm::CallBase *, llvm::SmallVector<unsigned, 2>> GroupsOf;
  /// Similar walks of a function (same motion, stride and depth), and the nests that have such
  /// walks.
  std::map<std::tuple<const llvm::Function *, Motion, int64_t, size_t>, unsigned> Alike;
  llvm::DenseMap<std::pair<unsigned, const llvm::Loop *>, unsigned> NestsAlike;
  struct Likeness {
    unsigned Walk, Nest;
  };
  llvm::DenseMap<const LoopReference *, Likeness>
      LikenessOf; ///< only for references that move in a loop
  /// For each similar walk, the number of nests that have it and reach site CountedFor.
  mutable const llvm::CallBase *CountedFor = nullptr;
  mutable std::vector<Repetitions> Counted;
  llvm::DenseMap<const llvm::Loop *, References> Nests;
  llvm::DenseMap<const llvm::CallBase *, uint64_t> Sizes;
  mutable llvm::DenseMap<const llvm::Value *, unsigned> ObjectNumbers;
  mutable llvm::DenseMap<const LoopReference *, Walked> Known;
  mutable llvm::DenseMap<std::pair<const LoopReference *, Repetitions>, Finding> OfAnything;
  mutable Finding Last; ///< the last finding that OfAnything does not hold
  /// The cost of walks of one shape over an object of any size. Most loops of a unit have one of a
  /// few shapes.
  struct AnySize {
    uint64_t MinBytes = SMALLOC_UNKNOWN; ///< smallest size for which superpages pay
    std::optional<double> Beyond;        ///< exposed misses per access, well beyond the TLB reach
  };
  AnySize &ofAnySize(const SpreadReference &Own) const;
  mutable std::map<std::vector<uint64_t>, AnySize> Shapes;
  /// Bounds of paying sizes, by the shape of the walk and by the parts of it that depend on sizes.
  mutable std::map<std::vector<uint64_t>, std::optional<std::vector<SizeBounds>>> Bounds;
};

} // namespace smalloc
#endif
