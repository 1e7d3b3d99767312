// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an unknown key is an error that lists the known ones.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-speed=9' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: unknown plugin option 'speed': expected heap, model, machine, rewrite, root, layout, first-touch, profile-generate, profile-use, sites, coverage or numa
int x;
