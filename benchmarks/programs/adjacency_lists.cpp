// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph of a vector for each node, filled edge by edge, and a breadth-first search.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <unordered_map>
#include <vector>
int main(int c, char **v) {
  size_t n = c > 1 ? atol(v[1]) : 1000000;
  std::vector<std::vector<uint32_t>> g(n);
  uint64_t s = 5;
  for (size_t i = 0; i < n * 8; i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t a = (s >> 32) % n;
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t b = (s >> 32) % n;
    g[a].push_back(b);
    g[b].push_back(a);
  }
  std::vector<int> d(n, -1);
  std::queue<uint32_t> q;
  q.push(0);
  d[0] = 0;
  long t = 0;
  while (!q.empty()) {
    auto u = q.front();
    q.pop();
    t += d[u];
    for (auto w : g[u])
      if (d[w] < 0) {
        d[w] = d[u] + 1;
        q.push(w);
      }
  }
  printf("%ld\n", t);
}
