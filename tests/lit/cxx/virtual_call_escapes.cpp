// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object passed to a virtual function escapes.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: undecided: new[] of {{.*}}its pointer leaves the unit
struct sink {
  virtual void take(char *) = 0;
};
void f(sink *s, long n) { s->take(new char[n]); }
