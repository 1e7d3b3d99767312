// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PageRank on a graph that is built as adjacency arrays by counting and placing its edges.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Csr {
  std::vector<uint64_t> off;
  std::vector<uint32_t> adj;
};
static uint64_t s = 88172645463325252ull;
static inline uint64_t rnd() {
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  return s;
}
Csr build(size_t n, const std::vector<std::pair<uint32_t, uint32_t>> &e) {
  Csr g;
  g.off.assign(n + 1, 0);
  g.adj.resize(e.size());
  for (auto &p : e)
    g.off[p.first + 1]++;
  for (size_t i = 0; i < n; i++)
    g.off[i + 1] += g.off[i];
  std::vector<uint64_t> pos(g.off.begin(), g.off.end() - 1);
  for (auto &p : e)
    g.adj[pos[p.first]++] = p.second;
  return g;
}
int main(int c, char **v) {
  size_t n = c > 1 ? atol(v[1]) : 2000000, m = n * 12;
  std::vector<std::pair<uint32_t, uint32_t>> e;
  e.reserve(m);
  for (size_t i = 0; i < m; i++)
    e.emplace_back(rnd() % n, rnd() % n);
  Csr g = build(n, e);
  e = std::vector<std::pair<uint32_t, uint32_t>>();
  std::vector<double> r(n, 1.0 / n), q(n);
  for (int it = 0; it < 5; it++) {
    for (size_t i = 0; i < n; i++) {
      double x = 0;
      for (uint64_t k = g.off[i]; k < g.off[i + 1]; k++)
        x += r[g.adj[k]];
      q[i] = .15 / n + .85 * x / 12;
    }
    r.swap(q);
  }
  double t = 0;
  for (double x : r)
    t += x;
  printf("%g\n", t);
}
