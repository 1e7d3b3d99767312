//===- VectorConstraints.cpp - the constraints of vectors of pointers ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the constraints of loads and stores of vectors of pointers. Each element has a node and
// an address of its own.
//===----------------------------------------------------------------------===//
#include "passes/pointers/PointerOrigins.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

/// Returns the node of element \p Lane of \p Vector, a vector of pointers.
PointerOrigins::NodeId PointerOrigins::laneNode(const Value *Vector, unsigned Lane) {
  const VectorLane At = laneOf(Vector, Lane);
  if (!At.From)
    return newNode(); // undefined: points nowhere
  if (!pointerLanes(At.From->getType()) || !isa<LoadInst, PHINode, SelectInst>(At.From))
    return nodeOf(At.From);
  auto [It, New] = LaneNodes.try_emplace({At.From, At.Lane}, 0);
  if (!New)
    return It->second;
  const NodeId Element = It->second = newNode();
  if (auto *Load = dyn_cast<LoadInst>(At.From)) {
    addLoad(laneAddress(Load->getPointerOperand(), At.Lane), Element);
    return Element;
  }
  for (const Use &Op : cast<User>(At.From)->operands())
    if (pointerLanes(Op->getType()))
      addCopy(laneNode(Op, At.Lane), Element);
  return Element;
}

/// Returns the node of the address of element \p Lane of a vector of pointers at \p Address.
PointerOrigins::NodeId PointerOrigins::laneAddress(const Value *Address, unsigned Lane) {
  if (!Lane)
    return nodeOf(Address);
  const NodeId At = newNode();
  addShift(nodeOf(Address), At, static_cast<int64_t>(Lane * Layout->getPointerSize()));
  return At;
}

void PointerOrigins::collectLanes(LoadInst &I) {
  const NodeId Address = nodeOf(I.getPointerOperand());
  for (unsigned Lane = 0; Lane < pointerLanes(I.getType()); ++Lane) {
    const NodeId Element = laneNode(&I, Lane);
    addCopy(Element, nodeOf(&I));
    if (NodeId Field = namedField(I, Lane)) {
      Nodes[Address].NamedLoads.push_back({Field, Element});
      if (PointsTo[Address].test(UnknownLoc))
        addCopy(Field, Element);
    }
  }
}

void PointerOrigins::collectLanes(StoreInst &I) {
  const Value *Stored = I.getValueOperand();
  for (unsigned Lane = 0; Lane < pointerLanes(Stored->getType()); ++Lane) {
    const NodeId Element = laneNode(Stored, Lane);
    addStore(Element, laneAddress(I.getPointerOperand(), Lane));
    if (NodeId Field = namedField(I, Lane))
      addCopy(Element, Field);
  }
}

} // namespace smalloc
