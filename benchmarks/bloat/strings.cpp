// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// strings: a map of strings of mixed lengths, all replaced repeatedly by strings of other lengths.
// Each round also replaces some keys. Prints live bytes against resident bytes: fragmentation.
//   strings [thousands of entries] [rounds] [most bytes of a string]
#include "report.h"

#include <map>
#include <string>

int main(int argc, char **argv) {
  const uint64_t count = (argc > 1 ? strtoull(argv[1], nullptr, 10) : 100) * 1000;
  const unsigned rounds = argc > 2 ? static_cast<unsigned>(strtoul(argv[2], nullptr, 10)) : 20;
  const uint64_t most = argc > 3 ? strtoull(argv[3], nullptr, 10) : 200;
  uint64_t x = 88172645463325252u, sum = 0, live = 0;
  auto text = [&](uint64_t key) {
    return std::string(16 + bloat_next(&x) % (most - 15), static_cast<char>('a' + key % 26));
  };
  std::map<uint64_t, std::string> map;
  for (uint64_t key = 0; key < count; key++)
    map.emplace(key, text(key));
  uint64_t next = count;
  for (unsigned round = 0; round < rounds; round++) {
    for (auto at = map.begin(); at != map.end();) {
      sum += at->second.size() + static_cast<unsigned char>(at->second[0]);
      if (bloat_next(&x) % 8 == 0) { /* the entry itself is replaced */
        at = map.erase(at);
        map.emplace(next, text(next));
        next++;
      } else {
        at->second = text(at->first + round);
        ++at;
      }
    }
  }
  constexpr size_t kNodeHead = 32,
                   kNodeBytes = kNodeHead + sizeof *map.begin(); /* colour and three links first */
  for (const auto &[key, value] : map)
    live += kNodeBytes + value.size() + 1;
  bloat_measure(2 * map.size(), 4096);
  for (const auto &[key, value] : map) {
    bloat_live(reinterpret_cast<const char *>(&key) - kNodeHead, kNodeBytes);
    bloat_live(value.data(), value.size() + 1);
  }
  bloat_report("strings", live, sum);
  return 0;
}
