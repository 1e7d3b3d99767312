//===- MemberPaths.h - the class members that an access reads or writes -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names the memory that an access reads or writes by a path of classes and offsets. The access'
// TBAA type tag names only the innermost structure: for a std::vector member of a class, that is a
// structure inside the vector, the same for all vectors of the program. Vectors are distinguished
// by the class that has them as a member, and by the offset in it. That class follows from the
// pointer that the address is computed from: from the pointer's declared type (RecordedPointees),
// the type tag of the load that it comes from, a constructor called on it, and the tags of its
// other accesses.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MEMBERPATHS_H
#define SMALLOC_PASSES_MEMBERPATHS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include <optional>

namespace smalloc {

/// A class and an offset in it.
struct MemberLevel {
  llvm::StringRef Class;
  const llvm::MDNode *Struct; ///< layout of the class; null: the unit's tags do not show it
  uint64_t Offset;            ///< bytes from the start of the class
  bool Direct;                ///< true: a pointer is at Offset; false: a class that contains one
  /// Set for a place in an array inside the class: offset of the same place in the first element.
  std::optional<uint64_t> InFirst = std::nullopt;
  bool Variable = false; ///< the element is not known, and Offset is that in the first element
};

/// The classes around a place, from the outermost known one to the innermost, without those for
/// which tellsNothing() is true. Each offset counts from the start of its own class.
using MemberPath = llvm::SmallVector<MemberLevel, 3>;

class MemberPaths {
public:
  explicit MemberPaths(const llvm::Module &M);

  /// Returns the path of \p Access, a load or store of a pointer, or of element \p Lane of a vector
  /// of pointers; empty if it is not known.
  MemberPath of(const llvm::Instruction &Access, unsigned Lane = 0);

  /// Returns the path of the member at \p Address, which is passed as argument \p K of \p Call, and
  /// its size in \p Bytes. Empty if \p Address is not a member's or is that of a whole object.
  MemberPath handedOn(const llvm::Value *Address, const llvm::CallBase &Call, unsigned K,
                      uint64_t &Bytes);

  /// Returns the class of the object that starts at \p Object; empty: unknown.
  llvm::StringRef classOf(const llvm::Value *Object) { return pointeeOf(Object).Class; }

private:
  /// The largest known object that starts where a pointer points to.
  struct Pointee {
    llvm::StringRef Class;
    const llvm::MDNode *Struct = nullptr;
    uint64_t Bytes = 0; ///< size of the object; 0: unknown
  };
  struct Place {
    const llvm::Value *Base;
    uint64_t Offset;
  };
  std::optional<Place> placeOf(const llvm::Value *Address);
  Pointee pointeeOf(const llvm::Value *Base);
  Pointee findPointee(const llvm::Value *Base);
  Pointee mergedPointee(const llvm::PHINode &Phi);
  void askCalls(const llvm::Value *Base, Pointee &P);
  void askAccesses(const llvm::Value *Base, Pointee &P);
  const llvm::StructType *typeOf(llvm::StringRef Class);
  uint64_t bytesOf(llvm::StringRef Class);
  MemberPath elementPath(const llvm::Value *Address, uint64_t Bytes, uint64_t Offset = 0);
  MemberPath pathByName(llvm::StringRef Class, uint64_t Offset);
  llvm::StringRef className(const llvm::Type *Type);

  const llvm::Module &M;
  const llvm::DataLayout &Layout;
  const bool Classes; ///< true: the unit has type tags of C++
  struct Part {
    uint64_t Offset;
    llvm::StringRef Class;
  };
  llvm::StringMap<llvm::SmallVector<Part, 2>> Parts; ///< members of each class that are classes
  llvm::DenseMap<const llvm::Value *, Pointee> Pointees;
  llvm::StringMap<const llvm::StructType *> Types; ///< LLVM type of each class
  llvm::StringSet<> Constructed;                   ///< owns names that no metadata holds
};

} // namespace smalloc
#endif
