// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the vectors of one class are two keys, by the class and the place in it, also where the loads were moved
// out of the loop.
// Types of pointers are in the IR since LLVM 20 (-fpointer-tbaa), not in those of LLVM 19.
// REQUIRES: llvm-21
// RUN: %clangxx -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-DAG: flow {{.*}} -> [[FIRST:[0-9a-f]+]] byte 0 of struct graph::Graph{{$}}
// CHECK-DAG: flow {{.*}} -> [[SECOND:[0-9a-f]+]] byte 24 of struct graph::Graph{{$}}
// CHECK-DAG: flow [[FIRST]] -> [[FIRSTREAD:[0-9a-f]+]] byte 0 of struct graph::Graph{{$}}
// CHECK-DAG: flow [[SECOND]] -> [[SECONDREAD:[0-9a-f]+]] byte 24 of struct graph::Graph{{$}}
// CHECK-DAG: access [[FIRSTREAD]] byte 0 of struct graph::Graph pattern=2
// CHECK-DAG: access [[SECONDREAD]] byte 24 of struct graph::Graph pattern=4
// CHECK-NOT: struct std::
#include <vector>
namespace graph {
class Graph {
public:
  Graph(unsigned long n);
  double walk(long times) const;
  std::vector<unsigned> edges;
  std::vector<double> rank;
};
Graph::Graph(unsigned long n) : edges(n), rank(n) {}
double Graph::walk(long times) const {
  double x = 0;
  for (long t = 0; t < times; t++)
    for (unsigned long i = 0; i < edges.size(); i++)
      x += rank[edges[i]];
  return x;
}
} // namespace graph
