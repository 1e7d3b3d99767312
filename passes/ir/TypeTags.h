//===- TypeTags.h - the names in type tags ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the nodes of TBAA type tags and the names in them. C++ names a class by its mangled type
// name, which units agree on. Derives the same names from LLVM types and from mangled functions.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_TYPETAGS_H
#define SMALLOC_PASSES_TYPETAGS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include <string>

namespace smalloc {

/// True if \p TypeName, from a type tag, is that of a C++ class.
inline bool isClassName(llvm::StringRef TypeName) { return TypeName.starts_with("_ZTS"); }
/// True if \p TypeName is that of a class of the C++ standard library.
bool isLibraryClass(llvm::StringRef TypeName);
/// True if \p TypeName does not identify the memory's user: a name that is empty, of a library
/// class, or of an anonymous namespace (which means another class in another unit).
bool tellsNothing(llvm::StringRef TypeName);
/// Returns the name in \p Type, a type node of the type tags; empty if it has none.
inline llvm::StringRef typeName(const llvm::MDNode *Type) {
  auto *Name = Type->getNumOperands()
                   ? llvm::dyn_cast_or_null<llvm::MDString>(Type->getOperand(0).get())
                   : nullptr;
  return Name ? Name->getString() : "";
}
/// Returns operand \p I of \p N; null if there is none or it is no node.
inline const llvm::MDNode *nodeOperand(const llvm::MDNode *N, unsigned I) {
  return I < N->getNumOperands() ? llvm::dyn_cast_or_null<llvm::MDNode>(N->getOperand(I).get())
                                 : nullptr;
}
/// True if other units may use \p Class by the same name. Local classes and closures are numbered
/// by each unit, and their members are rarely used outside it.
bool isKnownElsewhere(llvm::StringRef Class);
/// True if \p M has type tags of C++. C's tags have other names for the same structures.
bool hasClasses(const llvm::Module &M);
/// Returns the C++ class that a pointer with type tag \p Tag points to; empty if it is not a class.
llvm::StringRef classPointedTo(const llvm::MDNode *Tag);
/// Returns the class of the constructor or destructor with the mangled name \p Name. Empty for
/// other functions and for classes with template arguments.
llvm::StringRef constructedClass(llvm::StringRef Name, llvm::SmallVectorImpl<char> &Buffer);
/// Returns the name that type tags have for the class \p T; empty if the name could also be another
/// class'. LLVM's type name omits template arguments, so a class template's instance gets the name
/// of a plain class.
std::string classNameOf(const llvm::StructType &T);

} // namespace smalloc
#endif
