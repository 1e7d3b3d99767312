// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reuse_speed: measures the speed of the reuse-distance engines, and the error of the sampled
// curves. The input is Zipf (exponent 0.8) accesses to 10 K, 200 K and 2 M pages, one thread,
// prepared before the clock starts.
//
// usage: reuse_speed [ACCESSES] (default 10,000,000); prints JSON.
#include "benchmarks/shards.h"
#include "runtime/reuse/distance_counter.h"
#include "runtime/reuse/marker_list.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using namespace smalloc::reuse;

namespace {

std::vector<uint64_t> zipf(uint64_t pages, size_t length) {
  std::vector<double> sums(pages);
  double sum = 0;
  for (uint64_t k = 0; k < pages; k++)
    sums[k] = sum += std::pow(static_cast<double>(k + 1), -0.8);
  std::mt19937_64 random(1);
  std::vector<uint64_t> place(pages);
  for (uint64_t k = 0; k < pages; k++)
    place[k] = k;
  std::shuffle(place.begin(), place.end(), random);
  std::vector<uint64_t> stream(length);
  std::uniform_real_distribution<double> pick(0, sum);
  for (uint64_t &page : stream)
    page = place[std::min<size_t>(
        static_cast<size_t>(std::lower_bound(sums.begin(), sums.end(), pick(random)) -
                            sums.begin()),
        pages - 1)];
  return stream;
}

constexpr uint64_t kCapacities[] = {64, 256, 1024, 1536, 2048, 3072, 4096, 16384};

double mean_error(const Engine &engine, const DistanceCounter &exact, uint64_t pages) {
  double sum = 0;
  for (int i = 1; i <= 32; i++)
    sum += std::abs(engine.miss_ratio(pages * static_cast<uint64_t>(i) / 32) -
                    exact.miss_ratio(pages * static_cast<uint64_t>(i) / 32));
  return sum / 32;
}

} // namespace

int main(int argc, char **argv) {
  const size_t length = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000000;
  if (length == 0) {
    std::fprintf(stderr, "reuse_speed: error: accesses (%s): not a positive number\n", argv[1]);
    return 2;
  }
  std::printf("{\"schema\": \"smalloc.reuse-speed/1\", \"accesses\": %zu, \"results\": [", length);
  const char *separator = "";
  for (uint64_t pages : {uint64_t{10000}, uint64_t{200000}, uint64_t{2000000}}) {
    const std::vector<uint64_t> stream = zipf(pages, length);
    DistanceCounter exact;
    const auto run = [&](const char *name, Engine &engine) {
      const auto start = std::chrono::steady_clock::now();
      for (size_t i = 0; i < stream.size(); i += 4096)
        engine.access({stream.data() + i, std::min<size_t>(4096, stream.size() - i)});
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::printf(
          "%s\n  {\"engine\": \"%s\", \"pages\": %llu, \"million_accesses_per_second\": %.1f, "
          "\"memory_bytes\": %zu",
          separator, name, static_cast<unsigned long long>(pages),
          static_cast<double>(length) / seconds / 1e6, engine.memory_bytes());
      separator = ",";
    };
    run("distance-counter", exact);
    std::printf(", \"mean_miss_ratio_error\": 0}");
    MarkerList list({std::begin(kCapacities), std::end(kCapacities)});
    run("marker-list-8", list);
    double worst = 0;
    for (uint64_t capacity : kCapacities)
      worst = std::max(worst, std::abs(list.miss_ratio(capacity) - exact.miss_ratio(capacity)));
    std::printf(", \"mean_miss_ratio_error\": %g}", worst);
    const auto estimate = [&](const char *name, Engine &engine) {
      run(name, engine);
      std::printf(", \"mean_miss_ratio_error\": %.4f}", mean_error(engine, exact, pages));
    };
    ShardsFixedRate tenth(0.1, 0), hundredth(0.01, 0);
    estimate("shards-rate-0.1", tenth);
    estimate("shards-rate-0.01", hundredth);
    ShardsFixedSize adapted(4096, 0, 0.01);
    estimate("shards-least-4096-rate-0.01", adapted);
    ShardsFixedSize sized(8192, 0);
    estimate("shards-size-8192", sized);
  }
  std::printf("\n]}\n");
  return 0;
}
