/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * placed.c: the program for hints at first touch. One thread initialises one object on node 0, and
 * a loop follows that OpenMP would divide. Prints "pages NODE:COUNT ... first NODE last NODE huge
 * KIBIBYTES", from the kernel's information on each page. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPage = 4096, kNodes = 64, kPiece = 512 };

__attribute__((noinline)) static double *make(size_t n) { return malloc(n * sizeof(double)); }

int main(int argc, char **argv) {
  const size_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 16) << 20,
               n = bytes / sizeof(double);
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
#ifdef DIVIDED
  double *a = malloc(n * sizeof(double));
#else
  double *a = make(n);
#endif
  if (!a || sched_setaffinity(0, sizeof first, &first) != 0)
    return 1;
  for (size_t i = 0; i < n; i++)
    a[i] = (double)i;
  size_t on[kNodes] = {0}, pages = bytes / kPage - 1;
  int from = -1, to = -1;
  uintptr_t start = ((uintptr_t)a + kPage - 1) & ~(uintptr_t)(kPage - 1);
  for (size_t at = 0; at < pages; at += kPiece) {
    void *address[kPiece];
    int status[kPiece];
    size_t count = pages - at < kPiece ? pages - at : kPiece;
    for (size_t i = 0; i < count; i++)
      address[i] = (void *)(start + (at + i) * kPage);
    if (syscall(SYS_move_pages, 0, count, address, NULL, status, 0) != 0)
      return 1;
    for (size_t i = 0; i < count; i++)
      if (status[i] >= 0)
        on[status[i]]++;
    if (from < 0)
      from = status[0];
    to = status[count - 1];
  }
  printf("pages");
  for (int i = 0; i < 8; i++)
    printf(" %d:%zu", i, on[i]);
  double sum = 0;
#ifdef DIVIDED /* with numa=hints this loop names the node of each share */
#pragma omp parallel for
  for (size_t i = 0; i < n; i++)
    a[i] += 0;
#endif
  for (size_t i = 0; i < n; i++)
    sum += a[i];
  printf(" first %d last %d wrong %d\n", from, to, sum != (double)n * (double)(n - 1) / 2);
  free(a);
  return 0;
}
