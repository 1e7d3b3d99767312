// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: elements of the type of the array's bounds, or of char, make the compiler load pointer, bounds and strides
// anew in each iteration. The program announces these fills, too; not if the loop itself changes the fields.
// RUN: %clang --target=x86_64-linux-gnu -O2 -fno-discard-value-names -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang --target=x86_64-linux-gnu -O2 -flto=thin -S -emit-llvm -o - %s | opt -passes=verify -disable-output
void free(void *);

struct grid {
  int columns, rows;
  int *cell;
};
struct image {
  int width, height;
  unsigned char *pixel;
};

// CHECK-LABEL: define {{.*}}@elements(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void elements(struct grid *g) {
  for (int i = 0; i < g->rows; i++)
    g->cell[i] = i * 3;
}
// CHECK-LABEL: define {{.*}}@until_the_end(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void until_the_end(struct grid *g) {
  for (int i = 1; i != g->rows; i += 2)
    g->cell[i] = g->cell[i - 1] = i * 3;
}
// All rows in the first: height times width bytes.
// CHECK-LABEL: define {{.*}}@all_rows(
// CHECK: %smalloc.first = phi i1 [ true, %{{.*}} ], [ false, %{{.*}} ]
// CHECK: br i1 %smalloc.first
// CHECK: [[H:%.*]] = load i32
// CHECK: [[W:%.*]] = load i32
// CHECK: mul
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void all_rows(struct image *m) {
  for (int y = 0; y < m->height; y++)
    for (int x = 0; x < m->width; x++)
      m->pixel[y * m->width + x] = x ^ y;
}
// CHECK-LABEL: define {{.*}}@upwards(
// CHECK: %smalloc.first = phi i1
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
void upwards(struct image *m) {
  for (int y = m->height - 1; y >= 0; y--)
    for (int x = 0; x < m->width; x++)
      m->pixel[y * m->width + x] = x ^ y;
}
// CHECK-LABEL: define {{.*}}@three_bytes(
// CHECK: %smalloc.first = phi i1
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK-NOT: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
void three_bytes(struct image *m) {
  for (int y = 0; y < m->height; y++)
    for (int x = 0; x < m->width; x++) {
      unsigned char *p = m->pixel + 3 * (y * m->width + x);
      p[0] = x, p[1] = y, p[2] = x ^ y;
    }
}
// CHECK-LABEL: define {{.*}}@shrinks(
// CHECK-NOT: @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
void shrinks(struct grid *g) {
  for (int i = 0; i < g->rows; i++) {
    g->cell[i] = i * 3;
    g->rows--;
  }
}
// CHECK-LABEL: define {{.*}}@moves(
// CHECK-NOT: @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
void moves(struct grid *g, int **other) {
  for (int i = 0; i < g->rows; i++) {
    g->cell[i] = i * 3;
    *other = &g->cell[i];
  }
}
// CHECK-LABEL: define {{.*}}@under_a_condition(
// CHECK-NOT: @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
void under_a_condition(struct grid *g) {
  for (int i = 0; i < g->rows; i++)
    if (i % 3)
      g->cell[i] = i * 3;
}
// The list's next node is no field of the first.
// CHECK-LABEL: define {{.*}}@nodes(
// CHECK-NOT: @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
struct node {
  struct node *next;
  long rows, sum;
};
void nodes(struct node *n) {
  for (long i = 0; i < n->rows; i++, n = n->next)
    n->sum = i;
}
// The structure is freed in the last iteration, which the point must not reach over.
// CHECK-LABEL: define {{.*}}@gone(
// CHECK-NOT: %smalloc.first
// CHECK: {{^[}]$}}
void gone(struct image *m, void (*use)(int)) {
  int height = m->height;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < m->width; x++)
      m->pixel[y * m->width + x] = x ^ y;
    if (y + 1 == height)
      free(m);
    use(y);
  }
}
// The outer loop cannot be reached over, so the point stands in it. It must not use what the loop loads before that.
// CHECK-LABEL: define {{.*}}@calls(
// CHECK-NOT: %smalloc.first
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
void calls(struct image *m, void (*use)(int), int height) {
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < m->width; x++)
      m->pixel[y * m->width + x] = x ^ y;
    use(y);
  }
}
// What another thread may have freed is not loaded again.
// CHECK-LABEL: define {{.*}}@waits(
// CHECK: load atomic
// CHECK-NOT: load i32
// CHECK: store i8
void waits(struct image *m, _Atomic int *gone, unsigned char *pixel, const char *keeps, int rows) {
  int width = m->width;
  while (!*gone)
    ;
  for (int y = 0; y < rows; y++) {
    for (int x = 0; x < width; x++)
      pixel[y * width + x] = x ^ y;
    if (keeps[y])
      width = m->width;
  }
}
// Another address space.
// CHECK-LABEL: define {{.*}}@of_the_thread(
// CHECK-NOT: @__smalloc_v1_large_fill(
// CHECK: {{^[}]$}}
void of_the_thread(struct image *m) {
  struct image __seg_gs *g = (struct image __seg_gs *)m;
  for (int x = 0; x < g->width; x++)
    g->pixel[x] = x ^ 3;
}
// The outer loop changes the bound of the inner one.
// CHECK-LABEL: define {{.*}}@other_widths(
// CHECK-NOT: %smalloc.first
// CHECK: {{^[}]$}}
void other_widths(struct image *m, void (*next)(struct image *), unsigned char *pixel, long height) {
  for (long y = 0; y < height; y++) {
    next(m);
    for (int x = 0; x < m->width; x++)
      pixel[y * 4096 + x] = x ^ y;
  }
}
