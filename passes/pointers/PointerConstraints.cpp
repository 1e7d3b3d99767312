//===- PointerConstraints.cpp - the constraints of PointerOrigins ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the constraints of PointerOrigins from a unit. Each instruction, call, initializer and
// callback adds those of the pointers that it moves.
//===----------------------------------------------------------------------===//
#include "passes/ir/LlvmVersions.h"
#include "passes/ir/TypeTags.h"
#include "passes/pointers/PointerOrigins.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/AbstractCallSite.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/ModRef.h"
#include <utility>

using namespace llvm;

namespace smalloc {
namespace {

bool carriesPointer(Type *T) {
  if (T->isPtrOrPtrVectorTy())
    return true;
  if (auto *S = dyn_cast<StructType>(T))
    return any_of(S->elements(), carriesPointer);
  if (auto *A = dyn_cast<ArrayType>(T))
    return carriesPointer(A->getElementType());
  return false;
}

const Function *calledFunction(const CallBase &Call) {
  return dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

/// Returns the pointer from which \p V, an integer, is computed with constants only, as code does
/// that sets and clears tags. Null if there is none.
const Value *pointerInInteger(const Value *V, unsigned Depth = 0) {
  if (auto *P = dyn_cast<PtrToIntOperator>(V))
    return P->getPointerOperand();
  auto *B = dyn_cast<BinaryOperator>(V);
  if (!B || Depth > 4 || !isa<ConstantInt>(B->getOperand(1)))
    return nullptr;
  switch (B->getOpcode()) {
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::Add:
  case Instruction::Sub:
    return pointerInInteger(B->getOperand(0), Depth + 1);
  default:
    return nullptr;
  }
}

/// True for functions that keep no pointer. They free an object, write only bounds and null into a
/// Fortran descriptor, or only read it.
bool keepsNoPointer(StringRef Name) {
  static constexpr StringRef Names[] = {"munmap",
                                        "numa_free",
                                        "_FortranAAllocatableSetBounds",
                                        "_FortranAPointerSetBounds",
                                        "_FortranAAllocatableDeallocate",
                                        "_FortranACopyOutAssign",
                                        "_FortranAIsContiguous",
                                        "_FortranAPointerDeallocate"};
  return Name.starts_with("_ZdlPv") || Name.starts_with("_ZdaPv") || is_contained(Names, Name);
}

} // namespace

PointerOrigins::NodeId PointerOrigins::nodeOf(const Value *V) {
  auto [It, New] = ValueNodes.try_emplace(V, static_cast<NodeId>(Same.size()));
  if (!New)
    return It->second;
  const NodeId N = newNode();
  if (isa<ConstantPointerNull, UndefValue>(V))
    return N;
  if (auto *F = dyn_cast<Function>(V)) {
    if (!Coarse && !F->isIntrinsic())
      addPoints(N, functionLocation(*F));
    return N;
  }
  if (auto *A = dyn_cast<GlobalAlias>(V)) {
    addCopy(nodeOf(A->getAliasee()), N);
  } else if (isa<GlobalVariable>(V) && !Coarse) {
    unsigned O = newObject(V);
    addPoints(N, locationOf(O, 0));
  } else if (auto *CE = dyn_cast<ConstantExpr>(V)) {
    if (CE->getOpcode() == Instruction::IntToPtr) {
      addPoints(N, UnknownLoc);
    } else if (V->getType()->isPtrOrPtrVectorTy()) {
      APInt Offset(Layout->getIndexTypeSizeInBits(V->getType()), 0);
      const Value *Base =
          V->stripAndAccumulateConstantOffsets(*Layout, Offset, /*AllowNonInbounds=*/true);
      if (Base != V)
        addShift(nodeOf(Base), N, Offset.getSExtValue());
      else
        addPoints(N, UnknownLoc);
    }
  } else if (isa<ConstantAggregate>(V)) {
    for (const Use &Op : cast<Constant>(V)->operands())
      if (carriesPointer(Op->getType()))
        addCopy(nodeOf(Op), N);
  }
  return N;
}

void PointerOrigins::collectInitializer(unsigned ObjectIndex, const Constant *C, int64_t Offset,
                                        const DataLayout &DL) {
  if (isa<ConstantPointerNull, UndefValue, ConstantAggregateZero, ConstantData>(C))
    return;
  if (C->getType()->isPointerTy()) {
    const NodeId Held = nodeOf(C);
    storeTo(Held, locationOf(ObjectIndex, Offset));
    return;
  }
  if (auto *S = dyn_cast<ConstantStruct>(C)) {
    const StructLayout *SL = DL.getStructLayout(S->getType());
    for (unsigned I = 0; I < S->getNumOperands(); ++I)
      collectInitializer(ObjectIndex, S->getOperand(I),
                         Offset + static_cast<int64_t>(SL->getElementOffset(I)), DL);
  } else if (auto *A = dyn_cast<ConstantArray>(C)) {
    int64_t Step = static_cast<int64_t>(DL.getTypeAllocSize(A->getType()->getElementType()));
    for (unsigned I = 0; I < A->getNumOperands(); ++I)
      collectInitializer(ObjectIndex, A->getOperand(I), Offset + Step * I, DL);
  }
}

void PointerOrigins::collectGlobals(Module &M) {
  for (GlobalVariable &G : M.globals()) {
    if (G.getName().starts_with("llvm."))
      continue;
    nodeOf(&G);
    if (G.hasInitializer())
      collectInitializer(ObjectOf[&G], G.getInitializer(), 0, M.getDataLayout());
    // Another unit may read and write the variable.
    if (!G.hasLocalLinkage() && !(G.isConstant() && G.hasInitializer()))
      addPoints(World, locationOf(ObjectOf[&G], 0));
  }
}

void PointerOrigins::collectFunction(Function &F, const TargetLibraryInfo &TLI) {
  // All callers are visible if no other unit can call the function and its address does not leave
  // the unit (markEscaped()).
  if (!F.hasLocalLinkage() || (F.hasAddressTaken() && (Coarse || !addressIsSeen(F))))
    openToWorld(F);
  const NodeId Return = returnOf(F);
  for (Instruction &I : instructions(F)) {
    if (auto *Call = dyn_cast<CallBase>(&I)) {
      collectCall(*Call, TLI);
      continue;
    }
    switch (I.getOpcode()) {
    case Instruction::Alloca: {
      if (Coarse)
        break;
      unsigned O = newObject(&I);
      addPoints(nodeOf(&I), locationOf(O, 0));
      break;
    }
    case Instruction::GetElementPtr: {
      auto &G = cast<GEPOperator>(I);
      APInt Offset(Layout->getIndexTypeSizeInBits(G.getType()), 0);
      bool Constant = G.accumulateConstantOffset(*Layout, Offset);
      addShift(nodeOf(G.getPointerOperand()), nodeOf(&I),
               Constant ? Offset.getSExtValue() : AnyOffset);
      break;
    }
    case Instruction::Load:
      if (Coarse && carriesPointer(I.getType())) {
        addCopy(namedMemory(I), nodeOf(&I));
        addPoints(nodeOf(&I), UnknownLoc);
      } else if (carriesPointer(I.getType())) {
        NodeId Address = nodeOf(cast<LoadInst>(I).getPointerOperand());
        addLoad(Address, nodeOf(&I));
        if (NodeId Field = namedField(I)) {
          Nodes[Address].NamedLoads.push_back({Field, nodeOf(&I)});
          if (PointsTo[Address].test(UnknownLoc))
            addCopy(Field, nodeOf(&I));
        }
      }
      break;
    case Instruction::Store: {
      auto &S = cast<StoreInst>(I);
      if (Coarse && carriesPointer(S.getValueOperand()->getType())) {
        addCopy(nodeOf(S.getValueOperand()), namedMemory(I));
        addCopy(nodeOf(S.getValueOperand()), World);
      } else if (carriesPointer(S.getValueOperand()->getType())) {
        addStore(nodeOf(S.getValueOperand()), nodeOf(S.getPointerOperand()));
        if (NodeId Field = namedField(I))
          addCopy(nodeOf(S.getValueOperand()), Field);
      }
      break;
    }
    case Instruction::PtrToInt:
      collectInteger(I);
      break;
    case Instruction::Ret:
      if (Value *V = cast<ReturnInst>(I).getReturnValue(); V && carriesPointer(V->getType()))
        addCopy(nodeOf(V), Return);
      break;
    case Instruction::IntToPtr: {
      Value *From = cast<IntToPtrInst>(I).getOperand(0);
      if (const Value *P = pointerInInteger(From))
        addShift(nodeOf(P), nodeOf(&I), AnyOffset);
      else
        addPoints(nodeOf(&I), UnknownLoc);
      break;
    }
    case Instruction::AtomicCmpXchg: {
      auto &X = cast<AtomicCmpXchgInst>(I);
      if (carriesPointer(X.getNewValOperand()->getType())) {
        addStore(nodeOf(X.getNewValOperand()), nodeOf(X.getPointerOperand()));
        addLoad(nodeOf(X.getPointerOperand()), nodeOf(&I));
      }
      break;
    }
    case Instruction::AtomicRMW: {
      auto &X = cast<AtomicRMWInst>(I);
      if (carriesPointer(X.getValOperand()->getType())) {
        addStore(nodeOf(X.getValOperand()), nodeOf(X.getPointerOperand()));
        addLoad(nodeOf(X.getPointerOperand()), nodeOf(&I));
      }
      break;
    }
    default: // phi, select, casts, aggregates, vectors: union of the operands
      if (!carriesPointer(I.getType()))
        break;
      if (isa<LandingPadInst, VAArgInst>(I)) {
        addPoints(nodeOf(&I), UnknownLoc);
        break;
      }
      for (const Use &Op : I.operands())
        if (carriesPointer(Op->getType()))
          addCopy(nodeOf(Op), nodeOf(&I));
    }
  }
}

void PointerOrigins::collectCall(CallBase &Call, const TargetLibraryInfo &TLI) {
  const bool GivesPointer = carriesPointer(Call.getType());
  auto MoveContents = [&](const Value *To, const Value *From) {
    if (Coarse)
      return;
    NodeId Source = newNode(), Target = newNode(), Moved = newNode();
    addShift(nodeOf(From), Source, AnyOffset);
    addShift(nodeOf(To), Target, AnyOffset);
    addLoad(Source, Moved);
    addStore(Moved, Target);
  };
  if (Wrappers.isContext(Call)) {
    unsigned O = newObject(&Call);
    Objects[O].Site = &Call;
    if (const int Out = Wrappers.outArgument(Call); Out >= 0) {
      NodeId Block = newNode();
      addPoints(Block, locationOf(O, 0));
      addStore(Block, nodeOf(Call.getArgOperand(static_cast<unsigned>(Out))));
    } else {
      addPoints(nodeOf(&Call), locationOf(O, 0));
    }
    // Also handled like any call below: objects made inside show what the function puts into the
    // memory.
  } else if (Call.hasFnAttr(SiteIdAttr)) {
    std::optional<AllocFamily> Family = allocationFamily(Call);
    unsigned O = newObject(&Call);
    Objects[O].Site = &Call;
    if (Family && storesResult(*Family)) {
      NodeId Block = newNode();
      addPoints(Block, locationOf(O, 0));
      addStore(Block, nodeOf(Call.getArgOperand(0)));
    } else if (GivesPointer) {
      addPoints(nodeOf(&Call), locationOf(O, 0));
      if (Family == AllocFamily::Realloc || Family == AllocFamily::ReallocArray)
        MoveContents(&Call, Call.getArgOperand(0));
    }
    return;
  }
  if (auto *II = dyn_cast<IntrinsicInst>(&Call)) {
    if (auto *Copy = dyn_cast<AnyMemTransferInst>(II))
      MoveContents(Copy->getRawDest(), Copy->getRawSource());
    else if (GivesPointer) // launder.invariant.group, ptrmask, ssa.copy ...: copies of the operands
      for (const Use &Op : II->args())
        if (carriesPointer(Op->getType()))
          addCopy(nodeOf(Op), nodeOf(&Call));
    return;
  }
  const Function *Callee = calledFunction(Call);
  if (Callee && Callee->getName() == "__smalloc_v1_touch")
    return; // libsmalloc's promotion point keeps no pointer
  if (Callee && !Callee->isDeclaration() && !Callee->isInterposable()) {
    bindCallee(Call, *Callee);
    return;
  }
  if (!Callee && !Coarse && !Call.isInlineAsm()) {
    IndirectCallOf[&Call] = static_cast<unsigned>(IndirectCalls.size());
    IndirectCalls.push_back({&Call, nodeOf(Call.getCalledOperand())});
    return;
  }
  LibFunc Known;
  if (Callee && TLI.getLibFunc(*Callee, Known) && Known == LibFunc_free)
    return;
  if (Callee && keepsNoPointer(Callee->getName()))
    return;
  if (Callee)
    bindThreadStart(Call, *Callee);
  if (Callee && bindContainerLink(Call, *Callee))
    return;
  passToUnknown(Call, Callee, &TLI);
}

PointerOrigins::NodeId PointerOrigins::returnOf(const Function &F) {
  NodeId Return = ReturnNodes.try_emplace(&F, 0).first->second;
  if (!Return)
    ReturnNodes[&F] = Return = newNode();
  return Return;
}

/// Lets code outside of the unit call \p F; false if that was known already.
bool PointerOrigins::openToWorld(const Function &F) {
  if (auto It = ObjectOf.find(&F);
      It != ObjectOf.end() && std::exchange(Objects[It->second].Open, true))
    return false;
  for (const Argument &A : F.args())
    if (carriesPointer(A.getType()))
      addPoints(nodeOf(&A), UnknownLoc);
  addCopy(returnOf(F), World);
  return true;
}

/// Copies the arguments of \p Call to \p Callee, a function of the unit, and its result back.
void PointerOrigins::bindCallee(const CallBase &Call, const Function &Callee) {
  for (unsigned I = 0; I < Call.arg_size(); ++I) {
    if (!carriesPointer(Call.getArgOperand(I)->getType()))
      continue;
    if (I < Callee.arg_size())
      addCopy(nodeOf(Call.getArgOperand(I)), nodeOf(Callee.getArg(I)));
    else
      addCopy(nodeOf(Call.getArgOperand(I)), World); // variadic argument
  }
  if (carriesPointer(Call.getType()))
    addCopy(returnOf(Callee), nodeOf(&Call));
}

/// Passes the pointers in the arguments of \p Call to code outside of the unit, and lets it return
/// any. \p Callee, with \p TLI: the function if it has a name; else null.
void PointerOrigins::passToUnknown(const CallBase &Call, const Function *Callee,
                                   const TargetLibraryInfo *TLI) {
  const bool GivesPointer = carriesPointer(Call.getType());
  LibFunc Known = NumLibFuncs;
  const bool Library = Callee && TLI->getLibFunc(*Callee, Known);
  for (unsigned I = 0; I < Call.arg_size(); ++I) {
    if (!carriesPointer(Call.getArgOperand(I)->getType()))
      continue;
    if (GivesPointer && Call.paramHasAttr(I, Attribute::Returned))
      addCopy(nodeOf(Call.getArgOperand(I)), nodeOf(&Call));
    // Library functions that return their argument (strcpy, strcat) keep no copy of it.
    if (Library && Call.paramHasAttr(I, Attribute::Returned))
      continue;
    // A pointer that only the result contains (strcpy, strchr) stays in the unit. qsort keeps no
    // pointer, but it calls its last argument.
    if (mayKeep(Call, I) || (Known == LibFunc_qsort && I == 3))
      addCopy(nodeOf(Call.getArgOperand(I)), World);
    else if (GivesPointer && mayReturn(Call, I))
      addShift(nodeOf(Call.getArgOperand(I)), nodeOf(&Call), AnyOffset);
  }
  if (GivesPointer && !Call.getReturnedArgOperand() &&
      !(Callee && Wrappers.isContext(Call) && isDeclaredFresh(*Callee)))
    addPoints(nodeOf(&Call), UnknownLoc);
}

/// Copies the argument of a new thread to the thread's start function. pthread_create(thread,
/// attributes, start, argument) and thrd_create(thread, start, argument) have no !callback
/// metadata.
void PointerOrigins::bindThreadStart(CallBase &Call, const Function &Callee) {
  unsigned At = Callee.getName() == "pthread_create" ? 2
                : Callee.getName() == "thrd_create"  ? 1
                                                     : 0;
  if (!At || Call.arg_size() <= At + 1)
    return;
  auto *Start = dyn_cast<Function>(Call.getArgOperand(At)->stripPointerCastsAndAliases());
  if (Start && !Start->isDeclaration() && Start->arg_size() > 0)
    addCopy(nodeOf(Call.getArgOperand(At + 1)), nodeOf(Start->getArg(0)));
}

/// Adds the constraints of libstdc++ functions that link nodes of lists and trees, whose code is
/// not in the unit. Any node may then hold any other node. False if \p Callee is no such function.
bool PointerOrigins::bindContainerLink(CallBase &Call, const Function &Callee) {
  if (!Callee.getName().contains("_List_node_base") && !Callee.getName().contains("_Rb_tree_"))
    return false;
  NodeId Any = newNode();
  SmallVector<NodeId, 4> Addresses;
  for (const Use &Argument : Call.args()) {
    if (!carriesPointer(Argument->getType()))
      continue;
    NodeId Address = newNode();
    addShift(nodeOf(Argument), Address, AnyOffset);
    addCopy(nodeOf(Argument), Any);
    addLoad(Address, Any);
    Addresses.push_back(Address);
  }
  for (NodeId Address : Addresses)
    addStore(Any, Address);
  if (carriesPointer(Call.getType()))
    addCopy(Any, nodeOf(&Call));
  return true;
}

/// Marks a pointer as escaped if an integer made from it leaves the function. Differences,
/// comparisons and hashes keep no pointer.
void PointerOrigins::collectInteger(Instruction &PtrToInt) {
  SmallVector<const Instruction *, 8> Stack{&PtrToInt};
  SmallPtrSet<const Instruction *, 8> Seen;
  while (!Stack.empty()) {
    const Instruction *I = Stack.pop_back_val();
    if (!Seen.insert(I).second)
      continue;
    for (const Use &U : I->uses()) {
      auto *User = cast<Instruction>(U.getUser());
      bool Gone = isa<ReturnInst, CallBase>(User) ||
                  (isa<StoreInst>(User) && U.getOperandNo() == 0) ||
                  (isa<IntToPtrInst>(User) && !pointerInInteger(User->getOperand(0)));
      if (auto *Intrinsic = dyn_cast<IntrinsicInst>(User);
          Intrinsic && Intrinsic->isAssumeLikeIntrinsic())
        Gone = false;
      if (Gone) {
        addCopy(nodeOf(PtrToInt.getOperand(0)), World);
        return;
      }
      if (isa<PHINode, SelectInst>(User))
        Stack.push_back(User);
      if (isa<BinaryOperator>(User) && pointerInInteger(User)) {
        auto *Mask = dyn_cast<ConstantInt>(User->getOperand(1));
        if (User->getOpcode() != Instruction::And || !Mask || Mask->getValue().getActiveBits() > 16)
          Stack.push_back(User);
      }
    }
  }
}

/// Returns the node of the memory that an access' type tag names: a field, or any object of a type.
/// Returns World for an access without a tag.
PointerOrigins::NodeId PointerOrigins::namedMemory(const Instruction &Access) {
  if (NodeId Field = namedField(Access))
    return Field;
  const MDNode *Tag = Access.getMetadata(LLVMContext::MD_tbaa);
  if (!Tag)
    return World;
  NodeId &Memory =
      NamedFields[{Tag->getNumOperands() ? Tag->getOperand(0).get() : Tag, UINT64_MAX}];
  if (!Memory)
    Memory = newNode();
  return Memory;
}

/// Returns the node of the field that \p Access names by its struct-path type tag, or by the class
/// that its address is computed from; 0 if it names none. A load of a member of a member (a
/// vector's pointer in a class) gives two kinds of pointers: those stored to that member, and those
/// stored to it where the outer class was unknown.
PointerOrigins::NodeId PointerOrigins::namedField(const Instruction &Access) {
  const MDNode *Tag = Access.getMetadata(LLVMContext::MD_tbaa);
  const MDNode *Base = nullptr;
  uint64_t Offset = 0;
  if (Tag && Tag->getNumOperands() >= 3 && Tag->getOperand(0) != Tag->getOperand(1))
    if (auto *At = mdconst::dyn_extract_or_null<ConstantInt>(Tag->getOperand(2))) {
      Base = nodeOperand(Tag, 0);
      Offset = At->getZExtValue();
    }
  auto NodeIn = [&](NodeId &Known) {
    if (!Known)
      Known = newNode();
    return Known;
  };
  const NodeId Any = Base ? NodeIn(NamedFields[{Base, Offset}]) : 0;
  if (Base && !isClassName(typeName(Base)))
    return Any;
  NodeId Loose = 0;
  if (Base) {
    Loose = NodeIn(LooseFields[{Base, Offset}]);
    addCopy(Loose, Any);
  }
  const MemberPath Path = Members.of(Access);
  if (Path.empty() || (Path.size() == 1 && Path[0].Direct)) {
    // A library's vector that is not an argument is an array element or a variable, no class
    // member.
    const bool Member = !Base || !isLibraryClass(typeName(Base)) ||
                        isa<Argument>(getUnderlyingObject(getLoadStorePointerOperand(&Access)));
    return isa<StoreInst>(Access) && Member ? Loose : Any;
  }
  // Of several classes around the member, takes the innermost, by which its own functions name it.
  const MemberLevel &In = Path[Path.size() - (Path.size() > 1 && Path.back().Direct ? 2 : 1)];
  const NodeId Member = NodeIn(NamedMembers[{In.Class, In.Offset}]);
  if (Base) {
    addCopy(Loose, Member);
    addCopy(Member, Any);
  }
  return Member;
}

void PointerOrigins::bindCallbacks(Function &F) {
  for (const Use &U : F.uses()) {
    AbstractCallSite Broker(&U);
    if (!Broker || !Broker.isCallbackCall())
      continue;
    for (Argument &A : F.args())
      if (Value *Passed = Broker.getCallArgOperand(A); Passed && carriesPointer(A.getType()))
        addCopy(nodeOf(Passed), nodeOf(&A));
  }
}

} // namespace smalloc
