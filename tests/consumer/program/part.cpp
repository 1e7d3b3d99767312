// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C++ half of the user's program: a vector of its own, walked with a stride.
#include <cstddef>
#include <vector>

extern "C" double part_sum(const double *matrix, std::size_t n) {
  std::vector<double> copy(matrix, matrix + n * n);
  double sum = 0;
  for (std::size_t start = 0; start < 512; start++)
    for (std::size_t i = start; i < copy.size(); i += 512)
      sum += copy[i];
  return sum;
}
