//===- Assembly.h - x86-64 assembly of added functions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the assembly of hidden functions and objects that smalloc adds to a unit: their sections,
// unwind information, and the registers that they save.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ASSEMBLY_H
#define SMALLOC_PASSES_ASSEMBLY_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/IR/Module.h"
#include <string>

namespace smalloc {

/// Registers of the first arguments, and a register for the target of a tail call.
inline constexpr llvm::StringRef Registers[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"};
inline constexpr llvm::StringRef ThroughRegister = "%r11";

/// Assembly of hidden functions, of which the linker keeps one copy per image. The destructor
/// appends it to the module.
class Assembly {
public:
  explicit Assembly(llvm::Module &M)
      : M(M), FramePointers(M.getFramePointer() != llvm::FramePointerKind::None),
        Landings(M.getModuleFlag("cf-protection-branch") != nullptr) {}
  ~Assembly() { M.appendModuleInlineAsm(Out); }

  void line(const llvm::Twine &T) { (T + "\n").toVector(Buffer), take(); }
  void weak(llvm::StringRef Symbol) { line(".weak " + Symbol); }
  void hidden(llvm::StringRef Symbol) { line(".hidden " + Symbol); }

  /// Opens \p Symbol in a section and a COMDAT of its own, up to close().
  void open(llvm::StringRef Section, llvm::StringRef Flags, llvm::StringRef Symbol,
            llvm::StringRef Type) {
    line(".pushsection " + Section + Symbol + ",\"" + Flags + "\",@progbits," + Symbol + ",comdat");
    hidden(Symbol);
    weak(Symbol);
    line(".type " + Symbol + ",@" + Type);
    line(Type == "function" ? ".p2align 4" : ".p2align 3");
    line(Symbol + ":");
  }
  void close(llvm::StringRef Symbol) {
    line(".size " + Symbol + ",.-" + Symbol);
    line(".popsection");
  }
  void openFunction(llvm::StringRef Symbol) {
    open(".text.", "axG", Symbol, "function");
    line(".cfi_startproc");
  }
  void closeFunction(llvm::StringRef Symbol) {
    line(".cfi_endproc");
    close(Symbol);
  }
  /// Marks the entry of a function whose address is taken.
  void landing() {
    if (Landings)
      line("endbr64");
  }

  /// Saves the registers \p Kept up to leave(), and aligns the stack there.
  void enter(llvm::ArrayRef<llvm::StringRef> Kept) {
    if (FramePointers) {
      push("%rbp");
      line(".cfi_rel_offset %rbp,0");
      line("movq %rsp,%rbp");
    }
    for (llvm::StringRef Register : Kept)
      push(Register);
    if (needsPadding(Kept))
      push("%rax"); // padding
  }
  void leave(llvm::ArrayRef<llvm::StringRef> Kept) {
    if (needsPadding(Kept))
      pop(ThroughRegister);
    for (llvm::StringRef Register : llvm::reverse(Kept))
      pop(Register);
    if (FramePointers) {
      pop("%rbp");
      line(".cfi_restore %rbp");
    }
  }

private:
  void take() {
    Out.append(Buffer.begin(), Buffer.end());
    Buffer.clear();
  }
  void push(llvm::StringRef Register) {
    line("pushq " + Register);
    line(".cfi_adjust_cfa_offset 8");
  }
  void pop(llvm::StringRef Register) {
    line("popq " + Register);
    line(".cfi_adjust_cfa_offset -8");
  }
  /// True if the stack is off by eight after the return address, the frame pointer and \p Kept.
  bool needsPadding(llvm::ArrayRef<llvm::StringRef> Kept) const {
    return (Kept.size() + FramePointers) % 2 == 0;
  }

  llvm::Module &M;
  bool FramePointers, Landings;
  std::string Out;
  llvm::SmallString<128> Buffer;
};

} // namespace smalloc
#endif
