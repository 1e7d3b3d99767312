/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * report.h: the last line of a bloat program: bytes live, resident now and at the peak, in file
 * pages (code: all processes share it, and the kernel maps varying parts around a fault), on
 * superpages, in pages with a live byte, and a checksum that is the same under every allocator. */
#ifndef BLOAT_REPORT_H
#define BLOAT_REPORT_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
static struct {
  unsigned long long resident, peak, file, superpages;
  uint64_t *page; /* of live objects, once for each object in the page */
  size_t pages;
} bloat_seen;
/* Measures, and reserves room for the `objects` objects that bloat_live will report. */
static inline void bloat_measure(size_t objects, size_t most_bytes) {
  bloat_seen.resident = bloat_field("/proc/self/status", "VmRSS:");
  bloat_seen.peak = bloat_field("/proc/self/status", "VmHWM:");
  bloat_seen.file = bloat_field("/proc/self/status", "RssFile:");
  bloat_seen.superpages = bloat_field("/proc/self/smaps_rollup", "AnonHugePages:");
  if (objects)
    bloat_seen.page =
        (uint64_t *)mmap(NULL, objects * (most_bytes / 4096 + 2) * sizeof *bloat_seen.page,
                         PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bloat_seen.page == MAP_FAILED)
    bloat_check(NULL);
}
static inline void bloat_live(const void *p, size_t bytes) {
  for (uint64_t page = (uintptr_t)p / 4096; page <= ((uintptr_t)p + bytes - 1) / 4096; page++)
    bloat_seen.page[bloat_seen.pages++] = page;
}
static inline int bloat_order(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}
/* Bytes of pages with a live byte: the minimum of an allocator that moves no objects. */
static inline unsigned long long bloat_page_bytes(void) {
  unsigned long long distinct = 0;
  qsort(bloat_seen.page, bloat_seen.pages, sizeof *bloat_seen.page, bloat_order);
  for (size_t i = 0; i < bloat_seen.pages; i++)
    distinct += i == 0 || bloat_seen.page[i] != bloat_seen.page[i - 1];
  return distinct * 4096;
}
static inline void bloat_report(const char *program, uint64_t live_bytes, uint64_t checksum) {
  if (!bloat_seen.resident)
    bloat_measure(0, 0);
  printf("%s live_bytes=%llu resident_bytes=%llu peak_bytes=%llu file_bytes=%llu "
         "superpage_bytes=%llu live_page_bytes=%llu checksum=%016llx\n",
         program, (unsigned long long)live_bytes, bloat_seen.resident, bloat_seen.peak,
         bloat_seen.file, bloat_seen.superpages, bloat_page_bytes(), (unsigned long long)checksum);
}
#endif
