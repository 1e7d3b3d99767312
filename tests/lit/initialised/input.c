// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a buffer that is filled at once by read, fread or recv of its size is written; one by a part of it is not.
// RUN: %remarks %s 2>&1 | FileCheck %s
// RUN: %remarks -D_FORTIFY_SOURCE=2 %s 2>&1 | FileCheck --check-prefixes=FORTIFIED,%if fortified-by-branch %{BRANCH%} %else %{PLAIN%} %s
// FORTIFIED-DAG: at the first touch since every byte is written: malloc of n bytes in 'by_read'
// PLAIN-DAG: at the first touch since every byte is written: malloc of n bytes in 'by_recv'
// Not seen yet: which of the calls it is shows after the plugin has decided.
// BRANCH-DAG: undecided: malloc of n bytes in 'by_recv'
// CHECK-DAG: at the first touch since every byte is written: malloc of n bytes in 'by_read'
// CHECK-DAG: at the first touch since every byte is written: malloc of n*8 bytes in 'by_fread'
// CHECK-DAG: at the first touch since every byte is written: malloc of n bytes in 'by_recv'
// CHECK-DAG: undecided: malloc of n bytes in 'a_part'
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
char *by_read(int file, size_t n) {
  char *p = malloc(n);
  if (!p || read(file, p, n) < 0)
    return NULL;
  return p;
}
double *by_fread(FILE *file, size_t n) {
  double *p = malloc(n * sizeof *p);
  if (fread(p, sizeof *p, n, file) != n)
    exit(1);
  return p;
}
char *by_recv(int socket, size_t n) {
  char *p = malloc(n);
  recv(socket, p, n, MSG_WAITALL);
  return p;
}
char *a_part(int file, size_t n) {
  char *p = malloc(n);
  if (read(file, p, n / 2) < 0)
    return NULL;
  return p;
}
