// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: push_back and emplace_back after reserve write the whole object, if each iteration appends. If only some do, or if there
// are fewer iterations than reserved, pages stay untouched.
// RUN: %remarksxx %s 2>&1 | FileCheck %s --implicit-check-not='first touch'
// CHECK: at the first touch since every byte is written: new of n*8 bytes in 'each'
// CHECK: at the first touch since every byte is written: new of n*16 bytes in 'records'
// CHECK: at the first touch since every byte is written: new[] of n*8 bytes in 'double grown<true, true>
// CHECK: at the first touch since every byte is written: new of n*2 bytes in 'picked'
#include <cstring>
#include <vector>
template <class V, class F> static double gather(const V &v, const int *pick, long m, F of) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += of(v[pick[i]]);
  return s;
}
static double same(double x) { return x; }
double each(long n, const int *pick, long m) {
  std::vector<double> v;
  v.reserve(n);
  for (long i = 0; i < n; i++)
    v.push_back(i);
  return gather(v, pick, m, same);
}
struct Point {
  float x, y, z;
  int id;
};
double records(long n, const int *pick, long m) {
  std::vector<Point> v;
  v.reserve(n);
  for (long i = 0; i < n; i++)
    v.push_back(Point{float(i), 2, 3, int(i)});
  return gather(v, pick, m, [](const Point &p) { return double(p.x); });
}
double some(long n, const int *pick, long m) {
  std::vector<double> v;
  v.reserve(n);
  for (long i = 0; i < n; i++)
    if (pick[i] > 0)
      v.push_back(i);
  return gather(v, pick, m, same);
}
double fewer(long n, long reserved, const int *pick, long m) {
  std::vector<double> v;
  v.reserve(reserved);
  for (long i = 0; i < n; i++)
    v.push_back(i);
  return gather(v, pick, m, same);
}
double with_gaps(long n, const int *pick, long m) {
  double *p = new double[n], *q = p;
  for (long i = 0; i < n; i++, q++)
    if (pick[i] > 0)
      *q = i;
  double s = 0;
  for (long i = 0; i < m; i++)
    s += p[pick[i]];
  delete[] p;
  return s;
}
void note(long);
// The memory grows, but the pointer moves only now and then, or not each element is stored.
template <bool Moves, bool Stores> static double grown(long n, const int *pick, long m) {
  double *p = new double[n], *q = p, *end = p + n;
  for (long i = 0; i < n; i++) {
    if (q == end) {
      double *larger = new double[2 * n];
      memcpy(larger, p, n * sizeof *p);
      delete[] p;
      p = larger, q = p + n, end = p + 2 * n;
    } else if (Stores || pick[i] > 0) {
      *q = i;
    }
    if (Moves)
      q++;
    else if (pick[i] <= 0)
      note(i);
    else
      q++;
  }
  double s = 0;
  for (long i = 0; i < m; i++)
    s += p[pick[i]];
  delete[] p;
  return s;
}
double by_hand(long n, const int *pick, long m) { return grown<true, true>(n, pick, m); }
double moves_now_and_then(long n, const int *pick, long m) { return grown<false, true>(n, pick, m); }
double stores_now_and_then(long n, const int *pick, long m) { return grown<true, false>(n, pick, m); }
// Over the elements of another vector: its size in bytes is divided by its element.
double picked(const std::vector<int> &from, const double *of, const int *pick, long m) {
  std::vector<double> v;
  v.reserve(from.size());
  for (int i : from)
    v.push_back(of[i]);
  return gather(v, pick, m, same);
}
double chosen(const std::vector<double> &from, const int *pick, long m) {
  std::vector<double> v;
  v.reserve(from.size());
  for (double x : from)
    if (x > 0)
      v.push_back(x);
  return gather(v, pick, m, same);
}
double every_other(const std::vector<double> &from, const int *pick, long m) {
  std::vector<double> v;
  v.reserve(from.size());
  for (auto x = from.begin(); x != from.end(); x += 2)
    v.push_back(*x);
  return gather(v, pick, m, same);
}
