// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stream.cpp has the four kernels and the order of the arrays that they pass over.
#include "runtime/measure/stream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace smalloc::calibrate {
namespace {

constexpr double kScalar = 3;
// Arrays of each kernel as bits: a 1, b 2, c 4.
constexpr unsigned kArrays[] = {1 | 4, 2 | 4, 1 | 2 | 4, 1 | 2 | 4};

struct Free {
  void operator()(double *p) const { std::free(p); }
};
using Array = std::unique_ptr<double, Free>;

// The kernels are out of line, so that the compiler merges none with another.
__attribute__((noinline)) void copy(double *c, const double *a, size_t n) {
  for (size_t i = 0; i < n; i++)
    c[i] = a[i];
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void scale(double *b, const double *c, size_t n) {
  for (size_t i = 0; i < n; i++)
    b[i] = kScalar * c[i];
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void add(double *c, const double *a, const double *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    c[i] = a[i] + b[i];
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void triad(double *a, const double *b, const double *c, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] = b[i] + kScalar * c[i];
  __asm__ volatile("" ::: "memory");
}

} // namespace

std::optional<StreamRates> run_stream(const StreamPlan &plan) {
  const size_t n = std::max<uint64_t>(plan.bytes / 3 / sizeof(double), 1);
  const Array a(static_cast<double *>(std::malloc(n * sizeof(double)))),
      b(static_cast<double *>(std::malloc(n * sizeof(double)))),
      c(static_cast<double *>(std::malloc(n * sizeof(double))));
  if (!a || !b || !c)
    return std::nullopt;
  for (size_t i = 0; i < n; i++) {
    a.get()[i] = 1;
    b.get()[i] = 2;
    c.get()[i] = 0;
  }
  StreamRates rates;
  const auto time = [&](size_t kernel, double arrays, auto &&run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > 0)
      rates.bytes_per_second[kernel] =
          std::max(rates.bytes_per_second[kernel],
                   arrays * static_cast<double>(n * sizeof(double)) / seconds);
  };
  double wanted_a = 1, wanted_b = 2, wanted_c = 0; // values of one element after each kernel
  for (unsigned repeat = 0; repeat < plan.repeats; repeat++) {
    time(0, 2, [&] { copy(c.get(), a.get(), n); });
    time(1, 2, [&] { scale(b.get(), c.get(), n); });
    time(2, 3, [&] { add(c.get(), a.get(), b.get(), n); });
    time(3, 3, [&] { triad(a.get(), b.get(), c.get(), n); });
    wanted_c = wanted_a;
    wanted_b = kScalar * wanted_c;
    wanted_c = wanted_a + wanted_b;
    wanted_a = wanted_b + kScalar * wanted_c;
  }
  const auto all = [&](const Array &array, double wanted) {
    return std::all_of(array.get(), array.get() + n, [&](double value) {
      return std::fabs(value - wanted) <= 1e-9 * std::fabs(wanted);
    });
  };
  rates.correct = all(a, wanted_a) && all(b, wanted_b) && all(c, wanted_c);
  return rates;
}

std::vector<unsigned> stream_passes(const StreamPlan &plan) {
  std::vector<unsigned> passes{1 | 2 | 4}; // the initialisation
  for (unsigned repeat = 0; repeat < plan.repeats; repeat++)
    passes.insert(passes.end(), std::begin(kArrays), std::end(kArrays));
  passes.insert(passes.end(), {1, 2, 4}); // the check of the results
  return passes;
}

} // namespace smalloc::calibrate
