//===- RecordingCallbacks.h - code that records one access ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the instructions that record an access or a walk for the feedback library
// (smalloc/access.h). These are the image's gate, which the library fills in; inline stores into
// the thread's memory; and calls of the library for the rest.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_RECORDINGCALLBACKS_H
#define SMALLOC_PASSES_RECORDINGCALLBACKS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace smalloc {

/// The image's gate and the functions that use it. The linker keeps one of each per image.
class RecordingCallbacks {
public:
  RecordingCallbacks(llvm::Module &M, llvm::StringRef Directory);

  llvm::Value *threshold(llvm::IRBuilder<> &B) { return relaxed(B, 2); }
  /// Emits a test that is true if every access goes into the thread's memory.
  llvm::Value *every(llvm::IRBuilder<> &B);

  /// True if the target has a table with a byte for each region of the address space.
  bool hasRegions() const;
  /// Emits a load of the table's start. It is null if the library has no table, or records nothing.
  llvm::Value *regions(llvm::IRBuilder<> &B);
  /// Emits a call of the library, which fills in the byte of a region that is not known yet.
  void look(llvm::Instruction *Before, llvm::Value *Entry);

  /// True if a thread can find its memory inline.
  bool hasMemory() const;
  /// Emits the address of the thread's smalloc_recorded.
  llvm::Value *told(llvm::IRBuilder<> &B);

  /// How often an access of a loop is recorded if all are. Often: each time. Seldom: at most each
  /// time it moves to another page.
  enum class Rate { Often, Seldom };
  /// Records one access in front of \p Before: into the thread's memory if it has room. Frequent
  /// accesses do so inline and in few instructions. So the processor can run the loop's next
  /// iterations meanwhile, as many as its window holds. The others, most of a program, call a
  /// function; inline they would be half of a unit's code. That call, and the call for a full
  /// memory, preserve the caller's registers.
  void tell(llvm::Instruction *Before, llvm::Value *Tagged, Rate HowOften);

  /// One of several accesses that one piece of a block records together, one after the other.
  struct Together {
    llvm::Instruction *Before;
    llvm::Value *Pointer;
    llvm::Value *Lane; ///< recorded if it is true; null: always
    bool Writes;
  };
  /// Records \p All, at most SMALLOC_TOLD_BEHIND_END accesses, with one check for room and then a
  /// store each. The accesses take effect with the store of the last one.
  void tellTogether(llvm::Value *Told, llvm::ArrayRef<Together> All);

  void tellWalk(llvm::IRBuilder<> &B, llvm::Value *Iterations,
                llvm::ArrayRef<std::pair<llvm::Value *, llvm::Value *>> References,
                llvm::Value *Area);
  /// Returns the memory for a tellWalk() of \p References references.
  llvm::AllocaInst *area(llvm::IRBuilder<> &B, unsigned References);

  static llvm::Value *tagged(llvm::IRBuilder<> &B, llvm::Value *Address, bool Writes);

  /// Adds the constructor and destructor that pass the gate to the library. They run before all
  /// others, since the others may contain sites.
  void announce();

private:
  llvm::Function *makeCall(llvm::StringRef Name, unsigned Field,
                           llvm::ArrayRef<llvm::Type *> Parameters);
  llvm::Value *relaxed(llvm::IRBuilder<> &B, unsigned Field);
  llvm::Value *end(llvm::IRBuilder<> &B, llvm::Value *Told);
  llvm::Instruction *intoMemory(llvm::Instruction *Before, llvm::Value *Tagged);

  llvm::Module &M;
  llvm::LLVMContext &C;
  llvm::Type *I32, *I64;
  llvm::PointerType *Ptr;
  llvm::StructType *Layout, *Reference;
  llvm::GlobalVariable *Record = nullptr;
  llvm::Function *Tell = nullptr, *Append = nullptr, *Room = nullptr, *Look = nullptr;
};

} // namespace smalloc
#endif
