//===- RecordedPointees.cpp - classes that unoptimised code names -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ir/RecordedPointees.h"
#include "passes/ir/TypeTags.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/StringSaver.h"
#include <optional>

using namespace llvm;

namespace smalloc {
namespace {

/// True if \p Whole is an instance of the class template with the name \p Plain.
bool isInstance(StringRef Whole, StringRef Plain) {
  Plain.consume_back("E");
  return Whole.consume_front(Plain) && Whole.starts_with("I");
}

class PointeeRecorder {
public:
  explicit PointeeRecorder(Module &M) : M(M), Layout(M.getDataLayout()) {}
  void recordArguments(Function &F);
  void recordParts(const Function &F);
  void write();

private:
  /// A place in an object of a class.
  struct Place {
    StringRef Whole;
    uint64_t Offset;
  };
  std::optional<Place> placeOf(const Value *Pointer, APInt Offset) const;
  StringRef classBefore(const Value *Pointer) const;
  void recordBase(const GetElementPtrInst &G);
  void recordPassed(const CallBase &Call);

  Module &M;
  const DataLayout &Layout;
  /// Unoptimised code keeps each argument in a variable: the class that this variable points to.
  DenseMap<const Value *, StringRef> Held;
  SetVector<std::tuple<StringRef, uint64_t, StringRef>> Parts, Accessed;
  BumpPtrAllocator Memory;
  StringSaver Names{Memory};
  DenseMap<const Type *, StringRef> Classes;
};

void PointeeRecorder::recordArguments(Function &F) {
  for (Argument &A : F.args()) {
    if (!A.getType()->isPointerTy())
      continue;
    for (const User *U : A.users()) {
      auto *Store = dyn_cast<StoreInst>(U);
      if (!Store || Store->getValueOperand() != &A || !isa<AllocaInst>(Store->getPointerOperand()))
        continue;
      if (StringRef Class = classPointedTo(Store->getMetadata(LLVMContext::MD_tbaa));
          isKnownElsewhere(Class)) {
        A.addAttr(Attribute::get(M.getContext(), PointeeAttr, Class));
        Held[Store->getPointerOperand()] = Class;
      }
      break;
    }
  }
}

/// Returns the class of the object at whose start \p Pointer points; empty: unknown.
StringRef PointeeRecorder::classBefore(const Value *Pointer) const {
  if (auto *Load = dyn_cast<LoadInst>(Pointer))
    return Held.lookup(Load->getPointerOperand());
  return StringRef();
}

/// Returns the place \p Offset bytes behind \p Pointer; nothing if no object of a class is known
/// there.
std::optional<PointeeRecorder::Place> PointeeRecorder::placeOf(const Value *Pointer,
                                                               APInt Offset) const {
  const Value *Base =
      Pointer->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
  const StringRef Whole = classBefore(Base);
  if (Whole.empty() || Offset.isNegative())
    return std::nullopt;
  return Place{Whole, Offset.getZExtValue()};
}

/// Records a base class: code that has a pointer to Whole accesses a member of class Part, at an
/// offset in Whole.
void PointeeRecorder::recordBase(const GetElementPtrInst &G) {
  auto *T = dyn_cast<StructType>(G.getSourceElementType());
  if (!T || G.getNumIndices() < 2)
    return;
  const std::optional<Place> At =
      placeOf(G.getPointerOperand(), APInt(Layout.getIndexTypeSizeInBits(G.getType()), 0));
  if (!At)
    return;
  auto [It, New] = Classes.try_emplace(T);
  if (New)
    It->second = Names.save(classNameOf(*T));
  StringRef Part = It->second;
  if (!Part.empty() && Part != At->Whole && !isInstance(At->Whole, Part))
    Accessed.insert({At->Whole, At->Offset, Part});
}

/// Records the parts of objects that \p Call passes to functions of the parts' classes.
void PointeeRecorder::recordPassed(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || Callee->isIntrinsic() || Call.arg_empty())
    return;
  for (unsigned K = 0; K < Callee->arg_size() && K < Call.arg_size(); ++K) {
    const Value *Given = Call.getArgOperand(K);
    if (!Given->getType()->isPointerTy())
      continue;
    const std::optional<Place> At =
        placeOf(Given, APInt(Layout.getIndexTypeSizeInBits(Given->getType()), 0));
    if (!At)
      continue;
    StringRef Part = Callee->getAttributes().getParamAttr(K, PointeeAttr).getValueAsString();
    SmallString<64> Buffer;
    if (Part.empty() && K == 0)
      if (StringRef Name = constructedClass(Callee->getName(), Buffer); isKnownElsewhere(Name))
        Part = Names.save(Name);
    if (!Part.empty() && Part != At->Whole)
      Parts.insert({At->Whole, At->Offset, Part});
  }
}

void PointeeRecorder::recordParts(const Function &F) {
  for (const Instruction &I : instructions(F))
    if (auto *G = dyn_cast<GetElementPtrInst>(&I))
      recordBase(*G);
    else if (auto *Call = dyn_cast<CallBase>(&I))
      recordPassed(*Call);
}

void PointeeRecorder::write() {
  LLVMContext &C = M.getContext();
  Parts.insert(Accessed.begin(), Accessed.end());
  for (const auto &[Whole, Offset, Part] : Parts)
    M.getOrInsertNamedMetadata(PartsMetadata)
        ->addOperand(
            MDNode::get(C, {MDString::get(C, Whole),
                            ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(C), Offset)),
                            MDString::get(C, Part)}));
}

} // namespace

void recordPointees(Module &M) {
  if (!hasClasses(M))
    return;
  PointeeRecorder Recorder(M);
  for (Function &F : M)
    Recorder.recordArguments(F);
  for (const Function &F : M)
    Recorder.recordParts(F);
  Recorder.write();
}

} // namespace smalloc
