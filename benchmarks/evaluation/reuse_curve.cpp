// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reuse_curve: prints the reuse distances of a recorded trace as a curve, once in base pages and
// once in superpages. The distance of an access is the number of other pages used since the last
// use of its page. So a fully associative LRU TLB of N entries misses the accesses whose distance
// is N or more.
//
//   reuse_curve TRACE        prints JSON
//
// Misses include first accesses. Accesses to the page of the access before are hits of any TLB.
#include "runtime/reuse/distance_counter.h"
#include "runtime/trace/reader.h"

#include <cstdio>
#include <exception>
#include <vector>

namespace {

using namespace smalloc;

constexpr unsigned kShifts[] = {12, 21}; // base pages, superpages
constexpr unsigned kPointsPerOctave = 4;
constexpr uint64_t kMostEntries = uint64_t{1} << 18;

// Returns the numbers of entries, each once, in steps of a quarter of an octave.
std::vector<uint64_t> entries() {
  std::vector<uint64_t> found;
  for (uint64_t octave = 1; octave <= kMostEntries; octave *= 2)
    for (unsigned i = 0; i < kPointsPerOctave; i++) {
      const uint64_t n = octave + octave * i / kPointsPerOctave;
      if ((found.empty() || n > found.back()) && n <= kMostEntries)
        found.push_back(n);
    }
  return found;
}

void print(const char *name, const reuse::DistanceCounter &counter, double accesses) {
  std::printf("\"%s\": {\"pages\": %llu, \"misses\": [", name,
              static_cast<unsigned long long>(counter.distinct_pages()));
  const char *separator = "";
  for (uint64_t n : entries()) {
    std::printf("%s[%llu, %.9g]", separator, static_cast<unsigned long long>(n),
                counter.misses(n) / accesses);
    separator = ", ";
  }
  std::printf("]}");
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 2) {
    std::fputs("usage: reuse_curve TRACE\n", stderr);
    return 2;
  }
  trace::Reader reader(argv[1]);
  reuse::DistanceCounter base, superpages;
  std::vector<uint64_t> pages[2];
  double accesses = 0;
  reader.read([&](const trace::Event &e) {
    if (e.type != trace::Type::kAccess)
      return;
    for (int i = 0; i < 2; i++) {
      pages[i].clear();
      for (const trace::AccessRun &run : e.accesses)
        pages[i].push_back(run.address >> kShifts[i]);
    }
    for (const trace::AccessRun &run : e.accesses)
      accesses += 1 + static_cast<double>(run.repeats);
    base.access(pages[0]);
    superpages.access(pages[1]);
  });
  std::printf("{\"accesses\": %.0f, \"rate\": %g, ", accesses, reader.rate());
  print("base", base, accesses);
  std::printf(", ");
  print("superpages", superpages, accesses);
  std::puts("}");
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "reuse_curve: error: %s\n", error.what());
  return 1;
}
