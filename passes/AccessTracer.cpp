//===- AccessTracer.cpp - a program that tells what it touches --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AccessTracer.h"
#include "AccessGate.h"
#include "AllocationSites.h"
#include "TracedAccesses.h"
#include "smalloc/access.h"
#include "smalloc/site.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef TracedMetadata = "smalloc.traced";
constexpr uint64_t PageBytes = 4096;
constexpr unsigned PageShift = 12;
/// One in so many scattered accesses is told, for all that the register allocator knows: it is one in a hundred, or each. Were
/// it unlikely, everything there would be kept in memory.
constexpr unsigned SeldomOf = 8;
/// A walk of more references goes to the library unhashed.
constexpr unsigned MaxHashedReferences = 4;

/// Puts the tests and calls of one function in place.
class Instrumenter {
public:
  Instrumenter(Function &F, AccessGate &G) : F(F), G(G), I64(Type::getInt64Ty(F.getContext())) {
    IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
    Threshold = G.threshold(B);
    Unlikely = MDBuilder(F.getContext()).createUnlikelyBranchWeights();
    Seldom = MDBuilder(F.getContext()).createBranchWeights(1, SeldomOf - 1);
  }

  void run(const TracedAccesses &Accesses) {
    std::vector<std::unique_ptr<Version>> Versions;
    if (G.hasMemory())
      Versions = makeVersions(Accesses.Loops);
    // What is told before blocks are split.
    for (const std::unique_ptr<Version> &V : Versions)
      collect(*V, Accesses);
    for (const ToldAccess &A : Accesses.Accesses) {
      if (A.Mask)
        tellLanes(A);
      else
        tell(A, A.Before, A.Pointer, nullptr);
    }
    for (const ToldWalk &W : Accesses.Walks)
      tellWalk(W, ends(W));
    for (const std::unique_ptr<Version> &V : Versions)
      tell(*V);
    for (const ToldWalk &W : Accesses.Blocks)
      tellBlock(W);
    DominatorTree DT(F);
    PromoteMemToReg(Slots, DT);
  }

private:
  /// A copy of a loop in which all is told.
  struct Version {
    ValueToValueMapTy Map;
    DenseSet<const BasicBlock *> Of; ///< the blocks that it is a copy of
    Value *Told = nullptr;
    std::vector<SmallVector<AccessGate::Together, 4>> Together;
    std::vector<std::pair<ToldAccess, AllocaInst *>> Steady;
    std::vector<std::pair<ToldWalk, SmallVector<AllocaInst *, 4>>> Walks;
    template <class T> T *at(T *V) const {
      Value *Copy = V ? static_cast<Value *>(Map.lookup(V)) : nullptr;
      return Copy ? cast<T>(Copy) : V;
    }
  };

  std::vector<std::unique_ptr<Version>> makeVersions(ArrayRef<ToldLoop> Loops) {
    std::vector<std::unique_ptr<Version>> Versions;
    if (Loops.empty())
      return Versions;
    IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
    Value *Every = G.every(B);
    for (const ToldLoop &L : Loops)
      Versions.push_back(makeVersion(L, Every));
    return Versions;
  }

  /// The loop and its copy both go on where the loop did.
  std::unique_ptr<Version> makeVersion(const ToldLoop &L, Value *Every) {
    auto V = std::make_unique<Version>();
    SmallVector<BasicBlock *, 8> Copies;
    for (BasicBlock *Block : L.Blocks) {
      Copies.push_back(CloneBasicBlock(Block, V->Map, ".every", &F));
      V->Map[Block] = Copies.back();
      V->Of.insert(Block);
    }
    remapInstructionsInBlocks(Copies, V->Map);
    SmallPtrSet<BasicBlock *, 8> Exits;
    for (BasicBlock *Block : L.Blocks)
      for (BasicBlock *To : successors(Block))
        if (!V->Of.count(To) && Exits.insert(To).second)
          for (PHINode &Phi : To->phis())
            for (unsigned I = 0, N = Phi.getNumIncomingValues(); I < N; ++I)
              if (V->Of.count(Phi.getIncomingBlock(I)))
                Phi.addIncoming(V->at(Phi.getIncomingValue(I)), V->at(Phi.getIncomingBlock(I)));
    BasicBlock *Copy = V->at(L.Header);
    BasicBlock *Entry = BasicBlock::Create(F.getContext(), "smalloc.every", &F, Copy);
    Copy->replacePhiUsesWith(L.Preheader, Entry);
    IRBuilder<> B(Entry);
    V->Told = G.told(B);
    B.CreateBr(Copy);
    Instruction *Jump = L.Preheader->getTerminator();
    B.SetInsertPoint(Jump);
    B.CreateCondBr(Every, Entry, L.Header);
    Jump->eraseFromParent();
    return V;
  }

  /// What is told in the copy. Scattered accesses of a block go together, up to the next one that may not be told.
  void collect(Version &V, const TracedAccesses &Accesses) {
    const BasicBlock *Block = nullptr; // of the piece that is open
    for (const ToldAccess &A : Accesses.Accesses) {
      if (!V.Of.count(A.Before->getParent()))
        continue;
      ToldAccess Copy = A;
      Copy.Before = V.at(A.Before);
      Copy.Pointer = V.at(A.Pointer);
      Copy.Mask = V.at(A.Mask);
      if (isSteady(A)) {
        Block = nullptr;
        V.Steady.push_back({Copy, lastOf(A)});
        continue;
      }
      const unsigned Lanes =
          A.Mask ? cast<FixedVectorType>(A.Pointer->getType())->getNumElements() : 1;
      if (Block != A.Before->getParent() ||
          V.Together.back().size() + Lanes > SMALLOC_TOLD_BEHIND_END)
        V.Together.emplace_back();
      Block = A.Before->getParent();
      IRBuilder<> B(Copy.Before);
      for (unsigned I = 0; I < Lanes; ++I)
        V.Together.back().push_back(
            {Copy.Before, A.Mask ? B.CreateExtractElement(Copy.Pointer, I) : Copy.Pointer,
             A.Mask ? B.CreateExtractElement(Copy.Mask, I) : nullptr, A.Writes});
    }
    for (const ToldWalk &W : Accesses.Walks)
      if (V.Of.count(W.Before->getParent())) {
        ToldWalk Copy{V.at(W.Before), V.at(W.BackedgesTaken), {}};
        for (const ToldWalk::Reference &R : W.References)
          Copy.References.push_back({V.at(R.Start), V.at(R.Stride), R.Writes});
        V.Walks.push_back({std::move(Copy), ends(W)});
      }
  }

  void tell(const Version &V) {
    for (const auto &Piece : V.Together)
      G.tellTogether(V.Told, Piece);
    for (const auto &[A, Last] : V.Steady) {
      IRBuilder<> B(A.Before);
      Value *Address = B.CreatePtrToInt(A.Pointer, I64);
      Instruction *Before = onOtherPage(A.Before, Address, Last);
      B.SetInsertPoint(Before);
      G.tell(Before, AccessGate::tagged(B, Address, A.Writes));
    }
    for (const auto &[W, Ends] : V.Walks)
      tellWalk(W, Ends);
  }

  static bool isSteady(const ToldAccess &A) { return A.Kind == ToldAccess::How::Steady && !A.Mask; }

  /// Where an access was last, in either version of its loop.
  AllocaInst *lastOf(const ToldAccess &A) {
    AllocaInst *&Slot = Last[&A];
    if (!Slot)
      Slot = slot(I64, -1);
    return Slot;
  }

  /// Where a walk's references ended.
  SmallVector<AllocaInst *, 4> ends(const ToldWalk &W) {
    SmallVector<AllocaInst *, 4> &Ends = LastEnds[&W];
    while (Ends.size() < W.References.size())
      Ends.push_back(slot(I64, -1));
    return Ends;
  }

  /// A value that becomes a register.
  AllocaInst *slot(Type *T, int64_t Initially) {
    IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
    AllocaInst *Slot = B.CreateAlloca(T, nullptr, "smalloc.last");
    B.CreateStore(ConstantInt::getSigned(T, Initially), Slot);
    Slots.push_back(Slot);
    return Slot;
  }

  /// A new block in front of \p Before for what happens seldom.
  Instruction *seldom(Value *Condition, Instruction *Before, MDNode *Weights = nullptr) {
    return SplitBlockAndInsertIfThen(Condition, Before->getIterator(), /*Unreachable=*/false,
                                     Weights ? Weights : Unlikely);
  }

  Value *sampled(IRBuilder<> &B, Value *Address) {
    Value *Region = B.CreateLShr(Address, SMALLOC_REGION_SHIFT);
    Value *Product = B.CreateMul(Region, B.getInt64(SMALLOC_REGION_FACTOR));
    return B.CreateICmpULT(Product, Threshold);
  }

  /// May there be a recorded region on the way from one address to another, in either direction? The library looks at
  /// the regions between.
  Value *sampledBetween(IRBuilder<> &B, Value *Start, Value *End) {
    constexpr uint64_t RegionBytes = uint64_t(1) << SMALLOC_REGION_SHIFT;
    Value *Far = B.CreateICmpUGE(B.CreateAdd(B.CreateSub(End, Start), B.getInt64(RegionBytes)),
                                 B.getInt64(2 * RegionBytes));
    return B.CreateOr(Far, B.CreateOr(sampled(B, Start), sampled(B, End)));
  }

  Value *otherPage(IRBuilder<> &B, Value *Address, AllocaInst *Slot) {
    Value *Differs = B.CreateXor(Address, B.CreateLoad(I64, Slot));
    return B.CreateICmpUGE(Differs, B.getInt64(PageBytes));
  }

  /// Where it is known that the page is another one than the time before; remembered whether it is sampled or not: the next
  /// accesses are not looked at.
  Instruction *onOtherPage(Instruction *Before, Value *Address, AllocaInst *Last) {
    IRBuilder<> B(Before);
    Before = seldom(otherPage(B, Address, Last), Before);
    B.SetInsertPoint(Before);
    B.CreateStore(Address, Last);
    return Before;
  }

  /// Hashed first where most accesses come to another page: at a low rate that is all, and the branch is foreseen.
  void tell(const ToldAccess &A, Instruction *Before, Value *Pointer, Value *Lane) {
    IRBuilder<> B(Before);
    Value *Address = B.CreatePtrToInt(Pointer, I64);
    if (isSteady(A))
      Before = onOtherPage(Before, Address, lastOf(A));
    B.SetInsertPoint(Before);
    Value *Tell = sampled(B, Address);
    const bool Scattered = A.Kind == ToldAccess::How::Scattered;
    Before = seldom(Lane ? B.CreateAnd(Tell, Lane) : Tell, Before, Scattered ? Seldom : Unlikely);
    B.SetInsertPoint(Before);
    G.tell(Before, AccessGate::tagged(B, Address, A.Writes));
  }

  void tellLanes(const ToldAccess &A) {
    const unsigned Lanes = cast<FixedVectorType>(A.Pointer->getType())->getNumElements();
    for (unsigned I = 0; I < Lanes; ++I) {
      IRBuilder<> B(A.Before);
      Value *Pointer = B.CreateExtractElement(A.Pointer, I);
      Value *On = B.CreateExtractElement(A.Mask, I);
      tell(A, A.Before, Pointer, On);
    }
  }

  /// Only if some reference leaves the page where its last walk ended.
  void tellWalk(const ToldWalk &W, ArrayRef<AllocaInst *> Last) {
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
      Told.first = AccessGate::tagged(B, Told.first, R.Writes);
    G.tellWalk(B, B.CreateAdd(W.BackedgesTaken, B.getInt64(1)), References, area());
  }

  /// memcpy and its like: their length in bytes, told in steps of 16.
  void tellBlock(const ToldWalk &W) {
    IRBuilder<> B(W.Before);
    Value *Any = nullptr;
    for (const ToldWalk::Reference &R : W.References) {
      Value *Start = B.CreatePtrToInt(R.Start, I64);
      Value *S = sampledBetween(B, Start, B.CreateAdd(Start, W.BackedgesTaken));
      Any = Any ? B.CreateOr(Any, S) : S;
    }
    Any = B.CreateAnd(Any, B.CreateICmpNE(Threshold, B.getInt64(0)));
    Instruction *Then = seldom(Any, W.Before);
    B.SetInsertPoint(Then);
    SmallVector<std::pair<Value *, Value *>, 2> References;
    for (const ToldWalk::Reference &R : W.References)
      References.push_back(
          {AccessGate::tagged(B, B.CreatePtrToInt(R.Start, I64), R.Writes), R.Stride});
    Value *Steps = B.CreateLShr(B.CreateAdd(W.BackedgesTaken, B.getInt64(15)), 4);
    G.tellWalk(B, Steps, References, area());
  }

  AllocaInst *area() {
    if (!Area) {
      IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
      Area = G.area(B, SMALLOC_MOST_WALK_REFERENCES);
    }
    return Area;
  }

  Function &F;
  AccessGate &G;
  Type *I64;
  Value *Threshold;
  MDNode *Unlikely, *Seldom;
  AllocaInst *Area = nullptr;
  SmallVector<AllocaInst *, 16> Slots;
  DenseMap<const ToldAccess *, AllocaInst *> Last;
  DenseMap<const ToldWalk *, SmallVector<AllocaInst *, 4>> LastEnds;
};

bool mayTrace(const Function &F) {
  return !F.isDeclaration() && !F.hasAvailableExternallyLinkage() && !leavesAlone(F) &&
         !F.getName().starts_with("__smalloc_v1_") && !F.hasFnAttribute(Attribute::NoProfile) &&
         !F.hasFnAttribute(Attribute::SkipProfile) &&
         !F.hasFnAttribute(Attribute::PresplitCoroutine);
}

/// Functions that only read, or touch no memory that others see, now write into the recording.
void forgetMemoryEffects(Module &M) {
  for (Function &F : M) {
    if (!F.isDeclaration())
      F.removeFnAttr(Attribute::Memory);
    for (BasicBlock &Block : F)
      for (Instruction &I : Block)
        if (auto *Call = dyn_cast<CallBase>(&I))
          if (const Function *To = Call->getCalledFunction(); To && !To->isDeclaration())
            Call->removeFnAttr(Attribute::Memory);
  }
}

} // namespace

PreservedAnalyses AccessTracerPass::run(Module &M, ModuleAnalysisManager &AM) {
  // -ffat-lto-objects and ThinLTO back ends come here again with a module that is done.
  if (M.getNamedMetadata(TracedMetadata) || isSanitized(M) || definesAllocator(M) ||
      !M.getTargetTriple().isOSBinFormatELF() || M.getDataLayout().getPointerSizeInBits() != 64)
    return PreservedAnalyses::all();
  M.getOrInsertNamedMetadata(TracedMetadata);
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  SmallVector<Function *, 64> Functions;
  for (Function &F : M)
    if (mayTrace(F))
      Functions.push_back(&F);
  std::optional<AccessGate> G;
  for (Function *F : Functions) {
    const TracedAccesses Accesses = tracedAccesses(*F, FAM);
    if (!Accesses.empty()) {
      if (!G)
        G.emplace(M, Directory);
      Instrumenter(*F, *G).run(Accesses);
    }
    FAM.invalidate(*F, PreservedAnalyses::none()); // also when only a preheader is new
  }
  if (!G)
    return PreservedAnalyses::none();
  G->announce();
  forgetMemoryEffects(M);
  return PreservedAnalyses::none();
}

} // namespace smalloc
