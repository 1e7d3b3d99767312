//===- KeyedFlows.cpp - which sites and keys flow into which keys ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the flows of a unit's summary. Stores, copies, calls and returns let a pointer flow into
// a key. Aliases, wrappers and tables of virtual functions relate the keys themselves.
//===----------------------------------------------------------------------===//
#include "passes/ir/InstructionCount.h"
#include "passes/ir/UnitName.h"
#include "passes/pointers/KeyedSummary.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Flows that each unit's summary may have, 24 bytes each. The summary of a link with LTO may have
/// as many for each of up to MostUnitsOfFlows units.
constexpr size_t FreeFlows = 4096;
constexpr unsigned MostUnitsOfFlows = 4;
/// A larger unit's summary may have one flow for this many instructions. So the summary of a
/// generated unit with 100,000 calls does not outweigh its code.
constexpr size_t InstructionsPerFlow = 4;

} // namespace

size_t KeyNames::mostFlows(const Module &M, unsigned Units) {
  return std::max(FreeFlows * std::clamp(Units, 1u, MostUnitsOfFlows),
                  instructionsOf(M) / InstructionsPerFlow);
}

class KeyNames::FlowCollector {
public:
  FlowCollector(KeyNames &Keys, KeyedSummary &Out, function_ref<uint64_t(const CallBase *)> NodeOf)
      : Keys(Keys), Flows(Out.Flows), NodeOf(NodeOf) {}

  void addFunction(Function &F);
  void addAliases();
  void addWrappers();
  void addRelations();
  void finish();

private:
  using FlowList = std::vector<KeyedSummary::Flow>;
  void emit(FlowList &List, uint64_t From, uint64_t To, unsigned Flags);
  void flowInto(VectorLane V, KeyRoot To, const CallBase *HandedOut = nullptr);
  void functionsInto(const Value *V, KeyRoot To);
  void addStore(StoreInst &Store);
  void addStored(StoreInst &Store, VectorLane Stored, unsigned Lane);
  void addCopy(AnyMemTransferInst &Copy);
  void addCall(CallBase &Call);
  void addHandedOut(CallBase &Call);

  KeyNames &Keys;
  FlowList &Flows;   ///< of the summary; those of the sites' own pointers
  FlowList OfKeys;   ///< flows between keys
  FlowList Contents; ///< flows of sites into the contents of keys: a site may be in many
  function_ref<uint64_t(const CallBase *)> NodeOf;
  DenseSet<std::tuple<uint64_t, uint64_t, unsigned>> Seen;
};

void KeyNames::FlowCollector::emit(FlowList &List, uint64_t From, uint64_t To, unsigned Flags) {
  if (From && To && (From != To || Flags) && List.size() < Keys.MaxFlows &&
      Seen.insert({From, To, Flags}).second)
    List.push_back({From, To, Flags});
}

/// Adds the flows of the functions that \p V may point to into \p To.
void KeyNames::FlowCollector::functionsInto(const Value *V, KeyRoot To) {
  for (const Function *F : Keys.Origins.functionsOf(V)) {
    if (F->getReturnType()->isPointerTy()) // its result flows into the pointer's contents
      emit(OfKeys, Keys.resultKey(*F), To.Key, SMALLOC_FLOW_TO_CONTENTS);
    if (!To.Contents && Keys.hasKeys(*F))
      for (const Argument &A : F->args())
        if (A.getType()->isPointerTy())
          emit(OfKeys, Keys.throughKey(To.Key, A.getArgNo()), Keys.argumentKey(*F, A.getArgNo()),
               0);
  }
}

/// Adds the flows of \p V, a pointer or an element of a vector of pointers, into \p To, except for
/// the contents that the site \p HandedOut itself puts there.
void KeyNames::FlowCollector::flowInto(VectorLane V, KeyRoot To, const CallBase *HandedOut) {
  const bool Vector = pointerLanes(V.From->getType());
  if (!(Vector || V.From->getType()->isPointerTy()) || isa<ConstantPointerNull, UndefValue>(V.From))
    return;
  const unsigned ToFlag = To.Contents ? SMALLOC_FLOW_TO_CONTENTS : 0;
  if (!Vector)
    functionsInto(V.From, To);
  if (isa<Function>(V.From))
    return;
  for (const CallBase *Site : Keys.Origins.originsOf(V).Sites)
    emit(Flows, NodeOf(Site), To.Key, ToFlag);
  if (!To.Contents)
    for (const CallBase *Site : Keys.Origins.contentsOf(V))
      if (Site != HandedOut)
        emit(Contents, NodeOf(Site), To.Key, SMALLOC_FLOW_TO_CONTENTS);
  for (KeyRoot From : Keys.rootsOf(V))
    if (!(From == To))
      emit(OfKeys, From.Key, To.Key, ToFlag | (From.Contents ? SMALLOC_FLOW_FROM_CONTENTS : 0));
}

void KeyNames::FlowCollector::addFunction(Function &F) {
  const bool Returns = Keys.hasKeys(F) || (F.hasLocalLinkage() && F.hasAddressTaken());
  for (Instruction &I : instructions(F)) {
    if (auto *Store = dyn_cast<StoreInst>(&I))
      addStore(*Store);
    else if (auto *Copy = dyn_cast<AnyMemTransferInst>(&I))
      addCopy(*Copy);
    else if (auto *Call = dyn_cast<CallBase>(&I))
      addCall(*Call);
    else if (auto *Return = dyn_cast<ReturnInst>(&I); Return && Returns && Return->getReturnValue())
      flowInto({Return->getReturnValue(), 0}, {Keys.resultKey(F), false});
  }
}

void KeyNames::FlowCollector::addStore(StoreInst &Store) {
  const Value *Stored = Store.getValueOperand();
  if (const uint64_t Object = Keys.objectKeyOf(Store))
    return flowInto({Store.getPointerOperand(), 0}, {Object, false});
  if (auto *Integer = dyn_cast<PtrToIntOperator>(Stored)) // LLVM moves a unique_ptr as an integer
    Stored = Integer->getPointerOperand();
  if (Stored->getType()->isPointerTy())
    addStored(Store, {Stored, 0}, 0);
  for (unsigned Lane = 0; Lane < pointerLanes(Stored->getType()); ++Lane)
    if (const VectorLane From = laneOf(Stored, Lane); From.From)
      addStored(Store, From, Lane);
}

/// Adds the flows of \p Stored, which \p Store writes \p Lane pointers behind its address.
void KeyNames::FlowCollector::addStored(StoreInst &Store, VectorLane Stored, unsigned Lane) {
  for (KeyRoot To : Keys.memoryOf(Store, Lane))
    flowInto(Stored, To);
  // Memory of a site of this unit: other units may follow the pointers stored in it.
  if (!Keys.fieldKey(Store, Lane))
    for (const CallBase *Owner : Keys.Origins.originsOf(Store.getPointerOperand()).Sites)
      if (uint64_t Node = NodeOf(Owner))
        flowInto(Stored, {Node, true});
}

/// Adds the flows of a copy of descriptors and structures, through local memory and variables.
void KeyNames::FlowCollector::addCopy(AnyMemTransferInst &Copy) {
  for (KeyRoot To : Keys.rootsOf(Copy.getRawDest()))
    for (KeyRoot From : Keys.rootsOf(Copy.getRawSource()))
      if (Keys.Blocks.contains(To.Key) || Keys.Blocks.contains(From.Key))
        emit(OfKeys, From.Key, To.Key, SMALLOC_FLOW_FROM_CONTENTS | SMALLOC_FLOW_TO_CONTENTS);
}

void KeyNames::FlowCollector::addCall(CallBase &Call) {
  addHandedOut(Call);
  const Function *Callee;
  // The pointers that another unit's wrapper stores in the memory that it returns.
  if (Keys.outsiders(Call, Callee) && Keys.Wrappers.isContext(Call) && Callee->isDeclaration() &&
      Call.getType()->isPointerTy())
    emit(OfKeys, Keys.resultKey(*Callee), NodeOf(&Call),
         SMALLOC_FLOW_FROM_CONTENTS | SMALLOC_FLOW_TO_CONTENTS);
  for (unsigned K = 0; K < Call.arg_size(); ++K)
    if (const Value *Argument = Call.getArgOperand(K); Argument->getType()->isPointerTy())
      for (uint64_t Key : Keys.namesOfArgument(Call, K)) {
        flowInto({Argument, 0}, {Key, false}, &Call); // not the block that this call itself gets
        auto [Found, Put] = Keys.memberBlocks(Argument, Call, K);
        emit(OfKeys, Found, Key, 0);
        emit(OfKeys, Put, Key, 0);
      }
}

/// Adds the flow of the block that the site \p Call stores where an argument points.
void KeyNames::FlowCollector::addHandedOut(CallBase &Call) {
  const int Handed = Call.hasFnAttr(SiteIdAttr) ? Keys.Wrappers.outArgument(Call) : -1;
  if (Handed < 0)
    return;
  const unsigned At = static_cast<unsigned>(Handed);
  for (KeyRoot To : Keys.pointersAt(Call.getArgOperand(At)))
    emit(Flows, NodeOf(&Call), To.Key, To.Contents ? SMALLOC_FLOW_TO_CONTENTS : 0);
  emit(Flows, NodeOf(&Call), Keys.memberBlocks(Call.getArgOperand(At), Call, At).second,
       SMALLOC_FLOW_TO_CONTENTS);
}

/// Relates the two names of a constructor. Callers use the one for whole objects, but the
/// definition has the one for base class parts.
void KeyNames::FlowCollector::addAliases() {
  for (const GlobalAlias &A : Keys.M.aliases())
    if (auto *F = dyn_cast<Function>(A.getAliasee()->stripPointerCastsAndAliases());
        F && !A.hasLocalLinkage() && Keys.hasKeys(*F))
      for (const Argument &Given : F->args())
        if (Given.getType()->isPointerTy())
          emit(OfKeys, Keys.argumentKey(A.getName(), Given.getArgNo()),
               Keys.argumentKey(*F, Given.getArgNo()), 0);
}

void KeyNames::FlowCollector::addWrappers() {
  for (const AllocationWrapper *W : Keys.Wrappers.all()) {
    // Uses the linkage name, by which readers recognise contexts that call a real wrapper.
    std::string Whose = W->F->hasLocalLinkage() ? (" " + unitName(Keys.M)).str() : std::string();
    uint64_t Exact =
        Keys.key("wrapper " + W->F->getName() + Whose, [&] { return W->F->getName().str(); });
    uint64_t Result = isExported(*W->F) && W->Exported ? Keys.resultKey(*W->F) : Exact;
    Flows.push_back(
        {Result, Exact, SMALLOC_FLOW_WRAPPER | (W->Condition ? SMALLOC_FLOW_CONDITIONAL : 0)});
    if (W->Condition)
      Flows.push_back({Keys.resultKey(*W->Condition), Result, SMALLOC_FLOW_IF_WRAPPER});
  }
}

/// Adds the flows between the keys of virtual functions, variables and members.
void KeyNames::FlowCollector::addRelations() {
  auto Emit = [&](uint64_t From, uint64_t To) { emit(OfKeys, From, To, 0); };
  Keys.relateTables(Emit);
  Keys.relateBindings(Emit);
  // A block's contents and its places' pointers flow into each other.
  for (auto &[Object, Place] : Keys.Places)
    for (uint64_t Key : Place.Block ? ArrayRef(Place.Pointers) : ArrayRef<uint64_t>()) {
      emit(Flows, Key, Place.Block, SMALLOC_FLOW_TO_CONTENTS);
      emit(Flows, Place.Block, Key, SMALLOC_FLOW_FROM_CONTENTS);
    }
  Keys.relateBlocks(
      [&](uint64_t From, uint64_t To, unsigned Flags) { emit(Flows, From, To, Flags); });
}

void KeyNames::FlowCollector::finish() {
  // Without a site to start from, flows between keys are useless. The contents come last, since the
  // other flows lead to most of them as well.
  for (const FlowList *List : {&OfKeys, &Contents})
    for (const KeyedSummary::Flow &Flow : *List)
      if (Flows.size() < Keys.MaxFlows)
        Flows.push_back(Flow);
  for (auto [Result, Key] : Keys.Otherwise)
    Flows.push_back({Result, Key, SMALLOC_FLOW_UNLESS_WRAPPER});
}

void KeyNames::collectFlows(KeyedSummary &Out, function_ref<uint64_t(const CallBase *)> NodeOf) {
  FlowCollector Collector(*this, Out, NodeOf);
  for (Function &F : M)
    if (!F.isDeclaration() && !F.hasAvailableExternallyLinkage())
      Collector.addFunction(F);
  Collector.addAliases();
  Collector.addWrappers();
  Collector.addRelations();
  Collector.finish();
}

void KeyNames::relateMembers(KeyedSummary &Out) {
  for (auto [From, To] : Relations)
    if (Out.Flows.size() < MaxFlows)
      Out.Flows.push_back({From, To, 0});
}

} // namespace smalloc
