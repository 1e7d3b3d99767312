//===- KeyedSummary.h - pointers that cross the unit's borders -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes what a unit's pointers point to by names that other units know. A key is the hash of a
// name that units agree on: argument k of function f, the result of f, a field of a structure, a
// place in a global. The unit's summary lists which sites and keys flow into which keys. It also
// lists what the unit's loops do with the memory that a key points to. The runtime and `smalloc
// sites` join the summaries of a program (smalloc/site.h, smalloc_keys).
//
// A pointer's keys are found by walking backwards from the pointer to where the unit got it. The
// walk is linear and does not depend on the budget of PointerOrigins, which knows the sites.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_KEYEDSUMMARY_H
#define SMALLOC_PASSES_KEYEDSUMMARY_H

#include "passes/ir/MemberPaths.h"
#include "passes/pointers/PointerOrigins.h"
#include "smalloc/site.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/PassManager.h"
#include <optional>
#include <string>
#include <vector>

namespace smalloc {

/// A key; or, with Contents, the memory that the pointers stored in the key's memory point to.
struct KeyRoot {
  uint64_t Key = 0;
  bool Contents = false;
  bool operator==(const KeyRoot &O) const { return Key == O.Key && Contents == O.Contents; }
};

struct KeyedSummary {
  struct Flow {
    uint64_t From, To;
    unsigned Flags; ///< SMALLOC_FLOW_*
  };
  struct Access {
    KeyRoot Root;
    uint64_t MinBytes = SMALLOC_UNKNOWN;
    double Misses = -1, Saving = -1;
    smalloc_pattern Pattern = SMALLOC_PATTERN_NONE;
    unsigned Confidence = 0;
    std::string Why;
  };
  std::vector<Flow> Flows;
  std::vector<Access> Accesses;                ///< at most one per root
  llvm::DenseMap<uint64_t, std::string> Names; ///< readable, ending with a linkage name
  bool empty() const { return Flows.empty() && Accesses.empty(); }
};

/// Finds the keys of pointers, and makes keys from names.
class KeyNames {
public:
  /// \p Units: number of units in the module, above 1 in a link.
  KeyNames(llvm::Module &M, PointerOrigins &Origins, const AllocationWrappers &Wrappers,
           llvm::FunctionAnalysisManager &FAM, unsigned Units)
      : M(M), Merged(Units > 1), Origins(Origins), Wrappers(Wrappers), FAM(FAM),
        Layout(M.getDataLayout()), Paths(Origins.members()), MaxFlows(mostFlows(M, Units)) {}

  /// Returns the keys of the places that the unit got \p Pointer from and that other units may
  /// know, at most eight. Visits at most MaxWalk values.
  llvm::SmallVector<KeyRoot, 2> rootsOf(const llvm::Value *Pointer) {
    return rootsOf(VectorLane{Pointer, 0});
  }
  llvm::SmallVector<KeyRoot, 2> rootsOf(VectorLane Pointer);

  /// Returns the keys of the place that \p Access, a load or store of a pointer, reads or writes.
  /// \p Lane: the element, if the access is of a vector of pointers.
  llvm::SmallVector<KeyRoot, 2> memoryOf(const llvm::Instruction &Access, unsigned Lane = 0);

  /// Adds the flows of the unit to \p Out. \p NodeOf returns the node of a site, or 0 if the site
  /// cannot be steered.
  void collectFlows(KeyedSummary &Out, llvm::function_ref<uint64_t(const llvm::CallBase *)> NodeOf);

  /// Returns keys of memory that no site has allocated: stack memory and global variables that the
  /// unit passes to functions of other units, and objects in them whose table or type description
  /// it sets, both in program order; then the variables whose memory has got a key so far.
  std::vector<uint64_t> keysOfElsewhere();

  /// Adds to \p Out the flows between keys of all members looked up so far. REQUIRES: it is called
  /// last, since members looked up later get no flows.
  void relateMembers(KeyedSummary &Out);

  /// Returns the readable names of all keys made so far, and clears them.
  llvm::DenseMap<uint64_t, std::string> takeNames() { return std::move(Names); }

private:
  using Roots = llvm::SmallVector<KeyRoot, 2>;
  /// Most values that the walk back from one pointer visits. Beyond it the walk returns the keys
  /// found so far.
  static constexpr unsigned MaxWalk = 64;
  uint64_t key(const llvm::Twine &Exact, llvm::function_ref<std::string()> Name);
  uint64_t argumentKey(llvm::StringRef Function, unsigned K);
  uint64_t argumentKey(const llvm::Function &F, unsigned K);
  uint64_t resultKey(const llvm::Function &F);
  uint64_t throughKey(uint64_t Place, unsigned K);
  uint64_t otherwiseKey(const llvm::Function &F);
  uint64_t virtualKey(llvm::StringRef Class, uint64_t Slot, int Argument);
  uint64_t virtualKeyOf(const llvm::CallBase &Call, int Argument);
  uint64_t objectKey(const llvm::GlobalVariable &Table);
  uint64_t objectKeyOf(const llvm::StoreInst &Store);
  void relateTables(llvm::function_ref<void(uint64_t From, uint64_t To)> Emit);
  uint64_t boundKey(llvm::StringRef Type, uint64_t Slot, unsigned Argument, unsigned Arguments);
  uint64_t boundKeyOf(const llvm::CallBase &Call, unsigned Argument);
  static bool isBoundType(const llvm::Value *Stored);
  void relateBindings(llvm::function_ref<void(uint64_t From, uint64_t To)> Emit);
  uint64_t globalKey(const llvm::GlobalVariable &G, int64_t Offset);
  uint64_t blockKey(const llvm::Value &Object);
  std::pair<uint64_t, uint64_t> memberBlocks(const llvm::Value *Address, const llvm::CallBase &Call,
                                             unsigned K);
  std::string ownOf(const llvm::GlobalValue &G);
  std::optional<uint64_t> fieldKey(const llvm::Instruction &Access, unsigned Lane = 0);
  /// A place in a class has two keys: Written for what units store there, Read for what they load
  /// there.
  struct Member {
    uint64_t Written, Read;
    uint64_t Class, Offset;
  };
  Member memberAt(const MemberLevel &Level);
  Member describeMember(const MemberLevel &Level);
  Member memberOf(const MemberPath &Path, bool Reads);
  void relateBlocks(llvm::function_ref<void(uint64_t From, uint64_t To, unsigned Flags)> Emit);
  llvm::SmallVector<KeyRoot, 2> pointersAt(const llvm::Value *Address, unsigned Lane = 0);
  const llvm::Value *throughPlace(const llvm::CallBase &Call);
  /// A walk back from a pointer, and what it has found.
  struct Walk;
  void walk(VectorLane From, Roots &Out, llvm::SmallPtrSetImpl<const llvm::Value *> &Seen);
  void walkArgument(const llvm::Argument &A, Walk &Back);
  void walkCall(const llvm::CallBase &Call, Walk &Back);
  void walkLoad(const llvm::LoadInst &Load, unsigned Lane, Walk &Back);
  void walkLane(VectorLane Pointer, Walk &Back);
  void walkThrough(const llvm::Value *Pointer, Walk &Back);
  /// Collects the flows of one unit.
  class FlowCollector;
  static size_t mostFlows(const llvm::Module &M, unsigned Units);
  static bool isExported(const llvm::Function &F) {
    return !F.hasLocalLinkage() && F.getName() != "main";
  }
  /// True if the arguments and the result of \p F have keys. Without them, all callers have to be
  /// walked. In a link they may be many, and members that are passed lose their names.
  bool hasKeys(const llvm::Function &F) const {
    return F.hasLocalLinkage() ? Merged : F.getName() != "main";
  }
  bool outsiders(const llvm::CallBase &Call, const llvm::Function *&Callee);
  llvm::SmallVector<uint64_t, 2> namesOfArgument(const llvm::CallBase &Call, unsigned K);

  llvm::Module &M;
  const bool Merged; ///< the module has several units, whose functions the linker has made local
  const PointerOrigins &Origins;
  const AllocationWrappers &Wrappers;
  llvm::FunctionAnalysisManager &FAM;
  const llvm::DataLayout &Layout;
  llvm::DenseMap<uint64_t, std::string> Names;
  MemberPaths &Paths;
  const size_t MaxFlows; ///< of the unit's summary
  llvm::DenseMap<std::pair<const llvm::Instruction *, unsigned>, std::optional<uint64_t>>
      Fields; ///< key, by access and element
  llvm::DenseMap<std::pair<llvm::StringRef, const llvm::MDNode *>, uint64_t>
      Identities; ///< hash of a class, by name and layout
  llvm::DenseMap<std::tuple<llvm::StringRef, const llvm::MDNode *, uint64_t>, Member>
      Described; ///< by class, layout, and 2 * offset + whether the offset is variable
  llvm::DenseMap<uint64_t, llvm::SmallVector<Member, 2>> Members; ///< by Member::Class
  llvm::SetVector<std::pair<uint64_t, uint64_t>> Relations;       ///< flows between members' keys
  llvm::DenseMap<uint64_t, uint64_t>
      CalledThrough; ///< member's key to the key that calls through it use
  /// A global or local variable: the key of its memory, and of the places in it that hold pointers.
  struct Place {
    uint64_t Block = 0;
    llvm::SmallVector<uint64_t, 2> Pointers;
  };
  llvm::MapVector<const llvm::Value *, Place> Places;
  llvm::DenseSet<uint64_t> Blocks; ///< keys of the memory of variables and of members
  struct Block {
    Member Of;
    uint64_t Bytes = 0;
  };
  llvm::MapVector<std::pair<uint64_t, uint64_t>, Block> HandedOn; ///< by memberBlocks() result
  llvm::MapVector<uint64_t, uint64_t> Otherwise;                  ///< result key to otherwiseKey()
};

} // namespace smalloc
#endif
