// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// random_free: many objects of 3 KiB, used at random. Then all but one in twenty are freed, at
// random, and the rest are used further. Shows how much of the emptied superpages stays resident.
//   random_free [thousands of objects]
#include "report.h"
#include <time.h>

enum { kBytes = 3072, kWords = kBytes / 8 };

int main(int argc, char **argv) {
  size_t count = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000, live = 0;
  uint64_t **object = bloat_check(calloc(count, sizeof *object)), x = 88172645463325252u, sum = 0;
  for (size_t i = 0; i < count; i++) {
    object[i] = bloat_check(malloc(kBytes));
    for (size_t k = 0; k < kWords; k++)
      object[i][k] = i + k;
  }
  for (size_t i = 0; i < 4 * count; i++)
    sum += object[bloat_next(&x) % count][i % kWords]++;
  for (size_t i = 0; i < count; i++)
    if (bloat_next(&x) % 20) {
      free(object[i]);
      object[i] = NULL;
    } else {
      live++;
    }
  /* Allocators give memory back with a delay, at later calls (jemalloc within a second, in steps).
   * So the program mostly waits for three seconds. */
  const struct timespec nap = {0, 50000000};
  for (size_t round = 0; round < 60; round++, nanosleep(&nap, NULL))
    for (size_t i = 0; i < count; i++)
      if (object[i] && i % 7 == round % 7) {
        sum += object[i][round % kWords];
        free(object[i]);
        object[i] = bloat_check(malloc(kBytes));
        for (size_t k = 0; k < kWords; k++)
          object[i][k] = i + k;
      }
  bloat_measure(live + count * sizeof *object / kBytes, kBytes);
  for (size_t i = 0; i < count; i++)
    if (object[i])
      bloat_live(object[i], kBytes);
  bloat_live(object, count * sizeof *object);
  bloat_report("random_free", live * kBytes + count * sizeof *object, sum);
  return 0;
}
