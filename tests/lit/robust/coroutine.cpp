// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: coroutines, whose frames are allocated by operator new, are compiled.
// RUN: %clangxx -std=c++20 -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: @__smalloc_v1_thunk__Znwm(
#include <coroutine>
struct task {
  struct promise_type {
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(double x) { value = x; return {}; }
    void return_void() {}
    void unhandled_exception() {}
    double value;
  };
  std::coroutine_handle<promise_type> handle;
};
void keep(double *);
task f(long n, const int *index) {
  double *a = new double[n];
  keep(a);
  for (long i = 0; i < n; i++)
    co_yield a[index[i]];
  delete[] a;
}
