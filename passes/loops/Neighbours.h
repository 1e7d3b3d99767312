//===- Neighbours.h - references near each other ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the references of one innermost loop to one base. References at a constant distance form
// a group, and a reference to pages that another one covers only repeats it.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_NEIGHBOURS_H
#define SMALLOC_PASSES_NEIGHBOURS_H

#include "passes/loops/LoopReference.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace llvm {
class SCEVAddRecExpr;
}

namespace smalloc {

class Neighbours {
public:
  Neighbours(std::vector<LoopReference> &References, uint64_t PageBytes, llvm::ScalarEvolution &SE)
      : References(References), PageBytes(PageBytes), SE(SE) {}

  /// Sets the group of \p R, which is at \p Address in \p Inner, and whether \p R repeats another
  /// reference.
  void compare(LoopReference &R, const llvm::Loop *Inner, const llvm::SCEV *Address);
  /// Adds the reference at \p Address in \p Inner, the next one of References.
  void add(const llvm::Loop *Inner, const llvm::SCEV *Address);

private:
  /// A walk in a loop, and its last address. Computing the address takes symbolic arithmetic that
  /// no other pass needs, so lastOf() does it on demand.
  struct InnerWalk {
    const llvm::SCEVAddRecExpr *Walk;
    const llvm::SCEV *Last = nullptr;
  };
  struct Member {
    const llvm::SCEV *Address;
    size_t Reference; ///< index of the reference
  };
  /// References of one innermost loop to one base.
  struct Neighbourhood {
    llvm::SmallVector<Member, 4> Members;
    llvm::SmallVector<InnerWalk, 4> Inside; ///< walks in loops directly inside
  };
  const llvm::SCEV *lastOf(InnerWalk &W);
  bool isPassed(Neighbourhood &Near, const llvm::SCEV *Address);

  std::vector<LoopReference> &References;
  uint64_t PageBytes;
  llvm::ScalarEvolution &SE;
  llvm::DenseMap<std::pair<const llvm::Loop *, const llvm::SCEV *>, Neighbourhood> ByBase;
  unsigned Groups = 0;
};

} // namespace smalloc
#endif
