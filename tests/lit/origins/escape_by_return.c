// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a pointer returned from an external function escapes.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: undecided: malloc of n bytes in 'f': {{.*}}its pointer leaves the unit
#include <stdlib.h>
void *f(long n) { return malloc(n); }
