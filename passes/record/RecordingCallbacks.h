//===- RecordingCallbacks.h - the code that tells an access -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the instructions with which a program tells the feedback library an access or a walk (smalloc/access.h): the image's
// gate, which the library fills in, what goes into the thread's memory in line, and the calls for the rest.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_RECORDINGCALLBACKS_H
#define SMALLOC_PASSES_RECORDINGCALLBACKS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace smalloc {

/// The image's gate and the functions that go through it; the linker keeps one of each an image.
class RecordingCallbacks {
public:
  RecordingCallbacks(llvm::Module &M, llvm::StringRef Directory);

  llvm::Value *threshold(llvm::IRBuilder<> &B) { return relaxed(B, 2); }
  /// Does every access go to the thread's memory?
  llvm::Value *every(llvm::IRBuilder<> &B);

  /// Is there a byte for each region that an address may lie in?
  bool hasRegions() const;
  /// The first of these bytes; null: the library has none, or keeps nothing.
  llvm::Value *regions(llvm::IRBuilder<> &B);
  /// Where it is the byte of a region that is not known yet.
  void look(llvm::Instruction *Before, llvm::Value *Entry);

  /// Can a thread find its memory in line?
  bool hasMemory() const;
  /// The thread's smalloc_recorded.
  llvm::Value *told(llvm::IRBuilder<> &B);

  /// How often an access of a loop is told, when all are: each time, or where it comes to another page at most.
  enum class Rate { Often, Seldom };
  /// Tells one access in front of an instruction: into the thread's memory if it has room. What is told often does so in line and in
  /// few instructions, so that the processor goes on with the loop's next iterations meanwhile, as many as its window holds.
  /// For the others, most of a program, there is a function: in line they would be half of what a unit compiles to. The call of
  /// it, and that for the rest, keep the caller's registers.
  void tell(llvm::Instruction *Before, llvm::Value *Tagged, Rate HowOften);

  /// One of several that are told in one piece of a block, one behind the other.
  struct Together {
    llvm::Instruction *Before;
    llvm::Value *Pointer;
    llvm::Value *Lane; ///< told if it is true; null: always
    bool Writes;
  };
  /// The same of these, at most SMALLOC_TOLD_BEHIND_END: one look for room, and then a store each. What is told counts with the last.
  void tellTogether(llvm::Value *Told, llvm::ArrayRef<Together> All);

  void tellWalk(llvm::IRBuilder<> &B, llvm::Value *Iterations,
                llvm::ArrayRef<std::pair<llvm::Value *, llvm::Value *>> References,
                llvm::Value *Area);
  /// For tellWalk() of so many.
  llvm::AllocaInst *area(llvm::IRBuilder<> &B, unsigned References);

  static llvm::Value *tagged(llvm::IRBuilder<> &B, llvm::Value *Address, bool Writes);

  /// The constructor and destructor that hand the gate to the library. Before all others: sites come after.
  void announce();

private:
  void hide(llvm::GlobalObject *G);
  llvm::Function *hiddenFunction(llvm::StringRef Name, llvm::ArrayRef<llvm::Type *> Parameters);
  llvm::Function *makeCall(llvm::StringRef Name, unsigned Field,
                           llvm::ArrayRef<llvm::Type *> Parameters);
  llvm::Function *announcer(llvm::StringRef Name, llvm::StringRef EntryName);
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
