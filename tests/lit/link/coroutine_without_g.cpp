// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a coroutine that another function of the unit resumes compiles for the link without -g: the calls of its parts,
// which coroutine intrinsics become, have locations where their callees have.
// RUN: %clangxx -std=c++20 -O2 -flto -c -o %t.full.o %s
// RUN: %opt -passes=verify -disable-output %t.full.o
// RUN: %clangxx -std=c++20 -O1 -flto=thin -c -o %t.thin.o %s
// RUN: %opt -passes=verify -disable-output %t.thin.o
#include <coroutine>
#include <vector>
struct Generator {
  struct promise_type {
    int value;
    Generator get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int x) {
      value = x;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
  ~Generator() { handle.destroy(); }
};
Generator all(int n) {
  std::vector<int> a(n);
  for (int i = 0; i < n; i++)
    co_yield a[i];
}
int sum(int n) {
  Generator g = all(n);
  int s = 0;
  while (!g.handle.done()) {
    g.handle.resume();
    s += g.handle.promise().value;
  }
  return s;
}
