// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fuzz.h: shared by all fuzz targets. FUZZ_CHECK ends the process in every build type. The reader
// turns bytes of the input into decisions, and returns zeros after the end.
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);               \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)

namespace smalloc::fuzz {

class Input {
public:
  Input(const uint8_t *data, size_t size) : at_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t byte() {
    if (left_ == 0)
      return 0;
    left_--;
    return *at_++;
  }
  uint16_t word() {
    const uint16_t low = byte();
    return static_cast<uint16_t>(low | byte() << 8);
  }

private:
  const uint8_t *at_;
  size_t left_;
};

} // namespace smalloc::fuzz
#endif
