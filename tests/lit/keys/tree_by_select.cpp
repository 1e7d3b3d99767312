// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a tree whose child is chosen by a select has no member's tag on the load of
// the child. What the loop walks is then all that the root leads to, not the root alone. A block of
// a pool that a unique_ptr holds, which LLVM moves as an integer, flows into the pool's vector.
// REQUIRES: llvm-21
// RUN: %clangxx -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-DAG: access {{.*}} byte 24 of struct Tree contents pattern=5 from={{.*}} reached through pointers
// CHECK-DAG: flow {{.*}} -> {{.*}} byte 8 of struct Tree to-contents
#include <memory>
#include <vector>
struct Node {
  unsigned long key;
  Node *left, *right;
};
class Tree {
public:
  bool find(unsigned long key) const;
  Node *block();

private:
  std::vector<std::unique_ptr<Node[]>> blocks;
  Node *root;
};
bool Tree::find(unsigned long key) const {
  const Node *n = root;
  while (n && n->key != key)
    n = key < n->key ? n->left : n->right;
  return n;
}
Node *Tree::block() {
  blocks.push_back(std::make_unique<Node[]>(65536));
  return blocks.back().get();
}
