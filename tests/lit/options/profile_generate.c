// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a directory that cannot be passed on in SMALLOC_CONF is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-generate=a,b' %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-generate' %s
// RUN: %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-generate=%t.d' %s
// Without optimisation nothing is instrumented: that is said, and is no error.
// RUN: %clang -O0 -Werror -c -o %t.o '-fplugin-arg-smalloc-profile-generate' %s 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-generate' %s 2>&1 | count 0
// CHECK: error: smalloc: invalid value 'a,b' of plugin option 'profile-generate': expected a directory
// PLAIN: smalloc: warning: profile-generate without optimisation (-O0): no access of this unit will be recorded
int x;
