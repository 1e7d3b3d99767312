// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what must not be instrumented is not: -O0, sanitizers, other object formats, functions that opt out.
// RUN: %clang -O0 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -fsanitize=address -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 --target=x86_64-pc-windows-msvc -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -DOPT_OUT='__attribute__((no_profile_instrument_function))' -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
#ifndef OPT_OUT
#define OPT_OUT
#endif
OPT_OUT long get(const long *p) { return *p; }
