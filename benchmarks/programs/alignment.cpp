// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Alignment of two sequences: a table of rows, each a vector of its own, and the walk back.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
int main(int c, char **v) {
  int n = c > 1 ? atoi(v[1]) : 7000;
  std::string a(n, 'a'), b(n, 'a');
  unsigned s = 1;
  for (int i = 0; i < n; i++) {
    s = s * 1103515245 + 12345;
    a[i] = "acgt"[s >> 16 & 3];
    s = s * 1103515245 + 12345;
    b[i] = "acgt"[s >> 16 & 3];
  }
  std::vector<std::vector<int>> d(n + 1, std::vector<int>(n + 1));
  for (int i = 0; i <= n; i++)
    d[i][0] = i, d[0][i] = i;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++)
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
  int i = n, j = n;
  long t = 0;
  while (i && j) {
    t += d[i][j];
    if (d[i][j] == d[i - 1][j] + 1)
      i--;
    else if (d[i][j] == d[i][j - 1] + 1)
      j--;
    else
      i--, j--;
  }
  printf("%d %ld\n", d[n][n], t);
}
