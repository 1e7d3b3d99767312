// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function without a loop that looks up a table at an index computed in
// floating point, as an interpolation does, picks at random: its callers give any number. They may
// count up an integer that is scaled.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages{{.*}} in '{{.*}}Spline{{.*}}': picked at random through computed indices in calls of
// CHECK-DAG: superpages{{.*}} in '{{.*}}Surface{{.*}}': picked at random through computed indices in calls of
// CHECK-DAG: undecided: {{.*}} in '{{.*}}Zoomed{{.*}}': streamed
#include <cmath>
#include <cstddef>
struct Spline {
  float *values;
  float scale;
  explicit Spline(std::size_t n) : values(new float[n]), scale(float(n)) {
    for (std::size_t i = 0; i < n; ++i)
      values[i] = 1;
  }
  float at(float x) const;
};
float Spline::at(float x) const { return values[std::size_t(x * scale)]; }
struct Surface {
  double *values;
  int columns;
  Surface(int rows, int columns) : values(new double[std::size_t(rows) * columns]), columns(columns) {
    for (std::size_t i = 0; i < std::size_t(rows) * columns; ++i)
      values[i] = 1;
  }
  double at(double x, double y) const;
};
double Surface::at(double x, double y) const {
  const int row = int(std::floor(y)), column = int(std::floor(x));
  return values[std::size_t(row) * columns + column];
}
Spline *spline(std::size_t n) { return new Spline(n); }
Surface *surface(int n) { return new Surface(n, n); }
struct Zoomed {
  float *values;
  explicit Zoomed(std::size_t n) : values(new float[n]) {
    for (std::size_t i = 0; i < n; ++i)
      values[i] = 1;
  }
  float at(int x) const;
};
float Zoomed::at(int x) const { return values[std::size_t(float(x) * 0.5f)]; }
Zoomed *zoomed(std::size_t n) { return new Zoomed(n); }
