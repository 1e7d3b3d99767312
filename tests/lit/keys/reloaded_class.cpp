// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a member of a class that a loop reaches through a reference which it loads
// again in each iteration (nested phis of loads) has the member's key, not one of all that the
// reference's object contains. Where an inner loop keeps on reading one place, no miss is promised.
// REQUIRES: llvm-21
// RUN: %clangxx -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-NOT: contents pattern
// CHECK-DAG: access {{.*}} byte 8 of struct Graph pattern=4 from={{.*}} picked at random
// CHECK-DAG: access {{.*}} byte 16 of struct Graph pattern
// CHECK-NOT: 0.0000
#include <cstdint>
#include <memory>
#include <vector>
struct Graph {
  std::uint32_t vertices;
  std::unique_ptr<std::uint64_t[]> row;
  std::unique_ptr<std::uint32_t[]> adjacent;
};
class Search {
public:
  explicit Search(const Graph &g);
  std::uint64_t run();

private:
  const Graph &graph;
  std::unique_ptr<std::uint8_t[]> seen;
  std::vector<std::uint32_t> queue;
};
std::uint64_t Search::run() {
  std::uint64_t sum = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t v = queue[head];
    for (std::uint64_t e = graph.row[v]; e < graph.row[v + 1]; ++e) {
      const std::uint32_t w = graph.adjacent[e];
      if (seen[w])
        continue;
      seen[w] = 1;
      sum += e;
      queue.push_back(w);
    }
  }
  return sum;
}
