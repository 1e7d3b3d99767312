//===- ThreadPartition.cpp - objects that threads divide among them ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/ThreadPartition.h"
#include "passes/loops/LoopAccesses.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Schedule of one contiguous chunk per thread (kmp.h).
constexpr uint64_t StaticSchedule = 34;
constexpr unsigned ScheduleArgument = 2, LowerBoundArgument = 4;

/// Loops of one parallel function that are divided among threads.
struct ParallelFunction {
  SmallPtrSet<const Value *, 4> LowerBounds; ///< loads of the lower bound of this thread's chunk
  bool Static = false;                       ///< the function has a loop with StaticSchedule
};

bool isStaticInit(const Function &Callee) {
  return Callee.getName().starts_with("__kmpc_for_static_init_");
}

/// Returns the functions that are bodies of parallel regions or contain divided loops.
DenseMap<Function *, ParallelFunction> parallelFunctions(Module &M) {
  DenseMap<Function *, ParallelFunction> Result;
  for (Function &F : M) {
    if (F.getName() == "__kmpc_fork_call" || F.getName() == "__kmpc_fork_teams")
      for (User *U : F.users())
        if (auto *Call = dyn_cast<CallBase>(U); Call && Call->arg_size() > 2)
          if (auto *Body = dyn_cast<Function>(Call->getArgOperand(2)->stripPointerCasts()))
            Result[Body];
    if (!isStaticInit(F))
      continue;
    for (User *U : F.users()) {
      auto *Call = dyn_cast<CallBase>(U);
      if (!Call || Call->getCalledFunction() != &F || Call->arg_size() <= LowerBoundArgument)
        continue;
      ParallelFunction &P = Result[Call->getFunction()];
      auto *Schedule = dyn_cast<ConstantInt>(Call->getArgOperand(ScheduleArgument));
      if (!Schedule || Schedule->getZExtValue() != StaticSchedule)
        continue;
      P.Static = true;
      for (User *Of : Call->getArgOperand(LowerBoundArgument)->users())
        if (auto *Load = dyn_cast<LoadInst>(Of))
          P.LowerBounds.insert(Load);
    }
  }
  return Result;
}

/// Returns the loop whose recurrence in \p S begins at a chunk's lower bound; null: S does not
/// follow the chunk.
const Loop *dividedLoop(const SCEV *S, const ParallelFunction &P) {
  const Loop *Found = nullptr;
  SCEVExprContains(S, [&](const SCEV *Part) {
    auto *Recurrence = dyn_cast<SCEVAddRecExpr>(Part);
    if (Recurrence && SCEVExprContains(Recurrence->getStart(), [&](const SCEV *Leaf) {
          auto *Unknown = dyn_cast<SCEVUnknown>(Leaf);
          return Unknown && P.LowerBounds.contains(Unknown->getValue());
        }))
      // The innermost part comes last: the loop that starts at the bound itself.
      Found = Recurrence->getLoop();
    return false;
  });
  return Found;
}

/// True if one step of the divided loop is at least as long as what the other loops around the
/// access walk.
bool alongLeadingDimension(const SCEV *S, const Loop *Divided, const Loop *Innermost,
                           ScalarEvolution &SE) {
  const LoopLevel Step = motionOf(S, Divided, SE);
  if (Step.Kind != Motion::Constant && Step.Kind != Motion::Symbolic)
    return false;
  for (const Loop *L = Innermost; L; L = L->getParentLoop()) {
    if (L == Divided)
      continue;
    const LoopLevel Other = motionOf(S, L, SE);
    if (Other.Kind == Motion::None)
      continue;
    if (isUnpredictable(Other.Kind))
      return false;
    if (Step.Kind == Motion::Constant && (Other.Kind == Motion::Symbolic ||
                                          std::abs(Other.StrideBytes) > std::abs(Step.StrideBytes)))
      return false;
    // Of two strides known only at run time, the outer one is assumed to be the longer one.
    if (Other.Kind == Motion::Symbolic && !Divided->contains(L))
      return false;
  }
  return true;
}

bool isDivided(Value *Pointer, Instruction &Access, const ParallelFunction &P, const LoopInfo &LI,
               ScalarEvolution &SE) {
  const Loop *Innermost = LI.getLoopFor(Access.getParent());
  if (!Innermost || !SE.isSCEVable(Pointer->getType()))
    return false;
  const SCEV *S = SE.getSCEV(Pointer);
  const Loop *Divided = dividedLoop(S, P);
  return Divided && Divided->contains(&Access) && alongLeadingDimension(S, Divided, Innermost, SE);
}

} // namespace

DenseSet<const CallBase *> partitionedSites(Module &M, FunctionAnalysisManager &FAM,
                                            const PointerOrigins &Origins) {
  DenseSet<const CallBase *> Divided, Otherwise;
  for (auto &[F, P] : parallelFunctions(M)) {
    if (F->isDeclaration())
      continue;
    const LoopInfo &LI = FAM.getResult<LoopAnalysis>(*F);
    ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(*F);
    for (Instruction &I : instructions(*F)) {
      Value *Pointer = getLoadStorePointerOperand(&I);
      if (!Pointer)
        continue;
      const bool Good = P.Static && isDivided(Pointer, I, P, LI, SE);
      for (const CallBase *Site : Origins.originsOf(Pointer).Sites)
        (Good ? Divided : Otherwise).insert(Site);
    }
  }
  for (const CallBase *Site : Otherwise)
    Divided.erase(Site);
  return Divided;
}

} // namespace smalloc
