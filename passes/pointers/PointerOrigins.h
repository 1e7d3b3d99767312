//===- PointerOrigins.h - which sites can a pointer come from? --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which allocation sites of the unit an address may point into, through SSA, arguments and returns, struct
// fields, globals, arrays of pointers, callbacks (OpenMP, pthread_create), and calls through pointers (IndirectCalls.cpp).
//
// Andersen's inclusion constraints (Andersen 1994), field-sensitive by constant byte offset (Pearce, Kelly and Hankin 2004),
// solved with a worklist and difference propagation. The answer steers an estimate, it proves nothing: what unknown
// code may store is one marker, "unknown", not every escaped object.
//
// Nothing moves while constraints are collected: sets go along the edges when all of a node's are known, and each copy of a set is
// charged. Steps are budgeted. A unit that exceeds the budget (large C++ units, where everything meets in a few library
// functions) is solved once more with memory known by name only: what is stored to a field of a type, a load of that
// field may give (coarse()). That is linear in the unit. Where what is known at a look for cycles asks for more steps than there
// are, the first attempt ends there. Beyond the budget again, every answer is "unknown" (gaveUp()).
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_POINTERORIGINS_H
#define SMALLOC_PASSES_POINTERORIGINS_H

#include "passes/ir/BlockList.h"
#include "passes/ir/LocationSet.h"
#include "passes/ir/MemberPaths.h"
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
class TargetLibraryInfo;
}

namespace smalloc {

class PointerOrigins {
public:
  using GetTLI = llvm::function_ref<const llvm::TargetLibraryInfo &(llvm::Function &)>;

  /// Builds and solves the constraints of \p M. \p Budget: propagation steps, each a few bit operations; the default
  /// takes well under a second.
  PointerOrigins(llvm::Module &M, GetTLI TLI, const AllocationWrappers &Wrappers,
                 unsigned Budget = 400000);

  struct Answer {
    llvm::SmallVector<const llvm::CallBase *, 4> Sites; ///< in program order
    bool Unknown = false; ///< also something that the unit does not show
  };
  /// Where the address \p Pointer may point.
  const Answer &originsOf(const llvm::Value *Pointer) const;

  /// Sites whose pointers are stored in the memory that \p Pointer points to.
  const llvm::SmallVector<const llvm::CallBase *, 4> &contentsOf(const llvm::Value *Pointer) const;

  /// Variables of the program that \p Pointer may point into.
  llvm::SmallVector<const llvm::GlobalVariable *, 2> variablesOf(const llvm::Value *Pointer) const;

  /// True if code outside of the unit can get the site's pointer.
  bool escapes(const llvm::CallBase *Site) const;

  /// Functions that \p Pointer may point to; none if there are too many to tell.
  llvm::SmallVector<const llvm::Function *, 2> functionsOf(const llvm::Value *Pointer) const;
  /// Functions that \p Call reaches through a pointer, as far as the unit shows; other units' among them.
  llvm::ArrayRef<const llvm::Function *> calleesOf(const llvm::CallBase &Call) const;
  /// Calls through pointers that reach \p F, in program order.
  llvm::ArrayRef<const llvm::CallBase *> indirectCallsOf(const llvm::Function &F) const;

  /// What it took to solve.
  struct Effort {
    size_t Nodes = 0; ///< pointers, those that are one once each
    size_t Edges = 0; ///< copies between them, the first attempt's among them
    size_t Words = 0; ///< of sets that went along an edge
    size_t Steps = 0; ///< of the budget
  };
  const Effort &effort() const { return Took; }

  /// For others who ask of the same unit.
  MemberPaths &members() { return Members; }

  bool gaveUp() const { return OutOfBudget; }
  /// Fields were told apart by their type's name only.
  bool coarse() const { return Coarse; }

private:
  using NodeId = unsigned;
  using LocationId = unsigned;
  static constexpr int64_t AnyOffset = INT64_MIN;

  struct Object {
    const llvm::Value *Origin = nullptr; ///< site call, global, alloca; null: the unknown world
    const llvm::CallBase *Site = nullptr;
    bool Code = false;    ///< a function
    bool Open = false;    ///< one that unknown code may call
    bool Escaped = false; ///< what it holds was handed to the world
    llvm::SmallVector<std::pair<int64_t, LocationId>, 4> Offsets;
    LocationId Whole = 0; ///< the one of any offset; 0: none yet
    NodeId ReadAll = 0;   ///< what all fields are copied to, for those who read any; 0: nobody does
    NodeId WroteAll = 0;  ///< what is stored to an unknown field, copied to all
  };
  struct Location {
    unsigned ObjectIndex;
    int64_t Offset;
    NodeId Contents;
  };
  struct Node {
    LocationSet Pending; ///< what its edges have not had yet
    llvm::SmallVector<NodeId, 4> Copies;
    llvm::SmallVector<NodeId, 2> Loads, Stores;
    llvm::SmallVector<std::pair<NodeId, int64_t>, 1> Shifts;
    llvm::SmallVector<std::pair<NodeId, NodeId>, 1>
        NamedLoads; ///< named field, target: if the address is unknown
    bool Queued = false;
    bool Passed = false; ///< its edges have had all that it points to, but for what is pending
  };
  struct IndirectCall {
    const llvm::CallBase *Call;
    NodeId Called;
    bool Unknown = false;
    bool TooMany = false; ///< functions that it may call
    bool Looked = false;
    LocationSet Seen = {}; ///< what it pointed to at the last look
    llvm::SmallVector<const llvm::Function *, 2> Bound = {};
  };

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
  void collectCall(llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);
  void bindCallee(const llvm::CallBase &Call, const llvm::Function &Callee);
  void passToUnknown(const llvm::CallBase &Call, const llvm::Function *Callee,
                     const llvm::TargetLibraryInfo *TLI);
  bool bindIndirectCalls();
  static bool addressIsSeen(const llvm::Function &F);
  bool openToWorld(const llvm::Function &F);
  LocationId functionLocation(const llvm::Function &F);
  NodeId returnOf(const llvm::Function &F);
  void bindCallbacks(llvm::Function &F);
  void bindThreadStart(llvm::CallBase &Call, const llvm::Function &Callee);
  bool bindContainerLink(llvm::CallBase &Call, const llvm::Function &Callee);
  void collectInteger(llvm::Instruction &PtrToInt);
  NodeId namedField(const llvm::Instruction &Access);
  NodeId namedMemory(const llvm::Instruction &Access);
  void solve();
  bool markEscaped();
  NodeId representative(NodeId N) const {
    while (Same[N] != N)
      N = Same[N] = Same[Same[N]]; // half the way for the next who asks
    return N;
  }
  void collapseCycles();
  bool exceedsBudget() const;
  void join(llvm::ArrayRef<NodeId> Cycle);

  /// Sites' objects whose pointers are in any field of that one. Many pointers point to the same few objects, whose fields hold
  /// much: each object is asked once, when all is solved.
  const LocationSet &heldBy(unsigned ObjectIndex) const;
  mutable llvm::DenseMap<unsigned, std::unique_ptr<LocationSet>> Held;

  /// What \p Pointer points to, and its node; null if that is not known.
  const LocationSet *pointsOf(const llvm::Value *Pointer, NodeId &Of) const;
  /// Answers by what is pointed to: many pointers are one node, and many nodes point to the same places.
  struct Known {
    std::optional<Answer> Origins;
    std::optional<llvm::SmallVector<const llvm::CallBase *, 4>> Contents;
  };
  mutable llvm::DenseMap<NodeId, Known *> KnownOfNode;
  mutable std::map<LocationSet, Known> KnownOfPlaces;
  Known &knownOf(NodeId N) const;
  const Answer Nowhere = {{}, /*Unknown=*/true};
  LocationSet SiteLocations; ///< in objects of sites

  /// The sites of the objects \p Indices, in program order. Where a context may have made the object, the allocations inside its
  /// function are not told as well.
  llvm::SmallVector<const llvm::CallBase *, 4> sitesOf(const LocationSet &Indices) const;

  const AllocationWrappers &Wrappers;
  llvm::DenseSet<uint64_t> CopyEdges; ///< from << 32 | to
  /// What is loaded from, and stored to, many places: one node of all that do so, instead of an edge from each to each.
  SharedNodes LoadedFrom, StoredTo;
  Effort Took; ///< with the attempt that exceeded the budget
  size_t MovedWords = 0;
  BlockList<Node> Nodes;            ///< until all is solved
  BlockList<LocationSet> PointsTo;  ///< by node
  mutable std::vector<NodeId> Same; ///< itself, or one of its cycle: see representative()
  std::vector<Location> Locations;
  /// An object and an offset. All objects have much the same offsets.
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
  /// Nodes with something pending, those first that others copy from: what comes to a node by several ways goes on at once.
  std::priority_queue<std::pair<unsigned, NodeId>> Worklist; ///< by rank
  std::vector<unsigned> Ranks; ///< by node; of those that were there when cycles were looked for
  llvm::DenseMap<const llvm::Value *, NodeId> ValueNodes;
  llvm::DenseMap<const llvm::Function *, NodeId> ReturnNodes;
  llvm::DenseMap<const llvm::Value *, unsigned> ObjectOf;
  std::vector<IndirectCall> IndirectCalls;
  LocationSet AmongMany; ///< what calls point to that may call too many functions
  llvm::DenseMap<const llvm::Function *, llvm::SmallVector<const llvm::CallBase *, 2>>
      IndirectCallsOf; ///< in program order; once all is solved
  llvm::DenseMap<const llvm::CallBase *, unsigned> IndirectCallOf;
  /// Fields by name (struct type, offset): what is stored to a field of unknown memory, the same field gives back.
  llvm::DenseMap<std::pair<const llvm::Metadata *, uint64_t>, NodeId> NamedFields;
  /// Of a class of C++, what is stored without a word of what the object is inside of; and by such words (class, offset).
  llvm::DenseMap<std::pair<const llvm::Metadata *, uint64_t>, NodeId> LooseFields;
  llvm::DenseMap<std::pair<llvm::StringRef, uint64_t>, NodeId> NamedMembers;
  MemberPaths Members;
  NodeId World;          ///< what unknown code holds
  LocationId UnknownLoc; ///< the one location of the unknown world
  const llvm::DataLayout *Layout;
  unsigned Budget, WholeBudget;
  unsigned NextLook; ///< budget at which cycles are looked for again
  bool OutOfBudget = false;
  bool Coarse = false;
};

} // namespace smalloc
#endif
