//===- RecordingFilters.cpp - inline tests before a recording -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/record/RecordingFilters.h"
#include "passes/record/RegionIndex.h"
#include "smalloc/access.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr uint64_t PageBytes = 4096;
constexpr unsigned PageShift = 12;
/// The register allocator assumes that one in this many scattered accesses is recorded. In truth it
/// is one in a hundred, or each. As an unlikely branch, it would keep all values there in memory.
constexpr unsigned SeldomOf = 8;
/// Values of a function that are kept in registers, or where the register allocator puts them. Each
/// is merged where control flow joins, for instance after the cases of an interpreter. The rest
/// stays in memory.
constexpr unsigned MaxRegisters = 64;
/// A walk of more references goes to the library unhashed.
constexpr unsigned MaxHashedReferences = 4;

/// Returns \p V through an empty assembly statement, which the optimiser cannot see through. Rare
/// code computes its values from the result at its own place. From \p V itself, the optimiser would
/// keep part of them ready in a register each time.
Value *opaque(IRBuilder<> &B, Value *V) {
  auto *T = FunctionType::get(V->getType(), {V->getType()}, false);
  return B.CreateCall(InlineAsm::get(T, "", "=r,0", /*hasSideEffects=*/false), {V});
}

/// Recomputes \p V, which was computed from \p From, from the equal value \p Same.
Value *again(IRBuilder<> &B, Value *V, Value *From, Value *Same, unsigned Depth = 6) {
  if (V == From)
    return Same;
  auto *I = dyn_cast<Instruction>(V);
  if (!I || Depth == 0 || !isa<GetElementPtrInst, BinaryOperator, CastInst>(I))
    return V;
  SmallVector<Value *, 4> Operands;
  for (Value *Operand : I->operands())
    Operands.push_back(again(B, Operand, From, Same, Depth - 1));
  if (equal(Operands, I->operands()))
    return V;
  Instruction *Copy = I->clone();
  for (auto [Number, Operand] : enumerate(Operands))
    Copy->setOperand(static_cast<unsigned>(Number), Operand);
  return B.Insert(Copy);
}

} // namespace

RecordingFilters::RecordingFilters(Function &F, RecordingCallbacks &G)
    : F(F), G(G), I64(Type::getInt64Ty(F.getContext())) {
  IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
  Threshold = G.threshold(B);
  Unlikely = MDBuilder(F.getContext()).createUnlikelyBranchWeights();
  Seldom = MDBuilder(F.getContext()).createBranchWeights(1, SeldomOf - 1);
}

void RecordingFilters::finish() {
  DominatorTree DT(F);
  PromoteMemToReg(Slots, DT);
}

AllocaInst *RecordingFilters::lastOf(const RecordedAccess &A) {
  AllocaInst *&Slot = Last[&A];
  if (!Slot)
    Slot = slot(I64, -1);
  return Slot;
}

SmallVector<AllocaInst *, 4> RecordingFilters::ends(const RecordedWalk &W) {
  SmallVector<AllocaInst *, 4> &Ends = LastEnds[&W];
  while (Ends.size() < W.References.size())
    Ends.push_back(slot(I64, -1));
  return Ends;
}

/// Returns a variable that becomes a register, or is so rarely used that it stays in memory.
AllocaInst *RecordingFilters::slot(Type *T, int64_t Initially, bool Register) {
  IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
  AllocaInst *Slot = B.CreateAlloca(T, nullptr, "smalloc.last");
  B.CreateStore(ConstantInt::getSigned(T, Initially), Slot);
  if (Register && Slots.size() < MaxRegisters)
    Slots.push_back(Slot);
  return Slot;
}

/// Splits off a new block in front of \p Before for rare code.
Instruction *RecordingFilters::seldom(Value *Condition, Instruction *Before, MDNode *Weights) {
  return SplitBlockAndInsertIfThen(Condition, Before->getIterator(), /*Unreachable=*/false,
                                   Weights ? Weights : Unlikely);
}

Value *RecordingFilters::sampled(IRBuilder<> &B, Value *Address) {
  Value *Region = B.CreateLShr(Address, SMALLOC_REGION_SHIFT);
  Value *Product = B.CreateMul(Region, B.getInt64(SMALLOC_REGION_FACTOR));
  return B.CreateICmpULT(Product, Threshold);
}

/// Emits a test that is true if a recorded region may lie between two addresses, in either
/// direction. The library looks at the regions between them.
Value *RecordingFilters::sampledBetween(IRBuilder<> &B, Value *Start, Value *End) {
  constexpr uint64_t RegionBytes = uint64_t(1) << SMALLOC_REGION_SHIFT;
  Value *Far = B.CreateICmpUGE(B.CreateAdd(B.CreateSub(End, Start), B.getInt64(RegionBytes)),
                               B.getInt64(2 * RegionBytes));
  return B.CreateOr(Far, B.CreateOr(sampled(B, Start), sampled(B, End)));
}

Value *RecordingFilters::otherPage(IRBuilder<> &B, Value *Address, AllocaInst *Slot) {
  Value *Differs = B.CreateXor(Address, B.CreateLoad(I64, Slot));
  return B.CreateICmpUGE(Differs, B.getInt64(PageBytes));
}

/// Returns an instruction that runs only if the page differs from the last one. The page is
/// remembered even if it is not sampled: its next accesses are not tested again.
Instruction *RecordingFilters::onOtherPage(Instruction *Before, Value *Address, AllocaInst *Last) {
  IRBuilder<> B(Before);
  Before = seldom(otherPage(B, Address, Last), Before);
  B.SetInsertPoint(Before);
  B.CreateStore(Address, Last);
  return Before;
}

/// Without \p Last, where most accesses move to another page, hashes the region first. At a low
/// rate nothing more runs, and the branch is predicted.
void RecordingFilters::tell(const RecordedAccess &A, AllocaInst *Last) {
  if (!A.Mask)
    return tell(A, A.Pointer, nullptr, Last);
  const unsigned Lanes = cast<FixedVectorType>(A.Pointer->getType())->getNumElements();
  for (unsigned I = 0; I < Lanes; ++I) {
    IRBuilder<> B(A.Before);
    Value *Pointer = B.CreateExtractElement(A.Pointer, I);
    tell(A, Pointer, B.CreateExtractElement(A.Mask, I), Last);
  }
}

void RecordingFilters::tell(const RecordedAccess &A, Value *Pointer, Value *Lane,
                            AllocaInst *Last) {
  Instruction *Before = A.Before;
  IRBuilder<> B(Before);
  Value *Address = B.CreatePtrToInt(Pointer, I64);
  if (Last)
    Before = onOtherPage(Before, Address, Last);
  B.SetInsertPoint(Before);
  Value *Tell = sampled(B, Address);
  const bool Scattered = A.Kind == RecordedAccess::How::Scattered;
  Before = seldom(Lane ? B.CreateAnd(Tell, Lane) : Tell, Before, Scattered ? Seldom : Unlikely);
  B.SetInsertPoint(Before);
  G.tell(Before, RecordingCallbacks::tagged(B, Address, A.Writes),
         Scattered ? RecordingCallbacks::Rate::Often : RecordingCallbacks::Rate::Seldom);
}

void RecordingFilters::tellOtherPage(const RecordedAccess &A, AllocaInst *Last) {
  IRBuilder<> B(A.Before);
  Value *Address = B.CreatePtrToInt(A.Pointer, I64);
  Instruction *Before = onOtherPage(A.Before, Address, Last);
  B.SetInsertPoint(Before);
  G.tell(Before, RecordingCallbacks::tagged(B, Address, A.Writes),
         RecordingCallbacks::Rate::Seldom);
}

RecordingFilters::Window RecordingFilters::windowOf(const RecordedRun &R) {
  Window W{slot(I64, 0), slot(I64, 0), {}};
  for (size_t I = 0; I < R.Members.size(); ++I)
    W.Last.push_back(slot(I64, -1, /*Register=*/false));
  return W;
}

void RecordingFilters::tellRun(const RecordedRun &R, const Window &W, bool Every) {
  Instruction *Before = R.Members.back().Access.Before;
  IRBuilder<> B(Before);
  Value *Passed = B.CreateSub(R.Counter, B.CreateLoad(I64, W.Low));
  Instruction *Leaves = seldom(B.CreateICmpUGE(Passed, B.CreateLoad(I64, W.Span)), Before);
  Value *Down = nullptr, *Up = nullptr;
  B.SetInsertPoint(Leaves);
  Value *Counter = opaque(B, R.Counter);
  for (auto [M, Last] : zip(R.Members, W.Last)) {
    B.SetInsertPoint(Leaves);
    Value *Address = B.CreatePtrToInt(again(B, M.Access.Pointer, R.Counter, Counter), I64);
    Instruction *Then = onOtherPage(Leaves, Address, Last);
    B.SetInsertPoint(Then);
    if (!Every) {
      Then = seldom(sampled(B, Address), Then);
      B.SetInsertPoint(Then);
    }
    G.tell(Then, RecordingCallbacks::tagged(B, Address, M.Access.Writes),
           RecordingCallbacks::Rate::Seldom);
    B.SetInsertPoint(Leaves);
    Value *Offset = B.CreateAnd(Address, PageBytes - 1);
    Value *Bytes = B.getInt64(static_cast<uint64_t>(std::abs(M.Bytes)));
    Value *Below = B.CreateUDiv(Offset, Bytes);
    Value *Above = B.CreateUDiv(B.CreateSub(B.getInt64(PageBytes - 1), Offset), Bytes);
    if (M.Bytes < 0)
      std::swap(Below, Above);
    Down = Down ? B.CreateBinaryIntrinsic(Intrinsic::umin, Down, Below) : Below;
    Up = Up ? B.CreateBinaryIntrinsic(Intrinsic::umin, Up, Above) : Above;
  }
  B.SetInsertPoint(Leaves);
  B.CreateStore(B.CreateSub(Counter, Down), W.Low);
  B.CreateStore(B.CreateAdd(B.CreateAdd(Down, Up), B.getInt64(1)), W.Span);
}

void RecordingFilters::tellByRegion(const RecordedAccess &A, const RegionIndex &At, Value *Base) {
  IRBuilder<> B(A.Before);
  Value *Offset = B.CreateSExtOrTrunc(At.Index, I64);
  unsigned Shift = SMALLOC_REGION_SHIFT - At.Shift;
  // A shift that drops bits of the index wraps as the program's address computation does.
  if (At.Shift > 0 && ComputeNumSignBits(Offset, F.getDataLayout()) <= At.Shift) {
    Offset = B.CreateShl(Offset, At.Shift);
    Shift = SMALLOC_REGION_SHIFT;
  }
  Value *Entry = B.CreateGEP(B.getInt8Ty(), Base, B.CreateAShr(Offset, Shift));
  const auto Is = [&B](CmpInst::Predicate P, Value *At, uint8_t Byte) {
    return B.CreateICmp(P, B.CreateLoad(B.getInt8Ty(), At), B.getInt8(Byte));
  };
  Instruction *Then = seldom(Is(CmpInst::ICMP_NE, Entry, SMALLOC_REGION_QUIET), A.Before, Seldom);
  B.SetInsertPoint(Then);
  Value *Index = opaque(B, At.Index);
  Entry = again(B, Entry, At.Index, Index);
  Value *Address = B.CreatePtrToInt(again(B, A.Pointer, At.Index, Index), I64);
  G.look(seldom(Is(CmpInst::ICMP_EQ, Entry, SMALLOC_REGION_UNKNOWN), Then), Entry);
  B.SetInsertPoint(Then);
  Then = seldom(sampled(B, Address), Then, Seldom);
  B.SetInsertPoint(Then);
  G.tell(Then, RecordingCallbacks::tagged(B, Address, A.Writes), RecordingCallbacks::Rate::Often);
}

void RecordingFilters::tellWalk(const RecordedWalk &W, ArrayRef<AllocaInst *> Last) {
  IRBuilder<> B(W.Before);
  SmallVector<std::pair<Value *, Value *>, 4> References;
  SmallVector<Value *, 4> Ends;
  Value *Differs = nullptr;
  for (auto [R, Slot] : zip(W.References, Last)) {
    Value *Start = B.CreatePtrToInt(R.Start, I64);
    Value *End = B.CreateAdd(Start, B.CreateMul(R.Stride, W.BackedgesTaken));
    Value *Remembered = B.CreateLoad(I64, Slot);
    Value *D = B.CreateOr(B.CreateXor(Start, Remembered), B.CreateXor(End, Remembered));
    Differs = Differs ? B.CreateOr(Differs, D) : D;
    References.push_back({Start, R.Stride});
    Ends.push_back(End);
  }
  Value *Leaves = B.CreateICmpNE(B.CreateLShr(Differs, PageShift), B.getInt64(0));
  Value *Open = B.CreateICmpNE(Threshold, B.getInt64(0));
  Instruction *Then = seldom(B.CreateAnd(Leaves, Open), W.Before);
  B.SetInsertPoint(Then);
  for (auto [Slot, End] : zip(Last, Ends))
    B.CreateStore(End, Slot); // sampled or not
  if (References.size() <= MaxHashedReferences) {
    Value *Any = nullptr;
    for (auto [R, End] : zip(References, Ends)) {
      Value *S = sampledBetween(B, R.first, End);
      Any = Any ? B.CreateOr(Any, S) : S;
    }
    Then = seldom(Any, Then);
    B.SetInsertPoint(Then);
  }
  for (auto [R, Told] : zip(W.References, References))
    Told.first = RecordingCallbacks::tagged(B, Told.first, R.Writes);
  G.tellWalk(B, B.CreateAdd(W.BackedgesTaken, B.getInt64(1)), References, area());
}

void RecordingFilters::tellBlock(const RecordedWalk &W) {
  IRBuilder<> B(W.Before);
  Value *Any = nullptr;
  for (const RecordedWalk::Reference &R : W.References) {
    Value *Start = B.CreatePtrToInt(R.Start, I64);
    Value *S = sampledBetween(B, Start, B.CreateAdd(Start, W.BackedgesTaken));
    Any = Any ? B.CreateOr(Any, S) : S;
  }
  Any = B.CreateAnd(Any, B.CreateICmpNE(Threshold, B.getInt64(0)));
  Instruction *Then = seldom(Any, W.Before);
  B.SetInsertPoint(Then);
  SmallVector<std::pair<Value *, Value *>, 2> References;
  for (const RecordedWalk::Reference &R : W.References)
    References.push_back(
        {RecordingCallbacks::tagged(B, B.CreatePtrToInt(R.Start, I64), R.Writes), R.Stride});
  Value *Steps = B.CreateLShr(B.CreateAdd(W.BackedgesTaken, B.getInt64(15)), 4);
  G.tellWalk(B, Steps, References, area());
}

AllocaInst *RecordingFilters::area() {
  if (!Area) {
    IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
    Area = G.area(B, SMALLOC_MOST_WALK_REFERENCES);
  }
  return Area;
}

} // namespace smalloc
