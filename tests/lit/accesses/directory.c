// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the directory of profile-generate is in the program; without one it is the working directory.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate=some/where -S -emit-llvm -o - %s | FileCheck --check-prefix=NAMED %s
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck --check-prefix=HERE %s
// NAMED: c"some/where\00"
// HERE: c".\00"
long get(const long *p) { return *p; }
