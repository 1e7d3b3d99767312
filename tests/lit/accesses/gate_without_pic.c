// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the library's weak entry is loaded from the GOT also with -fno-pie: a preload can switch it on.
// RUN: %clang -O2 -fno-pie -fno-pic -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck --check-prefix=IR %s
// RUN: %clang -O2 -fno-pie -fno-pic -fplugin-arg-smalloc-profile-generate -S -o - %s | FileCheck --check-prefix=ASM %s
// IR: @__smalloc_v1_gate5 = linkonce_odr hidden externally_initialized global { i32, i32, i64, ptr, ptr, ptr, ptr, i64, i64, ptr, ptr, ptr } { i32 4, i32 88, i64 0,
// IR-NOT: declare extern_weak dso_local
// IR: declare extern_weak void @__smalloc_v1_open_gate(
// ASM: __smalloc_v1_open_gate@GOTPCREL(%rip)
long get(const long *p) { return *p; }
