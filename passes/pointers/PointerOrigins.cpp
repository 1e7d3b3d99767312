//===- PointerOrigins.cpp - the allocation sites of a pointer ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds and solves the constraints of PointerOrigins. PointerConstraints.cpp and
// CallConstraints.cpp collect them, and PointerAnswers.cpp answers from the solution.
//===----------------------------------------------------------------------===//
#include "passes/pointers/PointerOrigins.h"
#include "llvm/IR/Function.h"
#include <utility>

using namespace llvm;

namespace smalloc {
namespace {

/// Fields of one object that are distinguished; further ones share one location.
constexpr size_t MaxFields = 64;
/// Words of a set that one step of the budget copies: as much work as an edge without words.
constexpr size_t WordsAStep = 4;

/// Shifted copies of one set that are kept for other edges with the same shift.
constexpr size_t MaxMoved = 8;

/// Least number of places for which a load or store gets a shared node.
constexpr unsigned ManyPlaces = 8;

size_t costOfCopy(const LocationSet &Set) { return 1 + Set.words() / WordsAStep; }

} // namespace

PointerOrigins::PointerOrigins(Module &M, GetTLI TLI, const AllocationWrappers &Wrappers,
                               unsigned Budget)
    : Wrappers(Wrappers), Members(M), Layout(&M.getDataLayout()), Budget(Budget),
      WholeBudget(Budget) {
  build(M, TLI);
  if (OutOfBudget) {
    Took = effortSoFar();
    startAgain();
    build(M, TLI);
  }
  for (LocationId L = 0; L < Locations.size(); ++L)
    if (Objects[Locations[L].ObjectIndex].Site)
      SiteLocations.insert(L);
  for (const IndirectCall &At : IndirectCalls)
    for (const Function *F : At.Bound)
      IndirectCallsOf[F].push_back(At.Call);
  Took = effortSoFar();
  forgetConstraints();
}

/// Frees the constraint graph after solving. Queries need only the points-to sets, a seventh of the
/// memory.
void PointerOrigins::forgetConstraints() {
  Nodes.clear();
  LocationIds = decltype(LocationIds)();
  Worklist = {};
  Ranks = {};
  CopyEdges = decltype(CopyEdges)();
  LoadedFrom.clear();
  StoredTo.clear();
  NamedFields = decltype(NamedFields)();
  LooseFields = decltype(LooseFields)();
  NamedMembers = decltype(NamedMembers)();
}

/// Discards the first attempt and prepares another with memory known by name only.
void PointerOrigins::startAgain() {
  Coarse = true;
  OutOfBudget = false;
  Budget = WholeBudget;
  Nodes.clear();
  PointsTo.clear();
  Same.clear();
  Locations.clear();
  LocationIds.clear();
  Objects.clear();
  Worklist = {};
  Ranks.clear();
  CopyEdges.clear();
  LoadedFrom.clear();
  StoredTo.clear();
  ValueNodes.clear();
  LaneNodes.clear();
  ReturnNodes.clear();
  ObjectOf.clear();
  IndirectCallOf.clear();
  IndirectCalls.clear();
  AmongMany = LocationSet();
  NamedFields.clear();
  LooseFields.clear();
  NamedMembers.clear();
}

void PointerOrigins::build(Module &M, GetTLI TLI) {
  UnknownLoc = 0;
  unsigned UnknownObject = newObject(nullptr);
  UnknownLoc = locationOf(UnknownObject, AnyOffset);
  World = newNode();
  addPoints(World, UnknownLoc);
  addPoints(Locations[UnknownLoc].Contents, UnknownLoc);
  if (!Coarse)
    collectGlobals(M);
  for (Function &F : M)
    if (!F.isDeclaration())
      collectFunction(F, TLI(F));
  for (Function &F : M)
    if (!F.isDeclaration())
      bindCallbacks(F);
  NextLook = Budget;
  do
    solve();
  while (!OutOfBudget && !Coarse && (bindIndirectCalls() || markEscaped()));
}

PointerOrigins::NodeId PointerOrigins::newNode() {
  Nodes.emplace_back();
  PointsTo.emplace_back();
  Same.push_back(static_cast<NodeId>(Same.size()));
  return Same.back();
}

unsigned PointerOrigins::newObject(const Value *Origin) {
  Objects.emplace_back().Origin = Origin;
  unsigned Index = static_cast<unsigned>(Objects.size() - 1);
  if (Origin)
    ObjectOf[Origin] = Index;
  return Index;
}

PointerOrigins::LocationId PointerOrigins::locationOf(unsigned Index, int64_t Offset) {
  Object &O = Objects[Index];
  if (Offset == AnyOffset && O.Whole)
    return O.Whole;
  if (auto It = LocationIds.find({Index, Offset}); It != LocationIds.end())
    return It->second;
  if (Offset != AnyOffset && O.Offsets.size() >= MaxFields)
    return locationOf(Index, AnyOffset);
  NodeId Contents = newNode();
  Locations.push_back({Index, Offset, Contents});
  LocationId L = static_cast<LocationId>(Locations.size() - 1);
  LocationIds[{Index, Offset}] = L;
  O.Offsets.push_back({Offset, L});
  if (Offset == AnyOffset)
    O.Whole = L;
  if (O.ReadAll)
    addCopy(Contents, O.ReadAll);
  if (O.WroteAll)
    addCopy(O.WroteAll, Contents);
  return L;
}

PointerOrigins::LocationId PointerOrigins::shifted(LocationId L, int64_t By) {
  const Location &Old = Locations[L];
  if (L == UnknownLoc || Old.Offset == AnyOffset || By == 0)
    return L;
  if (By == AnyOffset) {
    const LocationId Whole = Objects[Old.ObjectIndex].Whole;
    return Whole ? Whole : locationOf(Old.ObjectIndex, AnyOffset);
  }
  return locationOf(Old.ObjectIndex, Old.Offset + By);
}

/// Returns \p Places shifted by \p By bytes. \p Known caches shifted copies of the same set.
const LocationSet &
PointerOrigins::shifted(const LocationSet &Places, int64_t By,
                        SmallVectorImpl<std::pair<int64_t, LocationSet>> &Known) {
  for (auto &[Bytes, Moved] : Known)
    if (Bytes == By)
      return Moved;
  if (Known.size() == MaxMoved)
    Known.clear();
  LocationSet &Moved = Known.emplace_back(By, LocationSet()).second;
  Moved.reserve(Places.words());
  LocationSet::Filler Fill(Moved);
  for (LocationId L : Places)
    Fill.insert(shifted(L, By));
  return Moved;
}

/// Takes \p Steps from the budget; false if it does not have as many, and then solving ends.
bool PointerOrigins::spend(size_t Steps) {
  if (Budget < Steps)
    OutOfBudget = true;
  else
    Budget -= static_cast<unsigned>(Steps);
  return !OutOfBudget;
}

void PointerOrigins::queue(NodeId N) {
  if (Nodes[N].Queued)
    return;
  Nodes[N].Queued = true;
  Worklist.push({N < Ranks.size() ? Ranks[N] : 0, N});
}

void PointerOrigins::addPoints(NodeId N, LocationId L) {
  N = representative(N);
  if (PointsTo[N].insert(L)) {
    Nodes[N].Pending.insert(L);
    queue(N);
  }
}

void PointerOrigins::addPoints(NodeId N, const LocationSet &Set) {
  N = representative(N);
  MovedWords += Set.words();
  if (PointsTo[N].insert(Set, Nodes[N].Pending))
    queue(N);
}

void PointerOrigins::addCopy(NodeId From, NodeId To) {
  From = representative(From);
  To = representative(To);
  if (From == To || !CopyEdges.insert(uint64_t(From) << 32 | To).second)
    return;
  Nodes[From].Copies.push_back(To);
  if (Nodes[From].Passed && spend(costOfCopy(PointsTo[From])))
    addPoints(To, PointsTo[From]);
}

void PointerOrigins::addShift(NodeId From, NodeId To, int64_t By) {
  if (Coarse) { // an object is one place, and fields are distinguished by name
    addCopy(From, To);
    return;
  }
  From = representative(From);
  Nodes[From].Shifts.push_back({To, By});
  if (Nodes[From].Passed && spend(PointsTo[From].count()))
    for (LocationId L : LocationSet(PointsTo[From]))
      addPoints(To, shifted(L, By));
}

void PointerOrigins::addLoad(NodeId Address, NodeId To) {
  Address = representative(Address);
  Nodes[Address].Loads.push_back(To);
  if (Nodes[Address].Passed && spend(PointsTo[Address].count()))
    loadFrom(LocationSet(PointsTo[Address]), To);
}

void PointerOrigins::addStore(NodeId From, NodeId Address) {
  Address = representative(Address);
  Nodes[Address].Stores.push_back(From);
  if (Nodes[Address].Passed && spend(PointsTo[Address].count()))
    storeTo(From, LocationSet(PointsTo[Address]));
}

void PointerOrigins::loadFrom(LocationId L, NodeId To) {
  if (L == UnknownLoc || Locations[L].Offset != AnyOffset) {
    addCopy(Locations[L].Contents, To);
    return;
  }
  Object &O = Objects[Locations[L].ObjectIndex];
  if (!O.ReadAll) {
    O.ReadAll = newNode();
    for (auto &[Offset, Field] : O.Offsets)
      addCopy(Locations[Field].Contents, O.ReadAll);
  }
  addCopy(O.ReadAll, To);
}

void PointerOrigins::storeTo(NodeId From, LocationId L) {
  if (L == UnknownLoc) {
    addCopy(From, World);
    return;
  }
  if (Locations[L].Offset != AnyOffset) {
    addCopy(From, Locations[L].Contents);
    return;
  }
  Object &O = Objects[Locations[L].ObjectIndex];
  if (!O.WroteAll) {
    O.WroteAll = newNode();
    for (auto &[Offset, Field] : O.Offsets)
      addCopy(O.WroteAll, Locations[Field].Contents);
  }
  addCopy(From, O.WroteAll);
}

/// Returns the node by which \p Own loads from or stores to \p Places, and whether its edges to
/// them have yet to be made.
std::pair<PointerOrigins::NodeId, bool>
PointerOrigins::sharedBetween(SharedNodes &Known, const LocationSet &Places, NodeId Own) {
  if (Places.count() < ManyPlaces)
    return {Own, true};
  auto [It, First] = Known.try_emplace(Places, 0);
  if (First)
    It->second = newNode();
  return {It->second, First};
}

void PointerOrigins::loadFrom(const LocationSet &Places, NodeId To) {
  auto [Into, New] = sharedBetween(LoadedFrom, Places, To);
  if (New)
    for (LocationId L : Places)
      loadFrom(L, Into);
  if (Into != To)
    addCopy(Into, To);
}

void PointerOrigins::storeTo(NodeId From, const LocationSet &Places) {
  auto [Out, New] = sharedBetween(StoredTo, Places, From);
  if (New)
    for (LocationId L : Places)
      storeTo(Out, L);
  if (Out != From)
    addCopy(From, Out);
}

void PointerOrigins::solve() {
  while (!Worklist.empty() && !OutOfBudget) {
    if (Budget <= NextLook) {
      collapseCycles();
      if (Budget < WholeBudget && exceedsBudget()) {
        OutOfBudget = true;
        return;
      }
    }
    const NodeId N = Worklist.top().second;
    Worklist.pop();
    Node &From = Nodes[N]; // a BlockList's element does not move
    From.Queued = false;
    if (Same[N] != N)
      continue;
    From.Passed = true;
    LocationSet New;
    std::swap(New, From.Pending);
    // Charges each edge for the new part of the set: copies by words, the other edges by places.
    if (!spend(1 + From.Copies.size() * costOfCopy(New) +
               (From.Loads.size() + From.Stores.size() + From.Shifts.size()) * (1 + New.count())))
      return;
    // Uses indices instead of iterators, because the rules below may append to the lists.
    for (size_t I = 0; I < From.Copies.size(); ++I)
      addPoints(From.Copies[I], New);
    SmallVector<std::pair<int64_t, LocationSet>, MaxMoved> Moved; // many shifts are equally long
    for (size_t I = 0; I < From.Shifts.size(); ++I) {
      auto [To, By] = From.Shifts[I];
      addPoints(To, shifted(New, By, Moved));
    }
    if (New.test(UnknownLoc))
      for (size_t I = 0; I < From.NamedLoads.size(); ++I)
        addCopy(From.NamedLoads[I].first, From.NamedLoads[I].second);
    for (size_t I = 0; I < From.Loads.size() && !OutOfBudget; ++I) {
      NodeId To = From.Loads[I];
      loadFrom(New, To);
    }
    for (size_t I = 0; I < From.Stores.size() && !OutOfBudget; ++I) {
      NodeId Stored = From.Stores[I];
      storeTo(Stored, New);
    }
  }
}

/// Marks the objects that unknown code can reach; true if another object has escaped.
bool PointerOrigins::markEscaped() {
  // Whatever unknown code can reach through any field of an object that it has is its own as well.
  SmallVector<unsigned, 16> Stack;
  LocationSet Seen, SeenLocations;
  auto Visit = [&](const LocationSet &Set) {
    LocationSet New; // most of a set was visited before
    SeenLocations.insert(Set, New);
    for (LocationId L : New)
      if (Seen.insert(Locations[L].ObjectIndex))
        Stack.push_back(Locations[L].ObjectIndex);
  };
  Visit(PointsTo[representative(World)]);
  while (!Stack.empty()) {
    unsigned O = Stack.pop_back_val();
    for (auto &[Offset, L] : Objects[O].Offsets)
      Visit(PointsTo[representative(Locations[L].Contents)]);
  }
  bool More = false;
  for (unsigned I : Seen) {
    Object &O = Objects[I];
    if (std::exchange(O.Escaped, true))
      continue;
    More = true;
    for (auto &[Offset, L] : O.Offsets)
      addPoints(World, L);
    if (O.Code) {
      if (auto *F = cast<Function>(O.Origin); F->hasLocalLinkage())
        openToWorld(*F);
      continue;
    }
    // Unknown code may store anything into an escaped object, so loads of its fields may give
    // anything.
    for (auto &[Offset, L] : O.Offsets)
      addPoints(Locations[L].Contents, UnknownLoc);
  }
  return More;
}

PointerOrigins::Effort PointerOrigins::effortSoFar() const {
  Effort E;
  for (NodeId N = 0; N < Nodes.size(); ++N)
    E.Nodes += Same[N] == N;
  E.Edges = Took.Edges + CopyEdges.size();
  E.Words = MovedWords;
  E.Steps = Took.Steps + (WholeBudget - Budget);
  return E;
}

} // namespace smalloc
