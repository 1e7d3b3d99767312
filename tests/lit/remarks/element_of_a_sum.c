// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the element size of (n + 1) * sizeof(T) is known.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: malloc of n*24 bytes in 'f'
#include <stdlib.h>
void *f(long n) { return malloc((n + 1) * 24); }
