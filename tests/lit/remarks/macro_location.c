// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the remark of an allocation in a macro stands where the macro is used.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: macro_location.c:7:28: remark: undecided: malloc of n*8 bytes in 'f'
#include <stdlib.h>
#define NEW(type, n) ((type *)malloc((n) * sizeof(type)))
double *f(long n) { return NEW(double, n); }
