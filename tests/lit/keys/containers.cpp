// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: nodes of a map, buckets and nodes of a hash map, and blocks of a deque have the keys of the members that they
// are reached through.
// Types of pointers are in the IR since LLVM 20 (-fpointer-tbaa), not in those of LLVM 19.
// REQUIRES: llvm-21
// RUN: %clangxx -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-DAG: access {{.*}} byte 16 of struct Store pattern=5 from=
// CHECK-DAG: access [[HASH:[0-9a-f]+]] byte 48 of struct Store pattern=4 from=
// CHECK-DAG: access [[HASH]] byte 48 of struct Store contents pattern={{[45]}} from=
// CHECK-DAG: access [[QUEUE:[0-9a-f]+]] byte {{120|136|144}} of struct Store contents pattern=4 from=
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>
class Store {
public:
  double tree(const std::vector<unsigned long> &keys) const {
    double s = 0;
    for (auto k : keys)
      if (auto it = tree_.find(k); it != tree_.end())
        s += it->second;
    return s;
  }
  double hash(const std::vector<unsigned long> &keys) const;
  double queue(const std::vector<unsigned long> &keys) const;

private:
  std::map<unsigned long, double> tree_;
  std::unordered_map<unsigned long, double> hash_;
  std::deque<double> queue_;
};
double tree_of(const Store &s, const std::vector<unsigned long> &keys) { return s.tree(keys); }
double Store::hash(const std::vector<unsigned long> &keys) const {
  double s = 0;
  for (auto k : keys)
    if (auto it = hash_.find(k); it != hash_.end())
      s += it->second;
  return s;
}
double Store::queue(const std::vector<unsigned long> &keys) const {
  double s = 0;
  for (auto k : keys)
    s += queue_[k % queue_.size()];
  return s;
}
