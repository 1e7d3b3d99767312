//===- AllocationWrappers.cpp - functions that return fresh memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/AllocationWrappers.h"
#include "passes/ir/InstructionCount.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most instructions in loops of a wrapper: enough to initialise rows of rows. A function that
/// computes more has a result of its own and is no wrapper. Vectorising, unrolling and selecting
/// its loops twice would double the compile time of the unit.
constexpr unsigned MaxLoopInstructions = 50;
/// Most instructions in loops of all wrappers of a unit: the larger of this number and this share
/// of the unit. Without the limit, a unit of only such functions would still take twice as long to
/// compile.
constexpr size_t MaxLoopInstructionsOfUnit = 100, LeastUnitPerLoopInstruction = 40;
/// Most functions that call each other whose results depend on each other: analyse() recurses.
constexpr size_t MaxNested = 128;

size_t instructionsInLoops(const Function &F, const LoopInfo &Loops) {
  size_t Instructions = 0;
  for (const BasicBlock &Block : F)
    if (Loops.getLoopFor(&Block))
      Instructions += Block.size();
  return Instructions;
}

std::optional<uint64_t> constantOf(const Value *Size) {
  if (auto *C = dyn_cast_or_null<ConstantInt>(Size))
    return C->getZExtValue();
  return std::nullopt;
}

/// Returns the index of the argument that \p Size is, apart from a constant that is added or a
/// constant limit. -1: it is no argument.
int argumentBehind(const Value *Size) {
  while (Size) {
    if (auto *Sum = dyn_cast<BinaryOperator>(Size);
        Sum && Sum->getOpcode() == Instruction::Add && isa<ConstantInt>(Sum->getOperand(1)))
      Size = Sum->getOperand(0);
    else if (auto *Most = dyn_cast<MinMaxIntrinsic>(Size); Most && isa<Constant>(Most->getRHS()))
      Size = Most->getLHS(); // malloc(size ? size : 1)
    else
      break;
  }
  auto *Given = dyn_cast_or_null<Argument>(Size);
  return Given && Given->getType()->isIntegerTy(64) ? static_cast<int>(Given->getArgNo()) : -1;
}

} // namespace

AllocationWrappers::AllocationWrappers(Module &M, FunctionAnalysisManager &FAM) : FAM(FAM) {
  LoopInstructionsLeft =
      std::max(MaxLoopInstructionsOfUnit, instructionsOf(M) / LeastUnitPerLoopInstruction);
  for (Function &F : M)
    if (!F.isDeclaration())
      analyse(F);
  dropSingleUses();
  for (Function &F : M) {
    if (auto *W = find(&F))
      Order.push_back(W);
    if (leavesAlone(F))
      continue;
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call || !Call->hasFnAttr(ContextIdAttr))
        continue;
      const Function *Callee = calledFunction(*Call);
      const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
      const AllocationWrapper *W = Callee ? find(Callee) : nullptr;
      const bool HandsOut = W && W->Out >= 0 && plainCall(*Call) &&
                            Callee->getFunctionType() == Call->getFunctionType() &&
                            canTakeCell(*Callee->getFunctionType(), Call->getAttributes());
      const bool Guessed = guessedOut(*Call) >= 0 && canBeSentOn(*Call, Callee, TLI);
      if (!HandsOut && !Guessed &&
          (allocationFamily(*Call) || !mayBeWrapperCall(*Call, TLI) ||
           (!Callee->isDeclaration() && !W)))
        continue;
      Call->addFnAttr(Attribute::get(M.getContext(), SiteIdAttr,
                                     Call->getFnAttr(ContextIdAttr).getValueAsString()));
      Contexts.insert(Call);
    }
  }
  for (const CallBase *Call : Contexts) {
    SmallVector<const CallBase *, 4> Stack{Call};
    SmallPtrSet<const CallBase *, 8> Seen{Call};
    while (!Stack.empty())
      if (const AllocationWrapper *W = calledBy(*Stack.pop_back_val()))
        for (const CallBase *Fresh : W->Fresh)
          if (Seen.insert(Fresh).second) {
            Inside[Call].push_back(Fresh);
            Stack.push_back(Fresh);
          }
  }
}

/// Drops wrappers that are local and called once, unless another wrapper has that call. They have
/// one context, and the allocation inside says more than the call.
void AllocationWrappers::dropSingleUses() {
  DenseSet<const CallBase *> Inner;
  for (auto &[F, W] : Wrappers)
    Inner.insert(W->Fresh.begin(), W->Fresh.end());
  SmallVector<const Function *, 8> Dropped;
  for (auto &[F, W] : Wrappers)
    if (F->hasLocalLinkage() && F->hasOneUse() &&
        !Inner.contains(dyn_cast<CallBase>(*F->user_begin())))
      Dropped.push_back(F);
  for (const Function *F : Dropped)
    Wrappers.erase(F);
}

const AllocationWrapper *AllocationWrappers::find(const Function *F) const {
  auto It = Wrappers.find(F);
  return It == Wrappers.end() ? nullptr : It->second.get();
}

const AllocationWrapper *AllocationWrappers::calledBy(const CallBase &Call) const {
  return find(calledFunction(Call));
}

ArrayRef<const CallBase *> AllocationWrappers::inside(const CallBase &Call) const {
  auto It = Inside.find(&Call);
  return It == Inside.end() ? ArrayRef<const CallBase *>() : ArrayRef(It->second);
}

bool AllocationWrappers::analyse(Function &F) {
  if (find(&F))
    return true;
  if (Rejected.contains(&F) || InProgress.size() == MaxNested || !InProgress.insert(&F).second)
    return false; // recursive: its own result proves nothing
  AllocationWrapper W;
  W.F = &F;
  const bool Ok = givesOnlyFresh(F, W);
  InProgress.erase(&F);
  const size_t InLoops =
      Ok && !W.Fresh.empty() ? instructionsInLoops(F, FAM.getResult<LoopAnalysis>(F)) : 0;
  const size_t Copied =
      F.hasLocalLinkage() && F.hasOneUse() ? 0 : InLoops; // dropSingleUses() drops most of these
  if (!Ok || W.Fresh.empty() || InLoops > MaxLoopInstructions || Copied > LoopInstructionsLeft) {
    Rejected.insert(&F);
    return false;
  }
  LoopInstructionsLeft -= Copied;
  // Callers in other units look for the second entry of an exported wrapper. A constructor is not
  // exported: it fills its own object.
  const uint64_t OutBytes =
      W.Out < 0 ? 0 : F.getArg(static_cast<unsigned>(W.Out))->getDereferenceableBytes();
  W.Exported =
      F.hasExternalLinkage() && (W.Out < 0 || (hasNumber(F) && OutBytes <= sizeof(uint64_t)));
  findSize(W);
  Wrappers[&F] = std::make_unique<AllocationWrapper>(std::move(W));
  return true;
}

/// Sets the size of \p W if every allocation requests one and the same argument, with or without a
/// header of constant size, or the same number of bytes.
void AllocationWrappers::findSize(AllocationWrapper &W) const {
  for (CallBase *Call : W.Fresh) {
    const int At = sizeArgument(*Call);
    const Value *Size = At < 0 ? nullptr : Call->getArgOperand(static_cast<unsigned>(At));
    const std::optional<uint64_t> Bytes = constantBytes(*Call, Size);
    const int Number = argumentBehind(Size);
    if (Call == W.Fresh.front()) {
      W.ConstantSize = Bytes;
      W.SizeArgument = Number;
      continue;
    }
    if (W.ConstantSize != Bytes)
      W.ConstantSize = std::nullopt;
    if (W.SizeArgument != Number)
      W.SizeArgument = -1;
  }
}

/// Returns the index of the argument of \p Call that is the size of its block; -1: none is.
int AllocationWrappers::sizeArgument(const CallBase &Call) const {
  if (const AllocationWrapper *Inner = calledBy(Call))
    return Inner->SizeArgument;
  std::optional<AllocFamily> Family = allocationFamily(Call);
  if (Family == AllocFamily::Mapping)
    return static_cast<int>(mappedBytesArgument(*calledFunction(Call)));
  if (Family == AllocFamily::Malloc || Family == AllocFamily::Valloc ||
      (Family && *Family >= AllocFamily::New && *Family < AllocFamily::Wrapper))
    return 0;
  if (Family == AllocFamily::Realloc || Family == AllocFamily::AlignedAlloc)
    return 1;
  return Family == AllocFamily::PosixMemalign ? 2 : -1;
}

/// Returns the number of bytes that \p Call requests if it is constant. \p Size: the argument that
/// is the size, or null.
std::optional<uint64_t> AllocationWrappers::constantBytes(const CallBase &Call,
                                                          const Value *Size) const {
  if (const AllocationWrapper *Inner = calledBy(Call); Inner && !Size)
    return Inner->ConstantSize;
  if (allocationFamily(Call) == AllocFamily::Calloc)
    if (auto Count = constantOf(Call.getArgOperand(0)), One = constantOf(Call.getArgOperand(1));
        Count && One)
      return SaturatingMultiply(*Count, *One);
  return constantOf(Size);
}

int AllocationWrappers::outArgument(const CallBase &Call) const {
  if (std::optional<AllocFamily> Family = allocationFamily(Call))
    return storesResult(*Family) ? 0 : -1;
  if (!isContext(Call))
    return -1;
  const AllocationWrapper *W = calledBy(Call);
  return W ? W->Out : guessedOut(Call);
}

} // namespace smalloc
