// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the paper's model has no third answer: what no loop of the unit walks is base pages.
// RUN: %core2remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of n bytes in 'f': no loop of this unit walks it
// CHECK-NOT: remark: undecided
#include <stdlib.h>
void *f(long n) { return malloc(n); }
