#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Attributes that a program gave the pages of a big object (advice, protection, locks, policies,
# names, mappings of its own) do not reach the next object in the same memory. Memory without
# attributes is still kept for the next object.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t -fno-builtin <<'E'
#include "runtime_sites.h"
#include <linux/userfaultfd.h>
#include <malloc.h>
#pragma weak smalloc_stats
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
TEST_SITE(hot, SMALLOC_DECISION_SUPERPAGE, 0, 0);
#define BYTES (8 * MIB)
static char *part; /* the pages with the attribute */
static size_t part_bytes;
static int advise(int advice) { return madvise(part, part_bytes, advice); }
static int dontfork(void) { return advise(MADV_DONTFORK); }
static int dontdump(void) { return advise(MADV_DONTDUMP); }
static int wipeonfork(void) { return advise(MADV_WIPEONFORK); }
static int mergeable(void) { return advise(MADV_MERGEABLE); }
static int random_order(void) { return advise(MADV_RANDOM); }
static int read_only(void) { return mprotect(part, part_bytes, PROT_READ); }
static int none(void) { return mprotect(part, part_bytes, PROT_NONE); }
static int executable(void) { return mprotect(part, part_bytes, PROT_READ | PROT_WRITE | PROT_EXEC); }
static int locked(void) { return mlock(part, part_bytes < MIB ? part_bytes : MIB); }
static int named(void) { return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, part, part_bytes, "owner"); }
static int key(void) {
  static int key = -2;
  if (key == -2) key = pkey_alloc(0, 0);
  return key < 0 ? -1 : pkey_mprotect(part, part_bytes, PROT_READ | PROT_WRITE, key);
}
static int bound(void) { /* MPOL_BIND to node 0 */
  unsigned long nodes = 1;
  return (int)syscall(SYS_mbind, part, part_bytes, 2, &nodes, 64, 0);
}
static int mapped(void) {
  return mmap(part, part_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
}
static int watched(void) {
  static int fd = -1;
  if (fd < 0) {
    struct uffdio_api api = {.api = UFFD_API};
    fd = (int)syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) return -1;
  }
  struct uffdio_register range = {.range = {(uintptr_t)part, part_bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  return ioctl(fd, UFFDIO_REGISTER, &range);
}
static const struct { const char *name; int (*act)(void); } ways[] = {
    {"MADV_DONTFORK", dontfork}, {"MADV_DONTDUMP", dontdump}, {"MADV_WIPEONFORK", wipeonfork},
    {"MADV_MERGEABLE", mergeable}, {"MADV_RANDOM", random_order},
    {"PROT_READ", read_only}, {"PROT_NONE", none}, {"PROT_EXEC", executable}, {"mlock", locked},
    {"name", named}, {"protection key", key}, {"mbind", bound}, {"MAP_FIXED", mapped}, {"userfaultfd", watched}};
/* The kernel sets soft-dirty; libsmalloc sets advice on superpages. */
static void plain(char *text) {
  const char *const flags[] = {"sd ", "hg ", "nh "};
  for (int i = 0; i < 3; i++)
    for (char *at; (at = strstr(text, flags[i])) != NULL;) memmove(at, at + 3, strlen(at + 3) + 1);
}
/* All of smaps and numa_maps about the mappings under an object, but amounts of memory. */
static void describe(const char *p, char *text, size_t capacity) {
  static char line[1024];
  *text = 0;
  FILE *f = fopen("/proc/self/smaps", "r");
  for (int inside = 0; fgets(line, sizeof line, f);) {
    unsigned long from, to;
    char protection[8], name[256] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255[^\n]", &from, &to, protection, name) >= 3) {
      inside = from < (uintptr_t)p + BYTES && to > (uintptr_t)p;
      if (inside) snprintf(line, sizeof line, "%s%s ", protection, name);
    } else if (inside && strncmp(line, "VmFlags:", 8) && strncmp(line, "ProtectionKey:", 14)) {
      continue;
    }
    plain(line);
    if (inside && !strstr(text, line)) strncat(text, line, capacity - strlen(text) - 1);
  }
  fclose(f);
  int policy = -1;
  if (syscall(SYS_get_mempolicy, &policy, NULL, 0, p + BYTES / 2, 2 /* MPOL_F_ADDR */) == 0)
    snprintf(text + strlen(text), capacity - strlen(text), " policy %d", policy);
}
static char *(*allocate)(void);
static char *of_malloc(void) { return (char *)aligned_alloc(4096, BYTES); }
static char *of_site(void) { return (char *)site_malloc(&hot, BYTES); }
int main(void) {
  static char fresh[1 << 14], now[1 << 14];
  char *(*const sources[])(void) = {of_malloc, of_site};
  void *live = site_malloc(&hot, 600 * MIB);
  int wrong = 0, done = 0;
  for (int s = 0; s < 2; s++) {
    allocate = sources[s];
    int all_ours = 1;
    for (int i = 0; i < 20; i++) { /* until reuse is proved */
      char *p = allocate();
      all_ours &= ours(p);
      memset(p, 1, BYTES), free(p);
    }
    if (!all_ours) continue; /* under heap:guest the program's malloc serves smaller objects */
    struct smalloc_statistics before = {.bytes = sizeof before}, after = {.bytes = sizeof after};
    smalloc_stats(&before);
    free(allocate());
    smalloc_stats(&after);
    CHECK(after.pages_released - before.pages_released < BYTES / 4096);
    for (unsigned w = 0; w < sizeof ways / sizeof *ways; w++)
      for (int parts = 0; parts < 3; parts++) { /* all pages that the object touches, all of its own, one */
        malloc_trim(0);
        char *p = allocate();
        memset(p, 1, BYTES);
        describe(p, fresh, sizeof fresh);
        char *first = (char *)((uintptr_t)p & ~(uintptr_t)4095), *end = p + malloc_usable_size(p);
        if (parts) first += first < p ? 4096 : 0, end = (char *)((uintptr_t)end & ~(uintptr_t)4095);
        part = parts == 2 ? first + 5 * 4096 : first;
        part_bytes = parts == 2 ? 4096 : (size_t)((end - first + 4095) & ~4095);
        if (ways[w].act() != 0) {
          if (!parts) printf("not here: %s (%s)\n", ways[w].name, strerror(errno));
          free(p);
          break;
        }
        done++;
        if (parts == 1 && (w < 5)) p = (char *)realloc(p, BYTES - 3 * MIB); /* the rest must be clean, too */
        free(p);
        for (int i = 0; i < 3; i++) {
          p = allocate();
          if (ways[w].act != watched) memset(p, 2, BYTES);
          describe(p, now, sizeof now);
          if (strcmp(fresh, now)) {
            fprintf(stderr, "%s, part %d, source %d: fresh memory is\n%snow it is\n%s", ways[w].name, parts, s, fresh, now);
            wrong++;
            i = 3;
          }
          free(p);
        }
      }
  }
  free(live);
  printf("attributes %d wrong %d\n", done, wrong);
  return wrong != 0;
}
E
for conf in heap:auto heap:superpage heap:guest; do
  SMALLOC_CONF=populate:always,$conf ours expect_status 0 ./t
  [ "$(sed -n 's/attributes \([0-9]*\) .*/\1/p' out)" -ge 20 ] || { cat out; fail "$conf: hardly an attribute could be set"; }
done
grep 'not here' out || true
