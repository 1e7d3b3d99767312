// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a pointer given to an unknown function escapes: its site stays steerable.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: undecided: malloc of n bytes in 'f': no loop of this unit walks it; its pointer leaves the unit, so other units may walk it: watched at run time
#include <stdlib.h>
void keep(void *);
void f(long n) { keep(malloc(n)); }
