/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * smalloc.h decides the C interface of libsmalloc: allocation with a chosen page size beside the
 * program's own malloc, which stays. Pointers from here and from malloc are freed by sfree or free
 * alike. Every function may be called from any thread; none changes errno unless it fails. Sizes
 * are bytes.
 *
 * Where our heaps cannot serve (SMALLOC_CONF=heap:off, another allocator in front, no address
 * space), requests are served by the program's malloc: the page kind is a wish, the memory is not.
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
      0, /* base pages; below 2 MiB in the class heap, which smalloc_heap_migrate() can move */
  SMALLOC_SUPERPAGE =
      1, /* superpages from the start, the last one whole even when the object ends inside it */
  SMALLOC_BOTH = 2, /* superpages from the start for what fills them, base pages for the tail */
};
/* Objects below 2 MiB share superpages: those of SMALLOC_SUPERPAGE and SMALLOC_BOTH lie in a heap whose units of 2 MiB become
 * superpages as they fill up, and are from the start once the heap has 24 MiB (heap:auto) or 100 MiB. */

/* As malloc: at least `bytes` bytes aligned for any type; a unique pointer for 0. NULL and ENOMEM
 * when there is no memory. Constant time below 2 MiB; above, a search for a free run and one system
 * call. */
void *smalloc_malloc(size_t bytes, enum smalloc_pages pages);
#ifdef __cplusplus
/* In C++ the name is also a namespace (smalloc.hpp); a macro with arguments leaves that one alone.
 */
#define smalloc(bytes, pages) smalloc_malloc((bytes), (pages))
#else
void *smalloc(size_t bytes, enum smalloc_pages pages); /* the same function */
#endif

/* As calloc: count x bytes, zeroed. NULL and ENOMEM also when the product overflows. */
void *scalloc(size_t count, size_t bytes, enum smalloc_pages pages);

/* As aligned_alloc, for any power of two up to 1 GiB and any size. NULL and EINVAL for another
 * alignment. */
void *smemalign(size_t alignment, size_t bytes, enum smalloc_pages pages);

/* As realloc; an object keeps the kind it was born with. p may come from any malloc of the process.
 * srealloc(NULL, n) is smalloc(n, SMALLOC_BOTH); srealloc(p, 0) frees and returns NULL. Objects of
 * 2 MiB and more grow in place or by moving their pages, not their bytes, where the kernel can. On
 * failure NULL, ENOMEM, and p stays valid. */
void *srealloc(void *p, size_t bytes);

/* As free. Keeps errno. */
void sfree(void *p);

/* Bytes that may be used at p, at least what was asked for; 0 for NULL. p may come from any malloc
 * of the process. */
size_t smalloc_usable_size(const void *p);

/* Is p memory of our heaps? 1 or 0. */
int smalloc_is_ours(const void *p);

/* Freezes the class heap (where SMALLOC_BASE objects below 2 MiB and, under heap:migrate, those of
 * undecided sites live): new objects go to the superpage heap, frees are still served and emptied
 * units go back. Returns 0; -1 with ENOTSUP when our heaps are off. */
int smalloc_heap_freeze(void);

/* Freezes the class heap and turns its densely used units into superpages in place: no address
 * changes, other threads may go on using the objects. Takes about 1.5 ms a superpage. Returns the
 * number of superpages that the heap has now; -1 with ENOTSUP when our heaps are off. */
long smalloc_heap_migrate(void);

/* Gives unused memory back to the system: kept units and empty superpages. Returns the bytes given
 * back. */
size_t smalloc_trim(void);

/* A marker for recordings (smalloc record): what the program begins now. Without a recording nothing happens. */
void smalloc_phase(const char *name);

struct smalloc_statistics {
  uint64_t bytes; /* sizeof of the caller's struct, filled in before the call: fields may be added
                     at the end */
  uint64_t small_live_bytes, small_footprint_bytes; /* in objects; in pages that hold them */
  uint64_t big_objects, big_objects_now, big_bytes_now, big_bytes_peak;
  uint64_t superpages_now, superpages_peak; /* units of 2 MiB, by our own account */
  uint64_t superpages_at_first_touch, promotions, promotions_failed, promotion_ns;
  uint64_t pages_released;           /* base pages given back */
  uint64_t fallbacks;                /* requests that our heaps should have served and could not */
  uint64_t mappings;                 /* estimate of what our objects cost of the process' limit */
  uint64_t pending;                  /* objects and heaps that wait for promotion */
  uint64_t migrations, migration_ns; /* of the class heap; the time that its superpages took */
};

/* Fills in *statistics. REQUIRES: statistics->bytes is set. */
void smalloc_stats(struct smalloc_statistics *statistics);

/* The table of stats:exit, now, to a file descriptor. Allocates nothing. */
void smalloc_stats_print(int fd);

/* The same as one JSON document, schema smalloc.stats/1, as `smalloc stats PID --json` prints it from
 * outside. Allocates nothing. */
void smalloc_stats_print_json(int fd);

/* What jemalloc's malloc_stats_print() says of the jemalloc that holds our small objects; options as
 * there ("J": JSON, NULL: all). Writes nothing before the first small object of ours. */
void smalloc_jemalloc_stats_print(int fd, const char *options);

/* "0.1.0" */
const char *smalloc_version(void);

#ifdef __cplusplus
}
#endif
#endif
