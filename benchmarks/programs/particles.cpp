// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Particles as a structure of arrays that fill together, and lists of the particles of each cell.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
template <class T> struct Field {
  T *d;
  size_t n;
  explicit Field(size_t k) : d(new T[k]), n(k) {}
  ~Field() { delete[] d; }
  T &operator[](size_t i) { return d[i]; }
};
struct P {
  Field<double> x, y, vx, vy;
  Field<int> next;
  explicit P(size_t n) : x(n), y(n), vx(n), vy(n), next(n) {}
};
int main(int c, char **v) {
  size_t n = c > 1 ? atol(v[1]) : 3000000;
  P p(n);
  std::mt19937 g(1);
  std::uniform_real_distribution<double> u(0, 1);
  for (size_t i = 0; i < n; i++) {
    p.x[i] = u(g);
    p.y[i] = u(g);
    p.vx[i] = p.vy[i] = 0;
  }
  int m = 1024;
  std::vector<int> head(m * m);
  for (int s = 0; s < 4; s++) {
    std::fill(head.begin(), head.end(), -1);
    for (size_t i = 0; i < n; i++) {
      int k = int(p.x[i] * m) * m + int(p.y[i] * m);
      p.next[i] = head[k];
      head[k] = i;
    }
    for (int k = 0; k < m * m; k++) {
      double sx = 0, sy = 0;
      int q = 0;
      for (int i = head[k]; i >= 0; i = p.next[i]) {
        sx += p.x[i];
        sy += p.y[i];
        q++;
      }
      for (int i = head[k]; i >= 0; i = p.next[i]) {
        p.vx[i] += (sx / q - p.x[i]) * .1;
        p.vy[i] += (sy / q - p.y[i]) * .1;
      }
    }
    for (size_t i = 0; i < n; i++) {
      p.x[i] += p.vx[i];
      p.y[i] += p.vy[i];
      if (p.x[i] < 0)
        p.x[i] = 0;
      if (p.x[i] > .999)
        p.x[i] = .999;
      if (p.y[i] < 0)
        p.y[i] = 0;
      if (p.y[i] > .999)
        p.y[i] = .999;
    }
  }
  double t = 0;
  for (size_t i = 0; i < n; i++)
    t += p.x[i];
  printf("%g\n", t);
}
