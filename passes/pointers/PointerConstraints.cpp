//===- PointerConstraints.cpp - the constraints of PointerOrigins ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the constraints of PointerOrigins from a unit. Each instruction and each initializer
// adds those of the pointers that it moves. CallConstraints.cpp collects those of calls.
//===----------------------------------------------------------------------===//
#include "passes/ir/TypeTags.h"
#include "passes/pointers/PointerOrigins.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {
namespace {

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

} // namespace

bool PointerOrigins::carriesPointer(Type *T) {
  if (T->isPtrOrPtrVectorTy())
    return true;
  if (auto *S = dyn_cast<StructType>(T))
    return any_of(S->elements(), carriesPointer);
  if (auto *A = dyn_cast<ArrayType>(T))
    return carriesPointer(A->getElementType());
  return false;
}

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
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I))
      collectCall(*Call, TLI);
    else
      collectInstruction(I, Return);
}

/// Adds the constraints of \p I, which is no call. \p Return: the node of its function's result.
void PointerOrigins::collectInstruction(Instruction &I, NodeId Return) {
  switch (I.getOpcode()) {
  case Instruction::Alloca: {
    if (Coarse)
      return;
    unsigned O = newObject(&I);
    addPoints(nodeOf(&I), locationOf(O, 0));
    return;
  }
  case Instruction::GetElementPtr: {
    auto &G = cast<GEPOperator>(I);
    APInt Offset(Layout->getIndexTypeSizeInBits(G.getType()), 0);
    bool Constant = G.accumulateConstantOffset(*Layout, Offset);
    addShift(nodeOf(G.getPointerOperand()), nodeOf(&I),
             Constant ? Offset.getSExtValue() : AnyOffset);
    return;
  }
  case Instruction::Load:
    return collectLoad(cast<LoadInst>(I));
  case Instruction::Store:
    return collectStore(cast<StoreInst>(I));
  case Instruction::PtrToInt:
    return collectInteger(I);
  case Instruction::Ret:
    if (Value *V = cast<ReturnInst>(I).getReturnValue(); V && carriesPointer(V->getType()))
      addCopy(nodeOf(V), Return);
    return;
  case Instruction::IntToPtr:
    if (const Value *P = pointerInInteger(I.getOperand(0)))
      addShift(nodeOf(P), nodeOf(&I), AnyOffset);
    else
      addPoints(nodeOf(&I), UnknownLoc);
    return;
  case Instruction::AtomicCmpXchg: {
    auto &X = cast<AtomicCmpXchgInst>(I);
    return collectExchange(I, X.getPointerOperand(), X.getNewValOperand());
  }
  case Instruction::AtomicRMW: {
    auto &X = cast<AtomicRMWInst>(I);
    return collectExchange(I, X.getPointerOperand(), X.getValOperand());
  }
  default:
    collectUnion(I);
  }
}

void PointerOrigins::collectLoad(LoadInst &I) {
  if (!carriesPointer(I.getType()))
    return;
  if (Coarse) {
    addCopy(namedMemory(I), nodeOf(&I));
    addPoints(nodeOf(&I), UnknownLoc);
    return;
  }
  if (pointerLanes(I.getType()))
    return collectLanes(I);
  NodeId Address = nodeOf(I.getPointerOperand());
  addLoad(Address, nodeOf(&I));
  if (NodeId Field = namedField(I)) {
    Nodes[Address].NamedLoads.push_back({Field, nodeOf(&I)});
    if (PointsTo[Address].test(UnknownLoc))
      addCopy(Field, nodeOf(&I));
  }
}

void PointerOrigins::collectStore(StoreInst &I) {
  const Value *Stored = I.getValueOperand();
  if (!carriesPointer(Stored->getType()))
    return;
  if (Coarse) {
    addCopy(nodeOf(Stored), namedMemory(I));
    addCopy(nodeOf(Stored), World);
    return;
  }
  if (pointerLanes(Stored->getType()))
    return collectLanes(I);
  addStore(nodeOf(Stored), nodeOf(I.getPointerOperand()));
  if (NodeId Field = namedField(I))
    addCopy(nodeOf(Stored), Field);
}

/// Adds the constraints of \p I, which loads from \p Address and stores \p Stored there.
void PointerOrigins::collectExchange(Instruction &I, const Value *Address, const Value *Stored) {
  if (!carriesPointer(Stored->getType()))
    return;
  addStore(nodeOf(Stored), nodeOf(Address));
  addLoad(nodeOf(Address), nodeOf(&I));
}

/// Adds the constraints of a phi, a select, a cast, an aggregate or a vector: the union of the
/// operands.
void PointerOrigins::collectUnion(Instruction &I) {
  if (!carriesPointer(I.getType()))
    return;
  if (isa<LandingPadInst, VAArgInst>(I)) {
    addPoints(nodeOf(&I), UnknownLoc);
    return;
  }
  if (auto *Extract = dyn_cast<ExtractElementInst>(&I); Extract && !Coarse)
    if (auto *At = dyn_cast<ConstantInt>(Extract->getIndexOperand());
        At && At->getValue().ult(pointerLanes(Extract->getVectorOperandType()))) {
      addCopy(laneNode(Extract->getVectorOperand(), static_cast<unsigned>(At->getZExtValue())),
              nodeOf(&I));
      return;
    }
  for (const Use &Op : I.operands())
    if (carriesPointer(Op->getType()))
      addCopy(nodeOf(Op), nodeOf(&I));
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
/// stored to it where the outer class was unknown. \p Lane: the element, if \p Access is of a
/// vector of pointers.
PointerOrigins::NodeId PointerOrigins::namedField(const Instruction &Access, unsigned Lane) {
  const MDNode *Tag = Lane ? nullptr : Access.getMetadata(LLVMContext::MD_tbaa);
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
  const MemberPath Path = Members.of(Access, Lane);
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

} // namespace smalloc
