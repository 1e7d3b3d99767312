/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * report.h decides what a program of the bloat suite says of itself in its last line: bytes live, resident now and at
 * most, on superpages, and a checksum that every allocator must agree on. */
#ifndef BLOAT_REPORT_H
#define BLOAT_REPORT_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t bloat_next(uint64_t *x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  return *x ^= *x << 17;
}
static inline void *bloat_check(void *p) {
  if (!p) {
    perror("malloc");
    exit(1);
  }
  return p;
}
static inline unsigned long long bloat_field(const char *file, const char *name) {
  char line[256];
  unsigned long long kib = 0;
  FILE *f = fopen(file, "r");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, name, strlen(name)) == 0)
      kib = strtoull(line + strlen(name), NULL, 10);
  if (f)
    fclose(f);
  return kib * 1024;
}
static inline void bloat_report(const char *program, uint64_t live_bytes, uint64_t checksum) {
  printf("%s live_bytes=%llu resident_bytes=%llu peak_bytes=%llu superpage_bytes=%llu "
         "checksum=%016llx\n",
         program, (unsigned long long)live_bytes, bloat_field("/proc/self/status", "VmRSS:"),
         bloat_field("/proc/self/status", "VmHWM:"),
         bloat_field("/proc/self/smaps_rollup", "AnonHugePages:"), (unsigned long long)checksum);
}
#endif
