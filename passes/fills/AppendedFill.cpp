//===- AppendedFill.cpp - loops that append to a reserved object ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/fills/AppendedFill.h"
#include "passes/fills/SkipConditions.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/loops/CursorSteps.h"
#include "passes/loops/SameValue.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {
namespace {

/// True if \p Next, the value of \p Cursor in the next iteration of \p L, may be \p Cursor itself.
bool mayStay(const Value *Next, const PHINode *Cursor, const Loop *L, unsigned Depth = 0) {
  if (Next == Cursor || Depth > 4)
    return true;
  auto *Merge = dyn_cast<Instruction>(Next);
  return Merge && isa<PHINode, SelectInst>(Merge) && L->contains(Merge) &&
         any_of(drop_begin(Merge->operands(), isa<SelectInst>(Merge)),
                [&](const Use &In) { return mayStay(In.get(), Cursor, L, Depth + 1); });
}

/// True if each iteration of \p L runs \p Store, unless \p Cursor equals another pointer, the end
/// of the memory.
bool storesUnlessFull(const Instruction &Store, const PHINode *Cursor, const Loop *L,
                      const DominatorTree &DT) {
  const BasicBlock *Latch = L->getLoopLatch(), *Stores = Store.getParent();
  if (DT.dominates(Stores, Latch))
    return true;
  auto *Node = DT.getNode(Stores);
  const BasicBlock *Tests = Node && Node->getIDom() ? Node->getIDom()->getBlock() : nullptr;
  auto *Branch = Tests ? dyn_cast<ConditionalBranch>(Tests->getTerminator()) : nullptr;
  auto *Compare = Branch ? dyn_cast_or_null<ICmpInst>(conditionOf(Branch)) : nullptr;
  return Compare && Compare->isEquality() && L->contains(Tests) && DT.dominates(Tests, Latch) &&
         is_contained(successors(Tests), Stores) &&
         (Compare->getOperand(0) == Cursor || Compare->getOperand(1) == Cursor);
}

/// True if \p To, which leaves a loop, is an error: a dead end, or where an exception goes.
bool isError(const BasicBlock *To) {
  if (auto *Throws = dyn_cast<InvokeInst>(To->getTerminator()))
    To = Throws->getNormalDest();
  return To->isEHPad() || isa<UnreachableInst>(To->getTerminator());
}

/// Returns how often \p From, a test of an iterator for the end of its range, does not leave \p L.
/// Scalar evolution does not divide by the element where the loop has other exits: the iterator
/// might step over the end. Null if \p From tests something else.
const SCEV *stepsToEnd(const BasicBlock *From, const Loop *L, ScalarEvolution &SE) {
  auto *Branch = dyn_cast<ConditionalBranch>(From->getTerminator());
  auto *Compare = Branch ? dyn_cast_or_null<ICmpInst>(conditionOf(Branch)) : nullptr;
  if (!Compare || !Compare->isEquality() || !Compare->getOperand(0)->getType()->isPointerTy())
    return nullptr;
  for (unsigned Side : {0u, 1u}) {
    auto *Moves = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Compare->getOperand(Side)));
    const SCEV *End = SE.getSCEV(Compare->getOperand(1 - Side));
    auto *Element = Moves ? dyn_cast<SCEVConstant>(Moves->getStepRecurrence(SE)) : nullptr;
    if (!Element || Moves->getLoop() != L || !Moves->isAffine() ||
        !Element->getAPInt().isStrictlyPositive() || !SE.isLoopInvariant(End, L))
      continue;
    Type *Wide = Element->getType();
    return SE.getUDivExpr(
        SE.getMinusSCEV(SE.getPtrToIntExpr(End, Wide), SE.getPtrToIntExpr(Moves->getStart(), Wide)),
        Element);
  }
  return nullptr;
}

/// Returns the number of iterations of \p L, 64 bits, without errors. Null if it is not known.
const SCEV *iterationsOf(const Loop *L, ScalarEvolution &SE, const DominatorTree &DT) {
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  const SCEV *Count = nullptr;
  for (BasicBlock *From : Exiting) {
    if (all_of(successors(From),
               [&](const BasicBlock *To) { return L->contains(To) || isError(To); }))
      continue;
    const SCEV *Taken = SE.getExitCount(L, From);
    if (isa<SCEVCouldNotCompute>(Taken))
      Taken = stepsToEnd(From, L, SE);
    if (Count || !Taken || isa<SCEVCouldNotCompute>(Taken) ||
        !DT.dominates(From, L->getLoopLatch()))
      return nullptr;
    Type *Wide = Type::getInt64Ty(From->getContext());
    Count = SE.getTruncateOrZeroExtend(Taken, Wide);
    if (From == L->getLoopLatch())
      Count = SE.getAddExpr(Count, SE.getOne(Wide));
  }
  return Count;
}

} // namespace

std::optional<Appended> appendedBy(const LoopReference &R, ScalarEvolution &SE,
                                   const DominatorTree &DT, const LoopInfo &LI) {
  auto *Cursor = dyn_cast<PHINode>(R.Pointer);
  const Loop *L = Cursor ? LI.getLoopFor(Cursor->getParent()) : nullptr;
  if (!L || L->getHeader() != Cursor->getParent() || !L->getLoopLatch() ||
      !L->getLoopPredecessor() || LI.getLoopFor(R.Access->getParent()) != L)
    return std::nullopt;
  const std::optional<int64_t> Step = appendStep(Cursor, L, R.Access->getDataLayout());
  if (!Step || *Step <= 0 || static_cast<uint64_t>(*Step) > MostGapBytes ||
      mayStay(Cursor->getIncomingValueForBlock(L->getLoopLatch()), Cursor, L) ||
      !storesUnlessFull(*R.Access, Cursor, L, DT))
    return std::nullopt;
  const SCEV *Iterations = iterationsOf(L, SE, DT);
  if (!Iterations)
    return std::nullopt;
  return Appended{
      L, Cursor->getIncomingValueForBlock(L->getLoopPredecessor()),
      SE.getMulExpr(wholeElements(Iterations, SE),
                    SE.getConstant(Iterations->getType(), static_cast<uint64_t>(*Step)))};
}

} // namespace smalloc
