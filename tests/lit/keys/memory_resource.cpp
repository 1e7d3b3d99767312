// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what a program's memory resource allocates is known to other units as the
// result of the virtual function by which containers of std::pmr request memory.
// REQUIRES: llvm-21
// RUN: %clangxx -std=c++17 -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-DAG: flow {{.*}} -> [[RESULT:[0-9a-f]+]] result of virtual function 2 of _ZNSt3pmr15memory_resourceE
// CHECK-DAG: flow [[RESULT]] -> {{.*}} to-contents
#include <cstdlib>
#include <memory_resource>
#include <vector>
class Counted : public std::pmr::memory_resource {
  void *do_allocate(std::size_t bytes, std::size_t) override;
  void do_deallocate(void *p, std::size_t, std::size_t) override;
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override;
};
void *Counted::do_allocate(std::size_t bytes, std::size_t) { return std::malloc(bytes); }
void Counted::do_deallocate(void *p, std::size_t, std::size_t) { std::free(p); }
bool Counted::do_is_equal(const std::pmr::memory_resource &other) const noexcept {
  return this == &other;
}
struct Simulation {
  std::pmr::vector<double> values;
  explicit Simulation(std::pmr::memory_resource *memory) : values(memory) {}
  void start(std::size_t n);
};
void Simulation::start(std::size_t n) { values.reserve(n); }
