/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * smalloc.h is the C interface of libsmalloc: allocation with a chosen page size beside the
 * program's own malloc, which stays. sfree and free accept pointers of both. Any thread may call
 * every function; none changes errno unless it fails. Sizes are bytes.
 *
 * If libsmalloc's heaps cannot serve (SMALLOC_CONF=heap:off, another allocator in front, no address
 * space), the program's malloc serves the request. The kind of page is a wish; the memory is not.
 */
#ifndef SMALLOC_SMALLOC_H
#define SMALLOC_SMALLOC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum smalloc_pages {
  SMALLOC_BASE =
      0, /* base pages; below 2 MiB in the class heap, which smalloc_heap_migrate() can collapse */
  SMALLOC_SUPERPAGE =
      1, /* superpages from the start, the last one whole even when the object ends inside it */
  SMALLOC_BOTH = 2, /* superpages from the start for what fills them, base pages for the tail */
};
/* Objects below 2 MiB share superpages. Those of SMALLOC_SUPERPAGE and SMALLOC_BOTH are in a
 * heap whose units of 2 MiB become superpages as they fill up. From 100 MiB in use on, new units
 * are superpages from the start (heap:auto: from 2 MiB on), if the program fills what it requests.
 * The limit is multiplied by the number of jemalloc's arenas. */

/* Allocates at least `bytes` bytes, aligned for any type; a unique pointer for 0. Returns NULL
 * and sets ENOMEM without memory. Constant time below 2 MiB; above, a search for a free run and
 * one system call. */
void *smalloc_malloc(size_t bytes, enum smalloc_pages pages);
#ifdef __cplusplus
/* In C++ `smalloc` is also a namespace (smalloc.hpp), which a macro with arguments does not
 * affect. */
#define smalloc(bytes, pages) smalloc_malloc((bytes), (pages))
#else
void *smalloc(size_t bytes, enum smalloc_pages pages); /* the same function */
#endif

/* Allocates `count` x `bytes` bytes, zeroed. Returns NULL and sets ENOMEM also if the product
 * overflows. */
void *scalloc(size_t count, size_t bytes, enum smalloc_pages pages);

/* Allocates as aligned_alloc does, for any power of two up to 1 GiB and any size. Returns NULL
 * and sets EINVAL for another alignment. */
void *smemalign(size_t alignment, size_t bytes, enum smalloc_pages pages);

/* Resizes as realloc does; an object keeps its first kind of page. `p` may come from any malloc
 * of the process. srealloc(NULL, n) is smalloc(n, SMALLOC_BOTH); srealloc(p, 0) frees and
 * returns NULL. Objects of 2 MiB and more grow in place or by moving their pages, not their
 * bytes, if the kernel can. On failure returns NULL, sets ENOMEM, and `p` stays valid. */
void *srealloc(void *p, size_t bytes);

/* Frees as free does. Keeps errno. */
void sfree(void *p);

/* Returns the usable bytes at `p`, at least as many as requested; 0 for NULL. `p` may come from
 * any malloc of the process. */
size_t smalloc_usable_size(const void *p);

/* Returns 1 if `p` is memory of libsmalloc's heaps, else 0. */
int smalloc_is_ours(const void *p);

/* Freezes the class heap. It holds SMALLOC_BASE objects below 2 MiB and, under heap:migrate,
 * those of undecided sites. New objects then go to the superpage heap; frees are still served,
 * and emptied units are returned. Returns 0, or -1 with ENOTSUP if libsmalloc's heaps are off. */
int smalloc_heap_freeze(void);

/* Freezes the class heap and turns its densely used units into superpages in place. No address
 * changes, and other threads may go on using the objects. Takes about 1.5 ms a superpage.
 * Returns the number of superpages that the heap has now, or -1 with ENOTSUP if libsmalloc's
 * heaps are off. */
long smalloc_heap_migrate(void);

/* Returns unused memory to the system: kept units and empty superpages. Returns the number of
 * bytes. */
size_t smalloc_trim(void);

/* Marks in a recording (smalloc record) that the phase `name` begins. Without a recording it
 * does nothing. */
void smalloc_phase(const char *name);

struct smalloc_statistics {
  uint64_t bytes; /* sizeof of the caller's struct, filled in before the call: fields may be added
                     at the end */
  uint64_t small_live_bytes, small_footprint_bytes; /* in objects; in pages that hold them */
  uint64_t big_objects, big_objects_now, big_bytes_now, big_bytes_peak;
  uint64_t superpages_now, superpages_peak; /* units of 2 MiB, by libsmalloc's own count */
  uint64_t superpages_at_first_touch, promotions, promotions_failed, promotion_ns;
  uint64_t pages_released; /* base pages returned to the system */
  uint64_t fallbacks;      /* requests that libsmalloc's heaps should have served and could not */
  uint64_t mappings;       /* estimate of the mappings that libsmalloc's objects use up */
  uint64_t pending;        /* objects, heaps and mapped ranges that wait for promotion */
  /* Of the class heap, and of big objects whose directive takes effect while the program runs; time
   * spent on their superpages. */
  uint64_t migrations, migration_ns;
};

/* Fills in *statistics. REQUIRES: statistics->bytes is set. */
void smalloc_stats(struct smalloc_statistics *statistics);

/* Writes the table of stats:exit now, to a file descriptor. Allocates nothing. */
void smalloc_stats_print(int fd);

/* Writes the same as one JSON document, schema smalloc.stats/1, as `smalloc stats PID --json`
 * prints it from outside. Allocates nothing. */
void smalloc_stats_print_json(int fd);

/* Writes malloc_stats_print() of the jemalloc that holds libsmalloc's small objects; options as
 * there ("J": JSON, NULL: all). Writes nothing before the first small object of libsmalloc. */
void smalloc_jemalloc_stats_print(int fd, const char *options);

/* Returns the version, such as "0.2.0". */
const char *smalloc_version(void);

#ifdef __cplusplus
}
#endif
#endif
