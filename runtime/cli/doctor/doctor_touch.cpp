// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_touch.cpp measures the first touch of superpages. If it is too expensive, libsmalloc
// leaves memory to base pages (smalloc/pages/first_touch_cost.h). The trial uses its own memory;
// the first superpages may be cheap because the host still has them.
#include "runtime/cli/doctor/doctor.h"
#include "smalloc/base/clock.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <sys/mman.h>

namespace smalloc::cli {
namespace {

constexpr int kPopulateNow = 23; // MADV_POPULATE_WRITE, Linux 5.14
constexpr size_t kUnit = 2u << 20, kUnits = 64;
constexpr double kLongestMs = 400; // longest measurement

double used_ms() { return static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID)) / 1e6; }

// Returns the CPU time of the first touch of each unit. Returns fewer times after kLongestMs, none
// if the kernel cannot populate.
std::vector<double> touched(size_t units, int advice) {
  const size_t bytes = (units + 1) * kUnit;
  void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::vector<double> took;
  if (map == MAP_FAILED)
    return took;
  char *first = static_cast<char *>(map) + (kUnit - reinterpret_cast<uintptr_t>(map) % kUnit);
  const double began = used_ms();
  bool works = madvise(first, units * kUnit, advice) == 0;
  for (size_t i = 0; works && i < units && used_ms() < began + kLongestMs; i++) {
    const double before = used_ms();
    works = madvise(first + i * kUnit, kUnit, kPopulateNow) == 0;
    if (works)
      took.push_back(used_ms() - before);
  }
  munmap(map, bytes);
  return took;
}

} // namespace

void check_first_touch(const SystemView &system, Checks &checks) {
  const std::string thp =
      system.read("/sys/kernel/mm/transparent_hugepage/enabled").value_or("[never]");
  if (!system.real() || thp.find("[never]") != std::string::npos)
    return;
  std::vector<double> super = touched(kUnits, MADV_HUGEPAGE), base = touched(2, MADV_NOHUGEPAGE);
  if (super.empty() || base.empty()) {
    checks.push_back({"first-touch", Verdict::kOk, nullptr,
                      "first touch of a superpage: not known here: the kernel (before 5.14) or a "
                      "limit of memory does not allow pages to be touched in advance",
                      ""});
    return;
  }
  std::sort(super.begin(), super.end());
  const double least_base = *std::min_element(base.begin(), base.end());
  const auto expensive =
      std::count_if(super.begin(), super.end(), [&](double ms) { return ms > 2 * least_base; });
  const std::string figures = fmt::format("{:.1f} to {:.1f} ms, of its base pages {:.1f} ms",
                                          super.front(), super.back(), least_base);
  if (static_cast<size_t>(expensive) * 8 <= super.size())
    checks.push_back(
        {"first-touch", Verdict::kOk, super.back(), "first touch of a superpage: " + figures, ""});
  else
    checks.push_back(
        {"first-touch", Verdict::kWarn, super.back(),
         fmt::format(
             "first touch of a superpage: {}: expensive for {} of {}, because a hypervisor takes "
             "free memory back or memory is fragmented; smalloc leaves the rest of an object on "
             "base "
             "pages until a loop pays for superpages",
             figures, expensive, super.size()),
         "SMALLOC_CONF=populate:always # where a slow start does not matter"});
}

} // namespace smalloc::cli
