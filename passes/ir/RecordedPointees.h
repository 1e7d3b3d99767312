//===- RecordedPointees.h - classes that unoptimised code names -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records which classes arguments point to and which classes contain which others. Optimisation
// removes declared types when it keeps locals in registers, and it inlines calls. Therefore
// recordPointees() runs at the start of the pipeline, and MemberPaths reads what it recorded.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_RECORDEDPOINTEES_H
#define SMALLOC_PASSES_RECORDEDPOINTEES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace smalloc {

/// Attribute of an argument: the type name, as in type tags, of the class that it points to.
inline constexpr llvm::StringRef PointeeAttr = "smalloc-pointee";
/// Named metadata with entries of (class, offset in it, class of the part at the offset).
inline constexpr llvm::StringRef PartsMetadata = "smalloc.parts";

/// Gives each argument of \p M's functions that points to a C++ class a PointeeAttr. Also records
/// which class contains which other class, from calls that pass a part of an object to a function
/// of the part's class. Has to run before locals are kept in registers.
void recordPointees(llvm::Module &M);

} // namespace smalloc
#endif
