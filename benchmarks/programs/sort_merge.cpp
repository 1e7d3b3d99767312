// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two arrays that grow by push_back, a stable sort with its buffer, a sort, and a merge.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Row {
  uint64_t k;
  uint32_t a, b;
};
int main(int c, char **v) {
  size_t n = c > 1 ? atol(v[1]) : 5000000;
  std::vector<Row> x, y;
  uint64_t s = 3;
  for (size_t i = 0; i < n; i++) {
    s = s * 6364136223846793005ull + 1;
    x.push_back({s >> 24, (uint32_t)i, 0});
    s = s * 6364136223846793005ull + 1;
    y.push_back({s >> 24, (uint32_t)i, 1});
  }
  std::stable_sort(x.begin(), x.end(), [](auto &a, auto &b) { return a.k < b.k; });
  std::sort(y.begin(), y.end(), [](auto &a, auto &b) { return a.k < b.k; });
  std::vector<Row> z(x.size() + y.size());
  std::merge(x.begin(), x.end(), y.begin(), y.end(), z.begin(),
             [](auto &a, auto &b) { return a.k < b.k; });
  uint64_t t = 0;
  for (auto &r : z)
    t = t * 31 + r.a;
  printf("%lu\n", t);
}
