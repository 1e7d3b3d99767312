// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a nest that loads an array's pointer and stride anew in each row fills all of the array. The program
// announces it in the first row, unless the nest may change these fields.
// RUN: %clang -O2 -fno-discard-value-names -S -emit-llvm -o - %s | FileCheck %s

struct grid {
  long columns, filled;
  long *cell;
};
void log_row(long);

// CHECK-LABEL: define {{.*}}@reloaded(
// CHECK: %smalloc.first = phi i{{1|64}} [ {{true|%[^,]*}}, %{{[^ ]*}} ], [ {{false|0}}, %{{[^ ]*}} ]
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void reloaded(struct grid *g, long rows, long columns) {
  for (long i = 0; i < rows; i++) {
    long *row = g->cell + i * g->columns;
    for (long j = 0; j < columns; j++)
      row[j] = i ^ j;
  }
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
