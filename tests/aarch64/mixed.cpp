// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mixed.cpp uses C++'s containers from several threads, aligned classes, and an exception out of
// operator new. For the plugin and without it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {
struct alignas(64) Line {
  char text[64];
};

long fill(unsigned seed) {
  std::map<unsigned, std::string> names;
  std::vector<std::unique_ptr<Line>> lines;
  long sum = 0;
  for (unsigned i = 0; i < 5000; i++) {
    names[seed * i % 7919] = std::string(i % 200, 'x');
    lines.push_back(std::make_unique<Line>());
    if (reinterpret_cast<uintptr_t>(lines.back().get()) % alignof(Line) != 0)
      abort();
  }
  for (const auto &[key, name] : names)
    sum += static_cast<long>(name.size()) + key;
  return sum;
}
} // namespace

int main() {
  long sums[4] = {};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; i++)
    threads.emplace_back([&sums, i] { sums[i] = fill(i + 3); });
  for (std::thread &one : threads)
    one.join();
  try {
    std::vector<char> all(static_cast<size_t>(1) << 62);
    std::puts(all.data());
    return 1;
  } catch (const std::bad_alloc &) {
    std::puts("bad_alloc");
  }
  constexpr size_t kCount = size_t{1} << 20;
  double *numbers = new double[kCount];
  for (size_t i = 0; i < kCount; i++)
    numbers[i] = static_cast<double>(i);
  double sum = 0;
  for (size_t i = 0; i < kCount; i++)
    sum += numbers[i * 7919 % kCount];
  delete[] numbers;
  std::printf("%ld %ld %ld %ld %g\n", sums[0], sums[1], sums[2], sums[3], sum);
  return 0;
}
