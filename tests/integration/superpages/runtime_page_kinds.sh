#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The page kinds of the C interface in a program without sites. Small objects get superpages as
# well. Waiting objects are promoted at calls of the interface, and srealloc keeps the kind.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
build kinds.cpp $(linked) <<'E'
#include "runtime_sites.h"
#include <smalloc/smalloc.h>
#include <cstring>
#include <vector>
static smalloc_statistics statistics() {
  smalloc_statistics s{};
  s.bytes = sizeof s;
  smalloc_stats(&s);
  return s;
}
static std::vector<void *> small(size_t bytes, smalloc_pages pages) {
  std::vector<void *> objects;
  for (size_t i = 0; i < bytes / 1000; i++) {
    objects.push_back(smalloc_malloc(1000, pages));
    memset(objects.back(), 1, 1000);
  }
  return objects;
}
static size_t huge(void *p, size_t bytes) { return smaps(p, bytes, "AnonHugePages:"); }
int main(int argc, char **argv) {
  const char *what = argv[argc - 1];
  if (!strcmp(what, "small-base")) { // only heap:migrate moves these by itself
    small(160 * MIB, SMALLOC_BASE);
    CHECK(statistics().superpages_now == 0);
    CHECK(smalloc_heap_freeze() == 0 && smalloc_is_ours(smalloc_malloc(9, SMALLOC_BASE)));
    CHECK(statistics().superpages_now == 0);
    // Later objects come from the superpage heap, and are treated as the migrated ones.
    const long units = smalloc_heap_migrate();
    CHECK(units >= 60 && statistics().superpages_now == static_cast<uint64_t>(units));
    small(300 * MIB, SMALLOC_BASE); // at first touch from 100 MiB a heap on
    CHECK(statistics().superpages_now >= static_cast<uint64_t>(units) + 20);
  } else if (!strcmp(what, "small")) {
    for (smalloc_pages pages : {SMALLOC_SUPERPAGE, SMALLOC_BOTH}) {
      const uint64_t before = statistics().superpages_now;
      small(160 * MIB, pages);
      CHECK(statistics().superpages_now >= before + 20); // at first touch, from 100 MiB on
    }
  } else if (!strcmp(what, "small-eager")) {
    small(40 * MIB, SMALLOC_BOTH);
    CHECK(statistics().superpages_now >= 12);
  } else if (!strcmp(what, "frozen")) {
    small(4 * MIB, SMALLOC_BASE);
    const uint64_t frozen = statistics().small_live_bytes;
    CHECK(smalloc_heap_freeze() == 0);
    // The class heap does not grow: freed units are given back one by one, and not reused.
    void *p = smalloc_malloc(1000, SMALLOC_BASE);
    CHECK(smalloc_is_ours(p) && statistics().small_live_bytes > frozen);
    sfree(p);
  } else if (!strcmp(what, "grown")) {
    char *p = static_cast<char *>(smalloc_malloc(MIB, SMALLOC_BOTH));
    memset(p, 1, MIB);
    p = static_cast<char *>(srealloc(p, 64 * MIB));
    memset(p, 1, 64 * MIB);
    CHECK(huge(p, 64 * MIB) >= 60 * MIB);
    p = static_cast<char *>(srealloc(p, 1000)); // and back again
    CHECK(smalloc_is_ours(p) && p[999] == 1);
    p = static_cast<char *>(srealloc(p, 32 * MIB));
    memset(p, 1, 32 * MIB);
    CHECK(huge(p, 32 * MIB) >= 28 * MIB);
    sfree(p);
    // Base pages stay base pages.
    p = static_cast<char *>(smalloc_malloc(1000, SMALLOC_BASE));
    p = static_cast<char *>(srealloc(p, 32 * MIB));
    memset(p, 1, 32 * MIB);
    CHECK(huge(p, 32 * MIB) == 0);
    p = static_cast<char *>(srealloc(p, 1000));
    CHECK(smalloc_is_ours(p) && p[999] == 1);
    p = static_cast<char *>(srealloc(p, 32 * MIB));
    memset(p, 1, 32 * MIB);
    CHECK(huge(p, 32 * MIB) == 0);
    sfree(p);
  } else if (!strcmp(what, "whole")) {
    char *p = static_cast<char *>(smalloc_malloc(3 * MIB, SMALLOC_SUPERPAGE));
    memset(p, 1, 3 * MIB);
    CHECK(huge(p, 3 * MIB) == 4 * MIB);
    p = static_cast<char *>(srealloc(p, 9 * MIB));
    memset(p, 1, 9 * MIB);
    CHECK(huge(p, 9 * MIB) == 10 * MIB);
    p = static_cast<char *>(srealloc(p, 5 * MIB));
    CHECK(huge(p, 5 * MIB) == 6 * MIB);
    sfree(p);
  } else if (!strcmp(what, "promoted")) {
    char *p = static_cast<char *>(smalloc_malloc(64 * MIB, SMALLOC_BASE));
    memset(p, 1, 64 * MIB);
    CHECK(statistics().superpages_now == 0);
    // Each 1,024th call promotes for 2 ms, which is one unit of the 32 on a slow machine.
    for (int i = 0; i < 64 * 1024; i++)
      sfree(smalloc_malloc(100, SMALLOC_BASE));
    CHECK(statistics().superpages_now >= 30 && huge(p, 64 * MIB) >= 60 * MIB);
  } else if (!strcmp(what, "off")) {
    errno = 0;
    CHECK(smalloc_heap_freeze() == -1 && errno == ENOTSUP);
    errno = 0;
    CHECK(smalloc_heap_migrate() == -1 && errno == ENOTSUP);
  } else {
    return 2;
  }
  puts("ok");
}
E
run_kind() { # CONF WHAT
  SMALLOC_CONF="heap:guest,$1" expect_status 0 ./kinds "$2"
  expect_match out '^ok$'
}
run_kind promote:off,populate:always small-base
run_kind populate:always small
run_kind promote:eager small-eager
run_kind promote:auto frozen
run_kind promote:off,populate:always grown
run_kind promote:off,populate:always whole
run_kind promote:eager promoted
run_kind heap:off off
