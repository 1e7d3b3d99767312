// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function whose address stays in the unit has the unit's callers alone, here with memory on the stack; one
// that a constant of other units leads to, or that unknown code is handed, has others, with memory that nothing is known of.
// RUN: rm -rf %t && mkdir %t && %clang -O2 -fplugin-arg-smalloc-coverage=%t -c -o %t/o %s
// RUN: %python -c "import glob, json; print(sorted(json.load(open(glob.glob('%t/*.json')[0]))['unnamed_in']))" | FileCheck %s
// CHECK: ['handed_on', 'in_exported', 'sorted_by', 'used_by_name']
#include <stdlib.h>
struct operations {
  double (*run)(const double *, long);
};
#define SUM(NAME) \
  static double NAME(const double *a, long n) { \
    double s = 0; \
    for (long i = 0; i < n; i++) \
      s = s * a[i] + 1; \
    return s; \
  }
SUM(in_own)
SUM(in_other)
SUM(in_exported)
SUM(handed_on)
__attribute__((used)) SUM(used_by_name)
static int sorted_by(const void *a, const void *b) {
  const double *x = a, *y = b;
  for (int k = 0; k < 100; k++)
    if (x[k] != y[k])
      return x[k] < y[k] ? -1 : 1;
  return 0;
}
static const struct operations own[] = {{in_own}, {in_other}, {used_by_name}};
static const struct operations hidden = {in_exported};
const struct operations *const exported = &hidden;
void keep(double (*)(const double *, long));
double f(int kind) {
  double a[300];
  for (int i = 0; i < 300; i++)
    a[i] = i * kind % 7;
  keep(handed_on);
  qsort(a, 3, 100 * sizeof(double), sorted_by);
  return own[kind].run(a, 300) + handed_on(a, 300);
}
