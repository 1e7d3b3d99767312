//===- KeyedSummary.h - pointers that cross the unit's borders --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides under which names a unit tells others what its pointers point to. A key is a name that units agree on:
// argument k of function f, the result of f, a field of a structure, a place in a global. The unit's summary says
// which sites and keys flow into which keys, and what its loops do with the memory that a key points to; the runtime
// and `smalloc sites` join the summaries of a program (smalloc/site.h, smalloc_keys).
//
// A pointer's keys are found by walking backwards from it to where the unit got it: linear, and independent of the
// budget of PointerOrigins, which knows the sites.
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

/// A key, or what the pointers stored in its memory point to.
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
  std::vector<Access> Accesses;                ///< one a root at most
  llvm::DenseMap<uint64_t, std::string> Names; ///< of keys, for people; linkage names at their ends
  bool empty() const { return Flows.empty() && Accesses.empty(); }
};

/// Keys of pointers, by name.
class KeyNames {
public:
  KeyNames(llvm::Module &M, PointerOrigins &Origins, const AllocationWrappers &Wrappers,
           llvm::FunctionAnalysisManager &FAM)
      : M(M), Origins(Origins), Wrappers(Wrappers), FAM(FAM), Layout(M.getDataLayout()),
        Paths(Origins.members()) {}

  /// Where the unit got \p Pointer from, as far as other units may know the place.
  llvm::SmallVector<KeyRoot, 2> rootsOf(const llvm::Value *Pointer);

  /// Where \p Access, a load or store of a pointer, finds or puts it.
  llvm::SmallVector<KeyRoot, 2> memoryOf(const llvm::Instruction &Access);

  /// The flows of the unit: \p NodeOf gives a site's node, 0 for a site that nobody steers.
  void collectFlows(KeyedSummary &Out, llvm::function_ref<uint64_t(const llvm::CallBase *)> NodeOf);

  /// The arguments through which the unit hands out memory of the stack or of variables, in program order.
  std::vector<uint64_t> argumentsFromElsewhere();

  /// What members have to do with each other, of all that was asked for. To be called last, for what is still asked for has none.
  void relateMembers(KeyedSummary &Out);

  /// What was asked for so far.
  llvm::DenseMap<uint64_t, std::string> takeNames() { return std::move(Names); }

private:
  using Roots = llvm::SmallVector<KeyRoot, 2>;
  /// Values looked at on the way back from one pointer; beyond it the keys found so far must do.
  static constexpr unsigned MaxWalk = 64;
  uint64_t key(const llvm::Twine &Exact, llvm::function_ref<std::string()> Name);
  uint64_t argumentKey(llvm::StringRef Function, unsigned K);
  uint64_t argumentKey(const llvm::Function &F, unsigned K) { return argumentKey(F.getName(), K); }
  uint64_t resultKey(const llvm::Function &F);
  uint64_t throughKey(uint64_t Place, unsigned K);
  uint64_t otherwiseKey(const llvm::Function &F);
  uint64_t virtualKey(llvm::StringRef Class, uint64_t Slot, int Argument);
  uint64_t virtualKeyOf(const llvm::CallBase &Call, int Argument);
  void relateTables(llvm::function_ref<void(uint64_t From, uint64_t To)> Emit);
  uint64_t globalKey(const llvm::GlobalVariable &G, int64_t Offset);
  uint64_t blockKey(const llvm::Value &Object);
  std::pair<uint64_t, uint64_t> memberBlocks(const llvm::Value *Address, const llvm::CallBase &Call,
                                             unsigned K);
  std::string ownOf(const llvm::GlobalValue &G);
  std::optional<uint64_t> fieldKey(const llvm::Instruction &Access);
  /// A place in a class has two keys: what units store there, and what they find there.
  struct Member {
    uint64_t Written, Read;
    uint64_t Class, Offset;
  };
  Member memberAt(const MemberLevel &Level);
  Member describeMember(const MemberLevel &Level);
  Member memberOf(const MemberPath &Path, bool Reads);
  void relateBlocks(llvm::function_ref<void(uint64_t From, uint64_t To, unsigned Flags)> Emit);
  llvm::SmallVector<KeyRoot, 2> pointersAt(const llvm::Value *Address);
  const llvm::Value *throughPlace(const llvm::CallBase &Call);
  void walk(const llvm::Value *V, Roots &Out, llvm::SmallPtrSetImpl<const llvm::Value *> &Seen);
  bool outsiders(const llvm::CallBase &Call, const llvm::Function *&Callee);
  llvm::SmallVector<uint64_t, 2> namesOfArgument(const llvm::CallBase &Call, unsigned K);

  llvm::Module &M;
  const PointerOrigins &Origins;
  const AllocationWrappers &Wrappers;
  llvm::FunctionAnalysisManager &FAM;
  const llvm::DataLayout &Layout;
  llvm::DenseMap<uint64_t, std::string> Names;
  MemberPaths &Paths;
  llvm::DenseMap<const llvm::Instruction *, std::optional<uint64_t>> Fields; ///< by access
  llvm::DenseMap<std::pair<llvm::StringRef, const llvm::MDNode *>, uint64_t>
      Identities; ///< of classes
  llvm::DenseMap<std::tuple<llvm::StringRef, const llvm::MDNode *, uint64_t>, Member>
      Described; ///< by class, layout, and offset with whether it is variable
  llvm::DenseMap<uint64_t, llvm::SmallVector<Member, 2>> Members; ///< by Member::Class
  llvm::SetVector<std::pair<uint64_t, uint64_t>> Relations;       ///< flows between members' keys
  llvm::DenseMap<uint64_t, uint64_t>
      CalledThrough; ///< a member's key to that of the place for functions
  /// A variable or a local one: its memory, and the places in it that hold pointers.
  struct Place {
    uint64_t Block = 0;
    llvm::SmallVector<uint64_t, 2> Pointers;
  };
  llvm::MapVector<const llvm::Value *, Place> Places;
  llvm::DenseSet<uint64_t> Blocks;
  struct Block {
    Member Of;
    uint64_t Bytes = 0;
  };
  llvm::MapVector<std::pair<uint64_t, uint64_t>, Block> HandedOn; ///< by memberBlocks()
  llvm::MapVector<uint64_t, uint64_t> Otherwise;                  ///< result key to otherwiseKey
};

} // namespace smalloc
#endif
