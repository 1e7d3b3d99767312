// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a nest that loads an array's pointer and stride anew in each row fills all of the array. The program
// announces it before the nest, or in the first row if it cannot load the fields before; not if the nest may change them.
// RUN: %clang -O2 -fno-discard-value-names -S -emit-llvm -o - %s | FileCheck %s

struct grid {
  long columns, filled;
  long *cell;
};
void log_row(long);

// CHECK-LABEL: define {{.*}}@reloaded(
// CHECK-NOT: phi
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: phi
void reloaded(struct grid *g, long rows, long columns) {
  for (long i = 0; i < rows; i++) {
    long *row = g->cell + i * g->columns;
    for (long j = 0; j < columns; j++)
      row[j] = i ^ j;
  }
}
// CHECK-LABEL: define {{.*}}@some_rows(
// CHECK: %smalloc.first = phi i{{1|64}} [ {{true|%[^,]*}}, %{{[^ ]*}} ], [ {{false|0}}, %{{[^ ]*}} ]
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void some_rows(struct grid *g, const long *columns, long rows) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < columns[0]; j++)
      g->cell[i * g->columns + j] = i ^ j;
}
// CHECK-LABEL: define {{.*}}@counts_rows(
// CHECK-NOT: %smalloc.first
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void counts_rows(struct grid *g, long rows, long columns) {
  for (long i = 0; i < rows; i++) {
    long *row = g->cell + i * g->columns;
    for (long j = 0; j < columns; j++)
      row[j] = i ^ j;
    g->filled++;
  }
}
// CHECK-LABEL: define {{.*}}@calls(
// CHECK-NOT: %smalloc.first
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void calls(struct grid *g, long rows, long columns) {
  for (long i = 0; i < rows; i++) {
    long *row = g->cell + i * g->columns;
    for (long j = 0; j < columns; j++)
      row[j] = i ^ j;
    log_row(i);
  }
}
// CHECK-LABEL: define {{.*}}@moves_on(
// CHECK-NOT: %smalloc.first
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void moves_on(struct grid *g, long **other, long rows, long columns) {
  for (long i = 0; i < rows; i++) {
    long *row = g->cell + i * g->columns;
    for (long j = 0; j < columns; j++)
      row[j] = i ^ j;
    other[i] = row;
  }
}
