//===- PointerVectors.h - the elements of vectors of pointers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the elements of vectors of pointers. The SLP vectorizer moves neighbouring pointer members
// of C++ classes (a shared_ptr's two, a vector's three) by one access. Each element is a pointer of
// its own: merged, the pointers of two members would be one.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_POINTERVECTORS_H
#define SMALLOC_PASSES_POINTERVECTORS_H

namespace llvm {
class Type;
class Value;
} // namespace llvm

namespace smalloc {

/// Returns the number of elements of \p T if it is a vector of pointers of known length; else 0.
unsigned pointerLanes(const llvm::Type *T);

/// An element of a vector, or a pointer that is no vector (Lane is 0 then).
struct VectorLane {
  const llvm::Value *From; ///< null: the element is undefined
  unsigned Lane;
};

/// Returns the origin of element \p Lane of \p V: the pointer that was inserted there, or the same
/// or another element of a vector that no instruction builds from elements.
VectorLane laneOf(const llvm::Value *V, unsigned Lane);

} // namespace smalloc
#endif
