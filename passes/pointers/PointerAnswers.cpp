//===- PointerAnswers.cpp - answers about solved pointers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers the queries of PointerOrigins from the solved sets. Caches the answers, since many
// pointers have the same set.
//===----------------------------------------------------------------------===//
#include "passes/pointers/PointerOrigins.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most sites of a pointer known by name. With thousands, each walk of the unit would evaluate each
/// of them.
constexpr size_t MaxSitesByName = 512;

} // namespace

const LocationSet *PointerOrigins::pointsOf(VectorLane Pointer, NodeId &Of) const {
  if (OutOfBudget)
    return nullptr;
  NodeId N;
  if (auto It = ValueNodes.find(Pointer.From); It != ValueNodes.end())
    N = It->second;
  else
    return nullptr;
  if (pointerLanes(Pointer.From->getType()))
    if (auto It = LaneNodes.find({Pointer.From, Pointer.Lane}); It != LaneNodes.end())
      N = It->second;
  Of = representative(N);
  return &PointsTo[Of];
}

PointerOrigins::Known &PointerOrigins::knownOf(NodeId N) const {
  Known *&Result = KnownOfNode[N];
  if (!Result)
    Result = &KnownOfPlaces[PointsTo[N]];
  return *Result;
}

const PointerOrigins::Answer &PointerOrigins::originsOf(VectorLane Pointer) const {
  NodeId Of;
  const LocationSet *Points = pointsOf(Pointer, Of);
  if (!Points)
    return Nowhere;
  std::optional<Answer> &Known = knownOf(Of).Origins;
  if (Known)
    return *Known;
  Known.emplace();
  Known->Unknown = Points->test(UnknownLoc);
  LocationSet From;
  Points->eachOf(SiteLocations, [&](LocationId L) { From.insert(Locations[L].ObjectIndex); });
  if (Coarse && From.count() > MaxSitesByName)
    Known->Unknown = true;
  else
    Known->Sites = sitesOf(From);
  return *Known;
}

SmallVector<const CallBase *, 4> PointerOrigins::sitesOf(const LocationSet &Indices) const {
  SmallVector<const CallBase *, 4> Sites;
  SmallPtrSet<const CallBase *, 8> Inside;
  for (unsigned O : Indices) {
    Sites.push_back(Objects[O].Site);
    const auto &Fresh = Wrappers.inside(*Objects[O].Site);
    Inside.insert(Fresh.begin(), Fresh.end());
  }
  if (!Inside.empty())
    erase_if(Sites, [&](const CallBase *Site) { return Inside.contains(Site); });
  return Sites;
}

const LocationSet &PointerOrigins::heldBy(unsigned ObjectIndex) const {
  std::unique_ptr<LocationSet> &Known = Held[ObjectIndex];
  if (Known)
    return *Known;
  Known = std::make_unique<LocationSet>();
  LocationSet Seen;
  for (auto &[Offset, Field] : Objects[ObjectIndex].Offsets) {
    LocationSet New; // an object's fields hold much the same pointers
    Seen.insert(PointsTo[representative(Locations[Field].Contents)], New);
    New.eachOf(SiteLocations, [&](LocationId L) { Known->insert(Locations[L].ObjectIndex); });
  }
  return *Known;
}

const SmallVector<const CallBase *, 4> &PointerOrigins::contentsOf(VectorLane Pointer) const {
  NodeId Of;
  const LocationSet *Points = pointsOf(Pointer, Of);
  if (!Points)
    return Nowhere.Sites;
  std::optional<SmallVector<const CallBase *, 4>> &Known = knownOf(Of).Contents;
  if (Known)
    return *Known;
  LocationSet Seen, Found, New;
  for (LocationId L : *Points)
    if (L != UnknownLoc && Seen.insert(Locations[L].ObjectIndex))
      Found.insert(heldBy(Locations[L].ObjectIndex), New);
  if (Coarse && Found.count() > MaxSitesByName)
    Found = LocationSet();
  Known = sitesOf(Found);
  return *Known;
}

SmallVector<const GlobalVariable *, 2> PointerOrigins::variablesOf(const Value *Pointer) const {
  SmallVector<const GlobalVariable *, 2> Result;
  if (auto *G = dyn_cast<GlobalVariable>(getUnderlyingObject(Pointer)))
    return {G};
  auto It = ValueNodes.find(Pointer);
  if (OutOfBudget || It == ValueNodes.end())
    return Result;
  for (LocationId L : PointsTo[representative(It->second)])
    if (auto *G = dyn_cast_or_null<GlobalVariable>(Objects[Locations[L].ObjectIndex].Origin);
        G && !is_contained(Result, G))
      Result.push_back(G);
  return Result;
}

bool PointerOrigins::escapes(const CallBase *Site) const {
  auto It = ObjectOf.find(Site);
  if (OutOfBudget || It == ObjectOf.end())
    return true;
  for (auto &[Offset, L] : Objects[It->second].Offsets)
    if (PointsTo[representative(World)].test(L))
      return true;
  return false;
}

} // namespace smalloc
