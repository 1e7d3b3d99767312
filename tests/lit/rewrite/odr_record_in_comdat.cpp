// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the record and cell of an ODR function lie in a COMDAT of their own: one of each in the program.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-DAG: $[[SITE:__smalloc_v1_site_[0-9a-f]+_[0-9a-f]+_0]] = comdat any
// CHECK-DAG: @[[SITE]]_cell = linkonce_odr hidden externally_initialized global {{.*}} comdat($[[SITE]])
// CHECK-DAG: @[[SITE]] = linkonce_odr hidden constant {{.*}} comdat
template <class T> __attribute__((noinline)) T *make(long n) { return new T[n]; }
double *f(long n) { return make<double>(n); }
