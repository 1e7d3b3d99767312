/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * live.h is the layout of the statistics page by which `smalloc stats PID` reads a running process'
 * superpage heaps. The page is a memory file (memfd_create) that libsmalloc maps over its own
 * counters when the heaps start. Counting costs no more than before, and the process takes no part
 * in reading.
 *
 *  - A reader opens it through /proc/PID/fd, so the kernel controls access: the same user, and only
 *    if the process may be traced. Its mode is 0600. It has no name in any file system, so nothing
 *    stays behind, however the process ends.
 *  - All integers are in the byte order of the machine. The program writes changing ones with
 *    relaxed atomics. A reader copies the file and must not trust it: offsets may point anywhere.
 *  - The page itself contains the names of the counters, so a reader also shows counters that it
 *    does not know.
 */
#ifndef SMALLOC_LIVE_H
#define SMALLOC_LIVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMALLOC_LIVE_NAME "smalloc-stats" /* /proc/PID/fd/N -> "/memfd:smalloc-stats (deleted)" */
#define SMALLOC_LIVE_MAGIC UINT64_C(0x314556494c4d53) /* "SMLIVE1" */
#define SMALLOC_LIVE_VERSION 3u
/* Size of the whole file; pages that were never written do not exist. */
#define SMALLOC_LIVE_BYTES (128u << 10)
#define SMALLOC_LIVE_HEAPS 8u
#define SMALLOC_LIVE_COUNTERS 128u
#define SMALLOC_LIVE_SITES 512u

/* How live bytes of a site's small objects are known. */
enum smalloc_live_tracking {
  SMALLOC_LIVE_BIG = 0,     /* only objects of 2 MiB and more, exactly */
  SMALLOC_LIVE_SAMPLED = 1, /* big ones exactly, small ones estimated: one sample per
                               sample_bytes allocated; relative standard error
                               sqrt(sample_bytes / live bytes) */
  SMALLOC_LIVE_EXACT = 2,   /* debug:on, abort:true: every object is known */
};

/* The agent's decision for a site (docs/reference.md). */
enum smalloc_live_agent {
  SMALLOC_LIVE_NO_DIRECTIVE = 0,
  SMALLOC_LIVE_BASE = 1,     /* the program's malloc */
  SMALLOC_LIVE_TAKEN = 2,    /* superpages */
  SMALLOC_LIVE_DEFERRED = 3, /* worth it, but does not fit now */
};
/* Value of why_less: the object gets superpages when it is filled, or is to have none; no request
 * was refused. */
#define SMALLOC_LIVE_FILLED_FIRST 255u
/* Why the agent decided so. */
enum smalloc_live_policy {
  SMALLOC_LIVE_NO_AGENT = 0,
  SMALLOC_LIVE_SAME_INPUT = 1,
  SMALLOC_LIVE_OTHER_INPUT = 2,
  SMALLOC_LIVE_ALL_BASE = 3, /* the program was slower with superpages than without */
};

/* A slice of the reserved range, which holds one heap's memory of one kind. */
struct smalloc_live_heap {
  uint64_t start, end; /* addresses */
  uint32_t name;       /* offset of a string */
  uint32_t reserved;
};

struct smalloc_live_site {
  uint64_t id; /* site.h; 0 and function "": objects without a site (C interface, preload by
                  size) */
  uint32_t function, file; /* offsets of strings; linkage name */
  uint32_t line;
  uint32_t small_seen; /* 1: the site has small objects; `tracking` says how their live bytes are
                          known */
  uint64_t requested_bytes;        /* as of the last slow path, not of the last call */
  uint64_t live_bytes, peak_bytes; /* known as `tracking` says */
  uint64_t live_objects;           /* big ones, and with exact tracking all */
  uint64_t superpages;             /* under its big objects */
  uint64_t superpages_peak;
  uint32_t agent, superpages_predicted; /* enum smalloc_live_agent; the profile's prediction */
  uint32_t page_shift; /* log2 of the page size that the directive names; 0: none */
  /* Why its latest big object had fewer superpages at first touch than fit: 1 + WhyNot
   * (counters.h); SMALLOC_LIVE_FILLED_FIRST; 0: it had all. */
  uint32_t why_less;
};

struct smalloc_live_header {
  uint64_t magic;
  uint32_t version;
  uint32_t bytes; /* size of this header */
  uint32_t pid; /* as the process sees itself: a process with another pid has inherited the page */
  uint32_t tracking;
  uint64_t started_ns; /* CLOCK_REALTIME when the heaps started */
  uint64_t sample_bytes;
  uint32_t strategy;                   /* enum smalloc_heap_strategy */
  uint32_t machine, thp, version_text; /* offsets of strings */
  uint32_t heap_count, heaps;          /* number, offset of struct smalloc_live_heap[] */
  uint32_t counter_count, counter_names, counters; /* uint32_t[] offsets of strings; uint64_t[] */
  uint32_t site_count, sites;                      /* struct smalloc_live_site[] */
  uint32_t strings, strings_used, strings_capacity;
  uint32_t policy;          /* enum smalloc_live_policy */
  uint32_t bar_thousandths; /* thousandths of a percent: least PMB while other programs want
                               superpages too */
  uint32_t agent_phases;    /* number of decisions that changed while the program ran */
  uint64_t agent_supply, agent_claimed, agent_used; /* superpages: expected, claimed by others,
                                                       used by this process */
};

#ifdef __cplusplus
}
#endif
#endif
