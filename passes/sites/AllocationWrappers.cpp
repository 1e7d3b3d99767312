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
#include "llvm/IR/Operator.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most instructions of a wrapper. A wrapper is copied once; a longer one is not worth its bytes.
constexpr unsigned MaxInstructions = 200;
/// Most instructions in loops of a wrapper: enough to initialise rows of rows. A function that
/// computes more has a result of its own and is no wrapper. Vectorising, unrolling and selecting
/// its loops twice would double the compile time of the unit.
constexpr unsigned MaxLoopInstructions = 50;
/// Most instructions in loops of all wrappers of a unit: the larger of this number and this share
/// of the unit. Without the limit, a unit of only such functions would still take twice as long to
/// compile.
constexpr size_t MaxLoopInstructionsOfUnit = 100, LeastUnitPerLoopInstruction = 40;

Function *calledFunction(const CallBase &Call) {
  return dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

bool returnsPointer(const FunctionType &Type) {
  return Type.getReturnType()->isPointerTy() && Type.getReturnType()->getPointerAddressSpace() == 0;
}

/// True if a function can get a second entry with one more argument, and its calls can be sent
/// there.
bool canTakeCell(const FunctionType &Type, const AttributeList &Attributes) {
  if (Type.isVarArg())
    return false;
  for (unsigned I = 0; I < Type.getNumParams(); ++I)
    for (Attribute::AttrKind Kind :
         {Attribute::ByVal, Attribute::InAlloca, Attribute::Preallocated, Attribute::StructRet,
          Attribute::SwiftError, Attribute::SwiftSelf, Attribute::Nest})
      if (Attributes.hasParamAttr(I, Kind))
        return false;
  return true;
}

bool plainCall(const CallBase &Call) {
  return isa<CallInst, InvokeInst>(Call) && !Call.isInlineAsm() && !Call.isMustTailCall() &&
         !Call.hasFnAttr(Attribute::ReturnsTwice) && !Call.hasOperandBundles();
}

/// True for functions of the implementation: none of them is compiled with the plugin.
bool isReservedName(StringRef Name) {
  return Name.starts_with("__") || Name.starts_with("_ZNSt") || Name.starts_with("_ZNKSt") ||
         Name.starts_with("_ZSt") || Name.starts_with("_ZN9__gnu_cxx") ||
         Name.starts_with("_Fortran") || Name.starts_with("_Zn") || Name.starts_with("llvm.");
}

bool isLong(const Function &F) {
  size_t Instructions = 0;
  return any_of(
      F, [&](const BasicBlock &Block) { return (Instructions += Block.size()) > MaxInstructions; });
}

bool bodyCanBeCopied(const Function &F) {
  if (leavesAlone(F) || F.isInterposable() || F.hasFnAttribute(Attribute::ReturnsTwice) ||
      F.callsFunctionThatReturnsTwice() || F.isPresplitCoroutine() || isLong(F))
    return false;
  // A recursive function builds a structure: its own calls are no contexts.
  for (const User *U : F.users())
    if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getFunction() == &F)
      return false;
  for (const BasicBlock &Block : F) {
    if (Block.hasAddressTaken() || isa<IndirectBrInst, CallBrInst>(Block.getTerminator()))
      return false;
    if (Block.getTerminatingMustTailCall())
      return false;
  }
  return true;
}

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

} // namespace

bool isDeclaredFresh(const Function &F) {
  return F.getAttributes().hasRetAttr(Attribute::NoAlias) || F.hasFnAttribute(Attribute::AllocSize);
}

/// True if \p Call can be sent to another entry of \p Callee, a function of the program, with one
/// more argument.
static bool canBeSentOn(const CallBase &Call, const Function *Callee,
                        const TargetLibraryInfo &TLI) {
  LibFunc Known;
  return Callee && plainCall(Call) && Callee->getFunctionType() == Call.getFunctionType() &&
         !Callee->isIntrinsic() && !isReservedName(Callee->getName()) &&
         !TLI.getLibFunc(*Callee, Known) &&
         canTakeCell(*Callee->getFunctionType(), Callee->getAttributes()) &&
         canTakeCell(*Callee->getFunctionType(), Call.getAttributes());
}

static bool hasNumber(const Function &F) {
  return any_of(F.args(), [](const Argument &A) { return A.getType()->isIntegerTy(64); });
}

/// Returns the type of the variable or member at \p Address; null if it is unknown.
static const Type *typeAt(const Value *Address) {
  Address = Address->stripPointerCasts();
  if (auto *A = dyn_cast<AllocaInst>(Address))
    return A->getAllocatedType();
  if (auto *G = dyn_cast<GlobalVariable>(Address))
    return G->getValueType();
  auto *G = dyn_cast<GEPOperator>(Address);
  return G && G->getNumIndices() > 1 ? G->getResultElementType() : nullptr;
}

int mayHandOutThrough(const CallBase &Call, const TargetLibraryInfo &TLI) {
  const Function *Callee = calledFunction(Call);
  if (!Callee || !Callee->isDeclaration() || Callee->hasExternalWeakLinkage() ||
      Call.onlyReadsMemory() || !hasNumber(*Callee) ||
      !(Call.getType()->isVoidTy() || Call.getType()->isIntegerTy()) ||
      !canBeSentOn(Call, Callee, TLI))
    return -1;
  int Out = -1;
  for (unsigned I = 0; I < Call.arg_size(); ++I)
    if (const Value *Given = Call.getArgOperand(I); Given->getType()->isPointerTy())
      if (const Type *T = typeAt(Given); T && T->isPointerTy()) {
        if (Out >= 0)
          return -1;
        Out = static_cast<int>(I);
      }
  return Out;
}

/// Returns the out-argument that the first pass over \p Call guessed; -1 if its function now has a
/// body.
static int guessedOut(const CallBase &Call) {
  unsigned Out;
  const Function *Callee = calledFunction(Call);
  if (!Callee || !Callee->isDeclaration() ||
      Call.getFnAttr(OutAttr).getValueAsString().getAsInteger(10, Out) || Out >= Call.arg_size())
    return -1;
  return static_cast<int>(Out);
}

bool mayBeWrapperCall(const CallBase &Call, const TargetLibraryInfo &TLI) {
  const Function *Callee = calledFunction(Call);
  if (!canBeSentOn(Call, Callee, TLI) || !returnsPointer(*Callee->getFunctionType()))
    return false;
  if (!Callee->isDeclaration())
    return true; // analyse() reads its body
  if (Callee->hasExternalWeakLinkage() || Call.onlyReadsMemory() || Call.getReturnedArgOperand())
    return false;
  return isDeclaredFresh(*Callee) || hasNumber(*Callee);
}

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

/// Drops wrappers that are local and called once. They have one context, and the allocation inside
/// says more than the call.
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
  if (Rejected.contains(&F) || !InProgress.insert(&F).second)
    return false; // recursive: its own result proves nothing
  AllocationWrapper W;
  W.F = &F;
  bool Ok = bodyCanBeCopied(F) && canTakeCell(*F.getFunctionType(), F.getAttributes());
  SmallPtrSet<Value *, 16> Seen;
  if (Ok && !returnsPointer(*F.getFunctionType()))
    Ok = !F.getReturnType()->isPtrOrPtrVectorTy() && handsOut(F, W);
  else
    for (BasicBlock &Block : F)
      if (auto *Return = dyn_cast<ReturnInst>(Block.getTerminator()); Return && Ok)
        Ok = isFresh(Return->getReturnValue(), W, Seen);
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
  // The size, if every allocation requests one and the same argument, with or without a header of
  // constant size.
  for (CallBase *Call : W.Fresh) {
    std::optional<AllocFamily> Family = allocationFamily(*Call);
    int At = -1;
    if (const AllocationWrapper *Inner = calledBy(*Call))
      At = Inner->SizeArgument;
    else if (Family == AllocFamily::Mapping)
      At = static_cast<int>(mappedBytesArgument(*calledFunction(*Call)));
    else if (Family == AllocFamily::Malloc || Family == AllocFamily::Valloc ||
             (Family && *Family >= AllocFamily::New && *Family < AllocFamily::Wrapper))
      At = 0;
    else if (Family == AllocFamily::Realloc || Family == AllocFamily::AlignedAlloc)
      At = 1;
    else if (Family == AllocFamily::PosixMemalign)
      At = 2;
    const Value *Size = At < 0 ? nullptr : Call->getArgOperand(static_cast<unsigned>(At));
    std::optional<uint64_t> Bytes = constantOf(Size);
    if (const AllocationWrapper *Inner = calledBy(*Call); Inner && !Size)
      Bytes = Inner->ConstantSize;
    else if (Family == AllocFamily::Calloc)
      if (auto Count = constantOf(Call->getArgOperand(0)), One = constantOf(Call->getArgOperand(1));
          Count && One)
        Bytes = SaturatingMultiply(*Count, *One);
    if (Call == W.Fresh.front())
      W.ConstantSize = Bytes;
    else if (W.ConstantSize != Bytes)
      W.ConstantSize = std::nullopt;
    while (Size) {
      if (auto *Sum = dyn_cast<BinaryOperator>(Size);
          Sum && Sum->getOpcode() == Instruction::Add && isa<ConstantInt>(Sum->getOperand(1)))
        Size = Sum->getOperand(0);
      else if (auto *Most = dyn_cast<MinMaxIntrinsic>(Size); Most && isa<Constant>(Most->getRHS()))
        Size = Most->getLHS(); // malloc(size ? size : 1)
      else
        break;
    }
    auto *Argument_ = dyn_cast_or_null<Argument>(Size);
    int Number = Argument_ && Argument_->getType()->isIntegerTy(64)
                     ? static_cast<int>(Argument_->getArgNo())
                     : -1;
    if (Call == W.Fresh.front())
      W.SizeArgument = Number;
    else if (W.SizeArgument != Number)
      W.SizeArgument = -1;
  }
  Wrappers[&F] = std::make_unique<AllocationWrapper>(std::move(W));
  return true;
}

int AllocationWrappers::outArgument(const CallBase &Call) const {
  if (std::optional<AllocFamily> Family = allocationFamily(Call))
    return storesResult(*Family) ? 0 : -1;
  if (!isContext(Call))
    return -1;
  const AllocationWrapper *W = calledBy(Call);
  return W ? W->Out : guessedOut(Call);
}

/// True if \p F stores fresh memory, and nothing else, where one of its arguments points.
bool AllocationWrappers::handsOut(Function &F, AllocationWrapper &W) {
  for (Argument &A : F.args()) {
    AllocationWrapper Tried;
    Tried.F = &F;
    if (!A.getType()->isPointerTy() || !storesOnlyFresh(A, Tried) || Tried.Fresh.empty())
      continue;
    if (W.Out >= 0)
      return false; // two blocks cannot share a cell
    W = std::move(Tried);
    W.Out = static_cast<int>(A.getArgNo());
  }
  return W.Out >= 0;
}

/// True if \p W's function stores only null or fresh memory through \p A, and \p A does not escape.
bool AllocationWrappers::storesOnlyFresh(Argument &A, AllocationWrapper &W) {
  SmallPtrSet<Value *, 16> Seen;
  for (Use &U : A.uses()) {
    auto *I = cast<Instruction>(U.getUser());
    if (isa<LoadInst, ICmpInst>(I))
      continue;
    if (auto *Store = dyn_cast<StoreInst>(I)) {
      if (U.getOperandNo() != StoreInst::getPointerOperandIndex() || Store->isVolatile() ||
          !Store->getValueOperand()->getType()->isPointerTy() ||
          !isFresh(Store->getValueOperand(), W, Seen))
        return false;
      continue;
    }
    if (isa<GetElementPtrInst>(I)) { // the caller's size field beside the pointer
      for (const User *Of : I->users())
        if (auto *Store = dyn_cast<StoreInst>(Of);
            !isa<LoadInst>(Of) && !(Store && Store->getPointerOperand() == I &&
                                    Store->getValueOperand()->getType()->isIntegerTy()))
          return false;
      continue;
    }
    auto *Call = dyn_cast<CallBase>(I);
    Function *Callee = Call && plainCall(*Call) ? calledFunction(*Call) : nullptr;
    if (!Callee || !Call->isArgOperand(&U))
      return false;
    const int At = static_cast<int>(Call->getArgOperandNo(&U));
    const bool Site = Call->hasFnAttr(SiteIdAttr) && At == 0 &&
                      allocationFamily(*Call) == AllocFamily::PosixMemalign;
    if (!Site && !(Call->hasFnAttr(ContextIdAttr) && !Callee->isDeclaration() && analyse(*Callee) &&
                   find(Callee)->Out == At))
      return false;
    if (Seen.insert(Call).second)
      W.Fresh.push_back(Call);
  }
  return true;
}

/// True if \p V is null or comes straight from an allocation. A value loaded from memory may be
/// old.
bool AllocationWrappers::isFresh(Value *V, AllocationWrapper &W, SmallPtrSetImpl<Value *> &Seen) {
  V = V->stripPointerCastsAndAliases();
  if (isa<ConstantPointerNull, UndefValue>(V) || !Seen.insert(V).second)
    return true;
  if (auto *G = dyn_cast<GEPOperator>(V))
    return isFresh(G->getPointerOperand(), W, Seen); // the block behind a header
  if (isa<PHINode, SelectInst>(V)) {
    for (Use &Op : cast<User>(V)->operands())
      if (Op->getType()->isPointerTy() && !isFresh(Op, W, Seen))
        return false;
    return true;
  }
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(*W.F);
  if (auto *Call = dyn_cast<CallBase>(V)) {
    if (Value *Same = Call->getReturnedArgOperand())
      return isFresh(Same, W, Seen);
    Function *Callee = calledFunction(*Call);
    if (!Callee || !plainCall(*Call))
      return false;
    std::optional<AllocFamily> Family = allocationFamily(*Call);
    if ((Family && Family != AllocFamily::PosixMemalign && Call->hasFnAttr(SiteIdAttr)) ||
        (Call->hasFnAttr(ContextIdAttr) && mayBeWrapperCall(*Call, TLI) &&
         (Callee->isDeclaration() || analyse(*Callee)))) {
      if (!Family && Callee->isDeclaration() && !isDeclaredFresh(*Callee))
        W.Condition = Callee;
      else if (const AllocationWrapper *Inner = Family ? nullptr : find(Callee);
               Inner && Inner->Condition)
        W.Condition = Inner->Condition;
      W.Fresh.push_back(Call);
      return true;
    }
    return false;
  }
  // void *p = NULL; if (posix_memalign(&p, ...)) ...; return p;
  if (auto *Load = dyn_cast<LoadInst>(V))
    if (auto *Slot = dyn_cast<AllocaInst>(Load->getPointerOperand())) {
      CallBase *Filler = nullptr;
      for (const Use &U : Slot->uses()) {
        auto *Call = dyn_cast<CallBase>(U.getUser());
        if (isa<LoadInst>(U.getUser()) || (Call && cast<Instruction>(Call)->isLifetimeStartOrEnd()))
          continue;
        if (auto *Store = dyn_cast<StoreInst>(U.getUser());
            Store && isa<ConstantPointerNull>(Store->getValueOperand()))
          continue;
        if (Filler || !Call || !plainCall(*Call) || !Call->hasFnAttr(SiteIdAttr) ||
            allocationFamily(*Call) != AllocFamily::PosixMemalign || Call->getArgOperandNo(&U) != 0)
          return false;
        Filler = Call;
      }
      if (!Filler)
        return false;
      if (Seen.insert(Filler).second)
        W.Fresh.push_back(Filler);
      return true;
    }
  return false;
}

} // namespace smalloc
