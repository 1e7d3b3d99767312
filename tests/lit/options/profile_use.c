// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: directives that cannot be read, or are none, are an error that names the file.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-use=%t.none' %s 2>&1 | FileCheck --check-prefix=NONE %s
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-use=%s' %s 2>&1 | FileCheck --check-prefix=OTHER %s
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-use=' %s 2>&1 | FileCheck --check-prefix=EMPTY %s
// RUN: echo '# smalloc.directives/12' >%t.later
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-use=%t.later' %s 2>&1 | FileCheck --check-prefix=LATER %s
// LATER: .later): it does not begin with '# smalloc.directives/1'
// NONE: error: smalloc: cannot use the directives of plugin option 'profile-use' ({{.*}}.none): No such file
// NONE: hint: smalloc analyze
// OTHER: ({{.*}}profile_use.c): it does not begin with '# smalloc.directives/1'
// EMPTY: error: smalloc: invalid value '' of plugin option 'profile-use': expected a directives file
int x;
