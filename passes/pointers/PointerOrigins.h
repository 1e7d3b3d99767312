//===- PointerOrigins.h - the allocation sites of a pointer -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes which allocation sites of the unit an address may point into. Follows pointers through
// SSA, arguments and returns, struct fields, globals, arrays of pointers, callbacks (OpenMP,
// pthread_create), and calls through pointers (IndirectCalls.cpp).
//
// Solves Andersen's inclusion constraints (Andersen 1994), field-sensitive by constant byte offset
// (Pearce, Kelly and Hankin 2004), with a worklist and difference propagation. The result steers an
// estimate and proves nothing. So one marker, "unknown", stands for whatever unknown code may
// store, instead of every escaped object.
//
// No set moves while constraints are collected. A node's set goes along its edges when all edges
// are known. Steps are budgeted, and each copy of a set is charged. The first attempt ends early if
// a search for cycles shows that it needs more steps than the budget has.
//
// A unit that exceeds the budget is solved once more with memory known by name only (coarse()): a
// load of a field may give whatever is stored to that field of the type. Such units are large C++
// units, where all pointers meet in a few library functions. The second attempt is linear in the
// unit. If it exceeds the budget as well, every answer is "unknown" (gaveUp()).
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_POINTERORIGINS_H
#define SMALLOC_PASSES_POINTERORIGINS_H

#include "passes/ir/BlockList.h"
#include "passes/ir/LocationSet.h"
#include "passes/ir/MemberPaths.h"
#include "passes/ir/PointerVectors.h"
#include "passes/sites/AllocationWrappers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

namespace llvm {
class IntrinsicInst;
class LoadInst;
class StoreInst;
class TargetLibraryInfo;
} // namespace llvm

namespace smalloc {

class PointerOrigins {
public:
  using GetTLI = llvm::function_ref<const llvm::TargetLibraryInfo &(llvm::Function &)>;

  /// Builds and solves the constraints of \p M. \p Budget: propagation steps, each a few bit
  /// operations. The default takes well under a second.
  PointerOrigins(llvm::Module &M, GetTLI TLI, const AllocationWrappers &Wrappers,
                 unsigned Budget = 400000);

  struct Answer {
    llvm::SmallVector<const llvm::CallBase *, 4> Sites; ///< in program order
    bool Unknown = false; ///< true: the pointer may also come from outside of the unit
  };
  /// Returns where the address \p Pointer may point.
  const Answer &originsOf(const llvm::Value *Pointer) const {
    return originsOf(VectorLane{Pointer, 0});
  }
  const Answer &originsOf(VectorLane Pointer) const;

  /// Returns the sites whose pointers are stored in the memory that \p Pointer points to.
  const llvm::SmallVector<const llvm::CallBase *, 4> &contentsOf(VectorLane Pointer) const;

  /// Returns the program's global variables that \p Pointer may point into.
  llvm::SmallVector<const llvm::GlobalVariable *, 2> variablesOf(const llvm::Value *Pointer) const;

  /// True if code outside of the unit can get the site's pointer.
  bool escapes(const llvm::CallBase *Site) const;

  /// Returns the functions that \p Pointer may point to; none if there are too many.
  llvm::SmallVector<const llvm::Function *, 2> functionsOf(const llvm::Value *Pointer) const;
  /// Returns the functions that \p Call reaches through a pointer, as far as the unit shows them.
  /// They include functions of other units.
  llvm::ArrayRef<const llvm::Function *> calleesOf(const llvm::CallBase &Call) const;
  /// Returns the calls through pointers that reach \p F, in program order.
  llvm::ArrayRef<const llvm::CallBase *> indirectCallsOf(const llvm::Function &F) const;

  /// The size of the constraints and the work of solving them.
  struct Effort {
    size_t Nodes = 0; ///< pointers; those joined into one node count once
    size_t Edges = 0; ///< copies between pointers, including those of the first attempt
    size_t Words = 0; ///< words of sets that were copied along an edge
    size_t Steps = 0; ///< steps of the budget that were used
  };
  const Effort &effort() const { return Took; }

  /// Returns the member paths, for other analyses of the same unit.
  MemberPaths &members() { return Members; }

  bool gaveUp() const { return OutOfBudget; }
  /// True if fields were distinguished only by the name of their type.
  bool coarse() const { return Coarse; }

private:
  using NodeId = unsigned;
  using LocationId = unsigned;
  static constexpr int64_t AnyOffset = INT64_MIN;

  struct Object {
    const llvm::Value *Origin = nullptr; ///< site call, global, alloca; null: unknown code's memory
    const llvm::CallBase *Site = nullptr;
    bool Code = false;    ///< the object is a function
    bool Open = false;    ///< a function that unknown code may call
    bool Escaped = false; ///< unknown code has got what the object holds
    llvm::SmallVector<std::pair<int64_t, LocationId>, 4> Offsets;
    LocationId Whole = 0; ///< location of any offset; 0: not created yet
    NodeId ReadAll = 0;   ///< gets copies of all fields, for loads of any field; 0: no such load
    NodeId WroteAll = 0;  ///< is copied to all fields: stores to an unknown field; 0: no such store
  };
  struct Location {
    unsigned ObjectIndex;
    int64_t Offset;
    NodeId Contents;
  };
  struct Node {
    LocationSet Pending; ///< part of the node's set that its edges have not received yet
    llvm::SmallVector<NodeId, 4> Copies;
    llvm::SmallVector<NodeId, 2> Loads, Stores;
    llvm::SmallVector<std::pair<NodeId, int64_t>, 1> Shifts;
    /// Pairs (named field, target) of loads that also copy from the field if the address is
    /// unknown.
    llvm::SmallVector<std::pair<NodeId, NodeId>, 1> NamedLoads;
    bool Queued = false;
    bool Passed = false; ///< the edges have received the whole set except for Pending
  };
  struct IndirectCall {
    const llvm::CallBase *Call;
    NodeId Called;
    bool Unknown = false;
    bool TooMany = false;  ///< the call may reach more functions than it is bound to
    bool Looked = false;   ///< bindIndirectCalls() has visited the call
    LocationSet Seen = {}; ///< what Called pointed to at the last visit
    llvm::SmallVector<const llvm::Function *, 2> Bound = {};
  };

  static bool carriesPointer(llvm::Type *T);
  NodeId newNode();
  NodeId nodeOf(const llvm::Value *V);
  unsigned newObject(const llvm::Value *Origin);
  LocationId locationOf(unsigned ObjectIndex, int64_t Offset);
  LocationId shifted(LocationId L, int64_t By);
  const LocationSet &shifted(const LocationSet &Places, int64_t By,
                             llvm::SmallVectorImpl<std::pair<int64_t, LocationSet>> &Known);
  void addPoints(NodeId N, LocationId L);
  void addPoints(NodeId N, const LocationSet &Set);
  void addCopy(NodeId From, NodeId To);
  void addShift(NodeId From, NodeId To, int64_t By);
  void addLoad(NodeId Address, NodeId To);
  void addStore(NodeId From, NodeId Address);
  void loadFrom(LocationId L, NodeId To);
  using SharedNodes = std::map<LocationSet, NodeId>;
  std::pair<NodeId, bool> sharedBetween(SharedNodes &Known, const LocationSet &Places, NodeId Own);
  void loadFrom(const LocationSet &Places, NodeId To);
  void storeTo(NodeId From, LocationId L);
  void storeTo(NodeId From, const LocationSet &Places);
  void queue(NodeId N);
  bool spend(size_t Steps);

  void build(llvm::Module &M, GetTLI TLI);
  void startAgain();
  void forgetConstraints();
  Effort effortSoFar() const;
  void collectGlobals(llvm::Module &M);
  void collectInitializer(unsigned ObjectIndex, const llvm::Constant *C, int64_t Offset,
                          const llvm::DataLayout &DL);
  void collectFunction(llvm::Function &F, const llvm::TargetLibraryInfo &TLI);
  void collectInstruction(llvm::Instruction &I, NodeId Return);
  void collectLoad(llvm::LoadInst &I);
  void collectStore(llvm::StoreInst &I);
  void collectLanes(llvm::LoadInst &I);
  void collectLanes(llvm::StoreInst &I);
  NodeId laneNode(const llvm::Value *Vector, unsigned Lane);
  NodeId laneAddress(const llvm::Value *Address, unsigned Lane);
  void collectExchange(llvm::Instruction &I, const llvm::Value *Address, const llvm::Value *Stored);
  void collectUnion(llvm::Instruction &I);
  void collectCall(llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);
  void collectContext(llvm::CallBase &Call);
  void collectSite(llvm::CallBase &Call);
  void collectIntrinsic(llvm::IntrinsicInst &Call);
  void copyContents(const llvm::Value *To, const llvm::Value *From);
  void storeObject(unsigned ObjectIndex, const llvm::Value *Address);
  void bindCallee(const llvm::CallBase &Call, const llvm::Function &Callee);
  void passToUnknown(const llvm::CallBase &Call, const llvm::Function *Callee,
                     const llvm::TargetLibraryInfo *TLI);
  bool bindIndirectCalls();
  bool bindIndirectCall(IndirectCall &At, const LocationSet &New);
  bool openLocal(const llvm::Function &F);
  bool openAmongMany(const LocationSet &New);
  static bool addressIsSeen(const llvm::Function &F);
  bool openToWorld(const llvm::Function &F);
  LocationId functionLocation(const llvm::Function &F);
  NodeId returnOf(const llvm::Function &F);
  void bindCallbacks(llvm::Function &F);
  void bindThreadStart(llvm::CallBase &Call, const llvm::Function &Callee);
  bool bindContainerLink(llvm::CallBase &Call, const llvm::Function &Callee);
  void collectInteger(llvm::Instruction &PtrToInt);
  NodeId namedField(const llvm::Instruction &Access, unsigned Lane = 0);
  NodeId namedMemory(const llvm::Instruction &Access);
  void solve();
  bool markEscaped();
  NodeId representative(NodeId N) const {
    while (Same[N] != N)
      N = Same[N] = Same[Same[N]]; // halves the path for the next search
    return N;
  }
  struct CycleSearch;
  void collapseCycles();
  bool exceedsBudget() const;
  void join(llvm::ArrayRef<NodeId> Cycle);

  /// Returns the sites' objects whose pointers are in any field of that object. Computed once per
  /// object, after solving: many pointers point to the same few objects, whose fields hold much.
  const LocationSet &heldBy(unsigned ObjectIndex) const;
  mutable llvm::DenseMap<unsigned, std::unique_ptr<LocationSet>> Held;

  /// Returns what \p Pointer points to, and its node in \p Of; null if that is not known.
  const LocationSet *pointsOf(VectorLane Pointer, NodeId &Of) const;
  /// Cached answers for one set of places. Many pointers share a node, and many nodes have the same
  /// set.
  struct Known {
    std::optional<Answer> Origins;
    std::optional<llvm::SmallVector<const llvm::CallBase *, 4>> Contents;
  };
  mutable llvm::DenseMap<NodeId, Known *> KnownOfNode;
  mutable std::map<LocationSet, Known> KnownOfPlaces;
  Known &knownOf(NodeId N) const;
  const Answer Nowhere = {{}, /*Unknown=*/true};
  LocationSet SiteLocations; ///< all locations in objects of sites

  /// Returns the sites of the objects \p Indices, in program order. If a context may have made an
  /// object, leaves out the allocations inside the context's function.
  llvm::SmallVector<const llvm::CallBase *, 4> sitesOf(const LocationSet &Indices) const;

  const AllocationWrappers &Wrappers;
  llvm::DenseSet<uint64_t> CopyEdges; ///< edges as from << 32 | to
  /// Shared nodes of the loads from, and of the stores to, the same many places. A shared node
  /// replaces an edge from each load or store to each place.
  SharedNodes LoadedFrom, StoredTo;
  Effort Took; ///< includes the attempt that exceeded the budget
  size_t MovedWords = 0;
  BlockList<Node> Nodes;            ///< freed after solving
  BlockList<LocationSet> PointsTo;  ///< set of each node
  mutable std::vector<NodeId> Same; ///< the node itself or one of its cycle: representative()
  std::vector<Location> Locations;
  /// Hash of an object and an offset. Mixes both well, since all objects have much the same
  /// offsets.
  struct PlaceInfo {
    using Place = std::pair<unsigned, int64_t>;
    static Place getEmptyKey() { return {~0u, 0}; }
    static Place getTombstoneKey() { return {~0u, 1}; }
    static bool isEqual(const Place &A, const Place &B) { return A == B; }
    static unsigned getHashValue(const Place &P) {
      return P.first * 0x9E3779B1u + static_cast<unsigned>(P.second) * 37u;
    }
  };
  llvm::DenseMap<PlaceInfo::Place, LocationId, PlaceInfo> LocationIds;
  BlockList<Object> Objects;
  /// Nodes with a pending set. Nodes that others copy from come first, so a set that reaches a node
  /// in several ways goes on only once.
  std::priority_queue<std::pair<unsigned, NodeId>> Worklist; ///< by rank
  std::vector<unsigned> Ranks; ///< rank of each node that existed at the last search for cycles
  llvm::DenseMap<const llvm::Value *, NodeId> ValueNodes;
  llvm::DenseMap<std::pair<const llvm::Value *, unsigned>, NodeId>
      LaneNodes; ///< elements of vectors that are loaded or merged
  llvm::DenseMap<const llvm::Function *, NodeId> ReturnNodes;
  llvm::DenseMap<const llvm::Value *, unsigned> ObjectOf;
  std::vector<IndirectCall> IndirectCalls;
  LocationSet AmongMany; ///< targets of calls that may reach too many functions
  llvm::DenseMap<const llvm::Function *, llvm::SmallVector<const llvm::CallBase *, 2>>
      IndirectCallsOf; ///< in program order; filled after solving
  llvm::DenseMap<const llvm::CallBase *, unsigned> IndirectCallOf;
  /// Fields by name (struct type, offset): a load of a field of unknown memory gives what was
  /// stored to the same field.
  llvm::DenseMap<std::pair<const llvm::Metadata *, uint64_t>, NodeId> NamedFields;
  /// Fields of C++ classes: what is stored where the class around the object is unknown.
  llvm::DenseMap<std::pair<const llvm::Metadata *, uint64_t>, NodeId> LooseFields;
  llvm::DenseMap<std::pair<llvm::StringRef, uint64_t>, NodeId>
      NamedMembers; ///< fields by surrounding class and offset in it
  MemberPaths Members;
  NodeId World;          ///< pointers that unknown code has
  LocationId UnknownLoc; ///< the only location of unknown code's memory
  const llvm::DataLayout *Layout;
  unsigned Budget, WholeBudget;
  unsigned NextLook; ///< the next search for cycles is due when the budget is down to this
  bool OutOfBudget = false;
  bool Coarse = false;
};

} // namespace smalloc
#endif
