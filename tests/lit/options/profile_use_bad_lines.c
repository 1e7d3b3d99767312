// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a line that libsmalloc passes over changes a decision of the compiler.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: printf '# smalloc.directives/1\n0000000000000001 page=2m rank=x\n' >1
// RUN: printf '# smalloc.directives/1\n0000000000000001 page=2m pmb=1e5\n' >2
// RUN: printf '# smalloc.directives/1\n0000000000000001 page=2m pmb=1.2.3\n' >3
// RUN: printf '# smalloc.directives/1\n0000000000000001 page=2m superpages=-1\n' >4
// RUN: printf '# smalloc.directives/1\n0000000000000001 page=2m held=1/1234567890123456789\n' >5
// RUN: printf '# smalloc.directives/1\n0000000000000001 page=2m#comment\n' >6
// RUN: printf '# smalloc.directives/1\n0000000000000001 page=2m\v\n' >7
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=1 %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=2 %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=3 %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=4 %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=5 %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=6 %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=7 %s 2>&1 | FileCheck %s
// RUN: printf '# smalloc.directives/1\tverdict=slower\r\n\t0000000000000001 page=2m rank=1 pmb=1.25 x=a#b held=1/2 #c\r\n   \n' >good
// RUN: %clang -O2 -Rpass-missed=smalloc -c -o x.o -fplugin-arg-smalloc-profile-use=good %s 2>&1 | FileCheck --check-prefix=GOOD --allow-empty %s
// CHECK: :2: 1 line is not a directive
// GOOD-NOT: not a directive
#include <stdlib.h>
void *make(void) { return malloc(1 << 22); }
