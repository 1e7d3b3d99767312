//===- AccessTracer.cpp - a program that tells what it touches --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AccessTracer.h"
#include "AllocationSites.h"
#include "TracedAccesses.h"
#include "smalloc/access.h"
#include "smalloc/site.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
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

/// The image's gate and the function that goes through it; the linker keeps one of each an image.
class Gate {
public:
  Gate(Module &M, StringRef Directory)
      : M(M), C(M.getContext()), I32(Type::getInt32Ty(C)), I64(Type::getInt64Ty(C)),
        Ptr(PointerType::getUnqual(C)),
        Layout(StructType::get(C, {I32, I32, I64, Ptr, Ptr, Ptr, Ptr, I64})),
        Reference(StructType::get(C, {I64, I64})) {
    static_assert(sizeof(smalloc_gate) == 56 && sizeof(smalloc_walk_reference) == 16 &&
                      offsetof(smalloc_told, end) == 8 && offsetof(smalloc_told, pages) == 16,
                  "the fields here follow smalloc/access.h");
    Constant *Null = ConstantPointerNull::get(Ptr);
    Constant *Text = ConstantDataArray::getString(C, Directory);
    auto *Name = new GlobalVariable(M, Text->getType(), true, GlobalValue::PrivateLinkage, Text,
                                    "smalloc.directory");
    Record =
        new GlobalVariable(M, Layout, /*isConstant=*/false, GlobalValue::LinkOnceODRLinkage,
                           ConstantStruct::get(Layout, {ConstantInt::get(I32, SMALLOC_GATE_VERSION),
                                                        ConstantInt::get(I32, sizeof(smalloc_gate)),
                                                        ConstantInt::get(I64, 0), Null, Null, Name,
                                                        Null, ConstantInt::get(I64, 0)}),
                           "__smalloc_v1_gate3");
    hide(Record);
    Record->setExternallyInitialized(true); // the library fills it in: never folded
    appendToCompilerUsed(M, {Record});
  }

  Value *threshold(IRBuilder<> &B) {
    LoadInst *L = B.CreateAlignedLoad(I64, B.CreateStructGEP(Layout, Record, 2), Align(8));
    L->setAtomic(AtomicOrdering::Monotonic);
    return L;
  }

  /// Tells one access in front of an instruction: into the thread's memory if it has room, in line and in few instructions, so
  /// that the processor goes on with the loop's next iterations meanwhile, as many as its window holds. \p Lately: unless the
  /// thread has told its page lately. The call for the rest keeps the caller's registers.
  void tell(Instruction *Before, Value *Address, Value *Tagged, bool Lately) {
    if (!Tell)
      Tell = makeTell();
    const Triple &T = M.getTargetTriple();
    if (T.getArch() == Triple::x86_64 || T.isAArch64())
      Before = intoMemory(Before, Address, Tagged, Lately);
    IRBuilder<> B(Before);
    CallInst *Call = B.CreateCall(Tell, {Tagged});
    Call->setCallingConv(Tell->getCallingConv());
    Call->setDoesNotThrow();
  }

  void tellWalk(IRBuilder<> &B, Value *Iterations, ArrayRef<std::pair<Value *, Value *>> References,
                Value *Area) {
    for (auto [I, R] : enumerate(References)) {
      Value *At = B.CreateConstInBoundsGEP1_64(Reference, Area, I);
      B.CreateAlignedStore(R.first, B.CreateStructGEP(Reference, At, 0), Align(8));
      B.CreateAlignedStore(R.second, B.CreateStructGEP(Reference, At, 1), Align(8));
    }
    Value *Entry = B.CreateAlignedLoad(Ptr, B.CreateStructGEP(Layout, Record, 4), Align(8));
    CallInst *Call =
        B.CreateCall(FunctionType::get(Type::getVoidTy(C), {I64, I64, Ptr}, false), Entry,
                     {Iterations, ConstantInt::get(I64, References.size()), Area});
    Call->setDoesNotThrow();
  }

  AllocaInst *area(IRBuilder<> &B, unsigned References) {
    return B.CreateAlloca(ArrayType::get(Reference, References), nullptr, "smalloc.walk");
  }

  /// The constructor and destructor that hand the gate to the library. Before all others: sites come after.
  void announce() {
    auto *Open = announcer("__smalloc_v1_gate3_open", "__smalloc_v1_open_gate");
    auto *Close = announcer("__smalloc_v1_gate3_close", "__smalloc_v1_close_gate");
    appendToGlobalCtors(M, Open, /*Priority=*/0, Open);
    appendToGlobalDtors(M, Close, /*Priority=*/0, Close);
  }

private:
  void hide(GlobalObject *G) {
    G->setVisibility(GlobalValue::HiddenVisibility);
    G->setComdat(M.getOrInsertComdat(G->getName()));
    G->setDSOLocal(true);
  }

  Function *hiddenFunction(StringRef Name, ArrayRef<Type *> Parameters) {
    Function *F =
        Function::createWithDefaultAttr(FunctionType::get(Type::getVoidTy(C), Parameters, false),
                                        GlobalValue::LinkOnceODRLinkage, 0, Name, &M);
    hide(F);
    F->setDoesNotThrow();
    F->setUWTableKind(UWTableKind::Default);
    return F;
  }

  Function *makeTell() {
    Function *Library = hiddenFunction("__smalloc_v1_tell3", {I64});
    Library->addFnAttr(Attribute::NoInline);
    Library->addFnAttr(Attribute::Cold);
    IRBuilder<> B(BasicBlock::Create(C, "entry", Library));
    Value *Entry = B.CreateAlignedLoad(Ptr, B.CreateStructGEP(Layout, Record, 3), Align(8));
    B.CreateCall(FunctionType::get(Type::getVoidTy(C), {I64}, false), Entry, {Library->getArg(0)})
        ->setDoesNotThrow();
    B.CreateRetVoid();
    const Triple &T = M.getTargetTriple();
    if (T.getArch() == Triple::x86_64 || T.isAArch64())
      Library->setCallingConv(CallingConv::PreserveMost);
    return Library;
  }

  /// Returns the instruction in front of which it is known that there is no room.
  Instruction *intoMemory(Instruction *Before, Value *Address, Value *Tagged, bool Lately) {
    BasicBlock *Head = Before->getParent();
    BasicBlock *Tail = Head->splitBasicBlock(Before->getIterator(), "smalloc.go.on");
    Function *F = Head->getParent();
    const auto Block = [&](const char *Name) { return BasicBlock::Create(C, Name, F, Tail); };
    Head->getTerminator()->eraseFromParent();
    IRBuilder<> B(Head);
    Value *Offset = B.CreateAlignedLoad(I64, B.CreateStructGEP(Layout, Record, 7), Align(8));
    Value *Told =
        B.CreateGEP(B.getInt8Ty(), B.CreateIntrinsic(Intrinsic::thread_pointer, {Ptr}, {}), Offset);
    Value *Page = nullptr, *Place = nullptr;
    if (Lately) {
      Value *Number = B.CreateLShr(Address, SMALLOC_PAGE_SHIFT);
      Value *Index = B.CreateAnd(Number, B.getInt64(SMALLOC_TOLD_PAGES - 1));
      Place = B.CreateGEP(
          I32, B.CreateConstGEP1_64(B.getInt8Ty(), Told, offsetof(smalloc_told, pages)), Index);
      Page = B.CreateTrunc(Number, I32);
      BasicBlock *Other = Block("smalloc.other.page");
      B.CreateCondBr(B.CreateICmpEQ(B.CreateAlignedLoad(I32, Place, Align(4)), Page), Tail, Other);
      B.SetInsertPoint(Other);
    }
    BasicBlock *Room = Block("smalloc.room"), *Full = Block("smalloc.full");
    Value *Next = B.CreateAlignedLoad(Ptr, Told, Align(8));
    Value *End = B.CreateAlignedLoad(Ptr, B.CreateConstGEP1_64(I64, Told, 1), Align(8));
    B.CreateCondBr(B.CreateICmpEQ(Next, End), Full, Room,
                   MDBuilder(C).createUnlikelyBranchWeights());
    B.SetInsertPoint(Room);
    if (Lately)
      B.CreateAlignedStore(Page, Place, Align(4));
    B.CreateAlignedStore(Tagged, Next, Align(8));
    B.CreateAlignedStore(B.CreateConstGEP1_64(I64, Next, 1), Told, Align(8));
    B.CreateBr(Tail);
    B.SetInsertPoint(Full);
    return B.CreateBr(Tail);
  }

  Function *announcer(StringRef Name, StringRef EntryName) {
    Function *F = hiddenFunction(Name, {});
    // Weak and through the GOT, also without -fPIC: the linker must not settle it as absent.
    Function *Entry = Function::Create(FunctionType::get(Type::getVoidTy(C), {Ptr}, false),
                                       GlobalValue::ExternalWeakLinkage, EntryName, M);
    Entry->setDoesNotThrow();
    Entry->addFnAttr(Attribute::NonLazyBind);
    BasicBlock *Begin = BasicBlock::Create(C, "entry", F), *Call = BasicBlock::Create(C, "call", F),
               *End = BasicBlock::Create(C, "end", F);
    IRBuilder<> B(Begin);
    B.CreateCondBr(B.CreateICmpNE(Entry, ConstantPointerNull::get(Ptr)), Call, End);
    B.SetInsertPoint(Call);
    B.CreateCall(Entry, {Record});
    B.CreateBr(End);
    B.SetInsertPoint(End);
    B.CreateRetVoid();
    return F;
  }

  Module &M;
  LLVMContext &C;
  Type *I32, *I64;
  PointerType *Ptr;
  StructType *Layout, *Reference;
  GlobalVariable *Record = nullptr;
  Function *Tell = nullptr;
};

/// Puts the tests and calls of one function in place.
class Instrumenter {
public:
  Instrumenter(Function &F, Gate &G) : F(F), G(G), I64(Type::getInt64Ty(F.getContext())) {
    IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
    Threshold = G.threshold(B);
    Unlikely = MDBuilder(F.getContext()).createUnlikelyBranchWeights();
    Seldom = MDBuilder(F.getContext()).createBranchWeights(1, SeldomOf - 1);
  }

  void run(const TracedAccesses &Accesses) {
    for (const ToldAccess &A : Accesses.Accesses) {
      if (A.Mask)
        tellLanes(A);
      else
        tell(A, A.Before, A.Pointer, nullptr);
    }
    for (const ToldWalk &W : Accesses.Walks)
      tellWalk(W);
    for (const ToldWalk &W : Accesses.Blocks)
      tellBlock(W);
    DominatorTree DT(F);
    PromoteMemToReg(Slots, DT);
  }

private:
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

  static Value *tagged(IRBuilder<> &B, Value *Address, bool Writes) {
    return Writes ? B.CreateOr(Address, B.getInt64(SMALLOC_ACCESS_WRITES)) : Address;
  }

  /// Hashed first where most accesses come to another page: at a low rate that is all, and the branch is foreseen.
  void tell(const ToldAccess &A, Instruction *Before, Value *Pointer, Value *Lane) {
    IRBuilder<> B(Before);
    Value *Address = B.CreatePtrToInt(Pointer, I64);
    if (A.Kind == ToldAccess::How::Steady && !Lane) {
      AllocaInst *Last = slot(I64, -1);
      Before = seldom(otherPage(B, Address, Last), Before);
      B.SetInsertPoint(Before);
      // Remembered whether it is sampled or not: the next accesses are not looked at.
      B.CreateStore(Address, Last);
    }
    Value *Tell = sampled(B, Address);
    const bool Scattered = A.Kind == ToldAccess::How::Scattered;
    Before = seldom(Lane ? B.CreateAnd(Tell, Lane) : Tell, Before, Scattered ? Seldom : Unlikely);
    B.SetInsertPoint(Before);
    G.tell(Before, Address, tagged(B, Address, A.Writes), Scattered);
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
  void tellWalk(const ToldWalk &W) {
    IRBuilder<> B(W.Before);
    SmallVector<std::pair<Value *, Value *>, 4> References;
    SmallVector<Value *, 4> Ends;
    SmallVector<AllocaInst *, 4> Last;
    Value *Differs = nullptr;
    for (const ToldWalk::Reference &R : W.References) {
      Value *Start = B.CreatePtrToInt(R.Start, I64);
      Value *End = B.CreateAdd(Start, B.CreateMul(R.Stride, W.BackedgesTaken));
      AllocaInst *Slot = slot(I64, -1);
      Value *Remembered = B.CreateLoad(I64, Slot);
      Value *D = B.CreateOr(B.CreateXor(Start, Remembered), B.CreateXor(End, Remembered));
      Differs = Differs ? B.CreateOr(Differs, D) : D;
      References.push_back({Start, R.Stride});
      Ends.push_back(End);
      Last.push_back(Slot);
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
      Told.first = tagged(B, Told.first, R.Writes);
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
      References.push_back({tagged(B, B.CreatePtrToInt(R.Start, I64), R.Writes), R.Stride});
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
  Gate &G;
  Type *I64;
  Value *Threshold;
  MDNode *Unlikely, *Seldom;
  AllocaInst *Area = nullptr;
  SmallVector<AllocaInst *, 16> Slots;
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
  std::optional<Gate> G;
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
