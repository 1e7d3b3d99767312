//===- MemberPaths.h - which member of which class is accessed? -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by which classes and offsets an access is known. A type tag names the innermost structure that the source
// accesses: of a std::vector in a class that is a structure inside the vector, the same for all vectors of the program. What
// tells one vector from another is the class that it is a member of, and where. That class follows from the pointer that the
// address is computed from: its declared type, the type of what is loaded, a constructor called on it, and the tags of its other
// accesses.
//
// Declared types are gone once locals are in registers, and calls of what is inline are gone, too, so recordPointees() keeps what
// they tell at the start of the pipeline.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MEMBERPATHS_H
#define SMALLOC_PASSES_MEMBERPATHS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include <optional>

namespace smalloc {

/// Of an argument: the type name of the class that it points to, as type tags have it.
inline constexpr llvm::StringRef PointeeAttr = "smalloc-pointee";

/// Gives the arguments of \p M's functions that point to classes of C++ a PointeeAttr, and keeps which class has which inside:
/// where a part of an object is passed to a function of that part's class. To be called before locals are in registers.
void recordPointees(llvm::Module &M);

/// Is \p TypeName, of a type tag, that of a class of C++?
inline bool isClassName(llvm::StringRef TypeName) { return TypeName.starts_with("_ZTS"); }
/// Is \p TypeName that of a class of the C++ library?
bool isLibraryClass(llvm::StringRef TypeName);
/// Type names that say nothing about who uses the memory, or that other units mean something else by.
bool tellsNothing(llvm::StringRef TypeName);
/// The name that type tags have for \p Type, a node of theirs.
llvm::StringRef typeName(const llvm::MDNode *Type);
/// Operand \p I of \p N, null if that is no node.
const llvm::MDNode *nodeOperand(const llvm::MDNode *N, unsigned I);

/// A class, and a place in it.
struct MemberLevel {
  llvm::StringRef Class;
  const llvm::MDNode *Struct; ///< its layout; null: the unit does not show it
  uint64_t Offset;            ///< bytes
  bool Direct;                ///< the place is a pointer, not a class that has one
  /// In an array inside the class: where its first element has what is at Offset. Variable: of some element, and Offset is that, too.
  std::optional<uint64_t> InFirst = std::nullopt;
  bool Variable = false;
};

/// From the outermost class that is known of to the innermost, without those that tell nothing. The offset of each is
/// from its own start.
using MemberPath = llvm::SmallVector<MemberLevel, 3>;

class MemberPaths {
public:
  explicit MemberPaths(const llvm::Module &M);

  /// The place of \p Access, a load or store of a pointer; empty if nothing tells.
  MemberPath of(const llvm::Instruction &Access);

  /// The member at \p Address, which is handed on as argument \p K of \p Call, and its size in \p Bytes; empty if \p Address
  /// is no member's, or that of an object as a whole.
  MemberPath handedOn(const llvm::Value *Address, const llvm::CallBase &Call, unsigned K,
                      uint64_t &Bytes);

  /// The class of the object that \p Object points to the start of; empty: unknown.
  llvm::StringRef classOf(const llvm::Value *Object) { return pointeeOf(Object).Class; }

private:
  /// The object that a pointer points to the start of, the largest that is known of.
  struct Pointee {
    llvm::StringRef Class;
    const llvm::MDNode *Struct = nullptr;
    uint64_t Bytes = 0; ///< of an object; 0: unknown
  };
  struct Place {
    const llvm::Value *Base;
    uint64_t Offset;
  };
  std::optional<Place> placeOf(const llvm::Value *Address);
  Pointee pointeeOf(const llvm::Value *Base);
  Pointee findPointee(const llvm::Value *Base);
  void askCalls(const llvm::Value *Base, Pointee &P);
  void askAccesses(const llvm::Value *Base, Pointee &P);
  const llvm::StructType *typeOf(llvm::StringRef Class);
  uint64_t bytesOf(llvm::StringRef Class);
  MemberPath elementPath(const llvm::Value *Address, uint64_t Bytes);
  MemberPath pathByName(llvm::StringRef Class, uint64_t Offset);
  llvm::StringRef className(const llvm::Type *Type);

  const llvm::Module &M;
  const llvm::DataLayout &Layout;
  const bool Classes; ///< of C++ are in the unit
  struct Part {
    uint64_t Offset;
    llvm::StringRef Class;
  };
  llvm::StringMap<llvm::SmallVector<Part, 2>> Parts; ///< by class; in order of their offsets
  llvm::DenseMap<const llvm::Value *, Pointee> Pointees;
  llvm::StringMap<const llvm::StructType *> Types; ///< by class
  llvm::StringSet<> Constructed;                   ///< names of classes that are nowhere else
};

} // namespace smalloc
#endif
