// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// unordered_map: counts words (64-bit keys) in a std::unordered_map: 32-byte nodes and a bucket
// array that is rehashed as it grows; then lookups.
//   unordered_map [keys] [lookups]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

} // namespace

int main(int argc, char **argv) {
  std::uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 8000000;
  std::uint64_t lookups = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : keys;
  std::unordered_map<std::uint64_t, std::uint64_t> count;
  for (std::uint64_t i = 0; i < keys; ++i)
    ++count[mix(i)];
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < lookups; ++i) {
    auto it = count.find(mix(mix(i + 1) % (2 * keys)));
    if (it != count.end())
      found += it->second;
  }
  std::printf("unordered_map keys=%zu found=%llu\n", count.size(),
              static_cast<unsigned long long>(found));
}
