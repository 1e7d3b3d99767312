/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Exact reference for predicted rankings (scripts/evaluate.py).
 * -fsanitize-coverage=trace-loads,trace-stores reports every load and store that is left after
 * optimisation. Each goes through one set-associative LRU TLB for each base mapping: all on base
 * pages, one site on superpages in a heap of its own, everything on superpages. Independent of the
 * plugin, of sampling, and of the analysis: no correction for sets. Each miss has its exact reuse
 * distance (pages of the TLB's array used since), since the price of a walk depends on it. One
 * thread.
 *  *
 * SITES: allocation sites: return addresses of the call and of the function around it (a wrapper
 * has many callers) in hex, relative to the executable, as 1a2b:3c4d (0:0: static data), with +
 * between those of one site (inlined copies) and commas between sites; TLB: entries and ways for
 * base pages, entries and ways for superpages, 1 if they share the first. At exit one JSON document
 * on standard error; without SITES the sites found. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kMostSites = 4096, kMostLanes = 26, kRegionShift = 21, kGrainShift = 4, kMostWays = 4096 };
enum { kGrains = 1 << (kRegionShift - kGrainShift), kRegionSlots = 1 << 20 };

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static void *pages(size_t bytes) {
  void *p =
      mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    abort();
  return p;
}

/* Sites: 0 is none. Each has its own heap, which places objects in sequence and reuses freed
 * places. */
struct site {
  uint64_t heap_end, live, peak, accesses, second_faults;
};
static struct site sites[kMostSites];
static unsigned site_count = 1;
static struct {
  uintptr_t address, around; /* relative to the executable; 0, 0: static data */
  unsigned site;
} callers[kMostSites];
static unsigned caller_count;
struct hole {
  uint64_t packed, bytes;
  uint32_t site, next;
};
static struct hole *holes; /* freed places, newest first, by a hash of site and size */
static uint32_t hole_heads[1 << 16], hole_count = 1, free_hole;

/* Site (high 16 bits) and place in its heap / 16 (other bits) for each 16 bytes; and whether the
 * kernel has given each page. Fresh calloc memory that is read first is the zero page; the first
 * write is a second fault. */
enum { kWritten, kFresh, kReadFirst, kRegionPages = 1 << (kRegionShift - 12) };
struct region {
  uint64_t number; /* 0: free slot */
  uint64_t *grains;
  uint8_t pages[kRegionPages];
};
static struct region *regions;

static uintptr_t base, text_end, data_start, data_end, stack_low, stack_high;
static int inside = 1;

static uint32_t hash(uint64_t x) { return (uint32_t)((x * 0x9e3779b97f4a7c15u) >> 32); }

static struct region *region_of(uint64_t number, int make) {
  for (uint32_t i = hash(number) % kRegionSlots;; i = (i + 1) % kRegionSlots) {
    if (regions[i].number == number)
      return &regions[i];
    if (regions[i].number == 0) {
      if (!make)
        return NULL;
      regions[i].number = number;
      regions[i].grains = pages(kGrains * sizeof(uint64_t));
      return &regions[i];
    }
  }
}

/* site: of the caller, if it is new; 0: makes a new site. */
static unsigned site_of(uintptr_t caller, uintptr_t around, unsigned site) {
  for (unsigned i = 0; i < caller_count; i++)
    if (callers[i].address == caller && callers[i].around == around)
      return callers[i].site;
  if (caller_count == kMostSites || site_count == kMostSites)
    abort();
  callers[caller_count].address = caller;
  callers[caller_count].around = around;
  callers[caller_count].site = site ? site : site_count++;
  return callers[caller_count++].site;
}

static uint32_t *hole_head(unsigned site, uint64_t bytes) {
  return &hole_heads[hash(bytes * kMostSites + site) & 0xffff];
}

static void place(uintptr_t start, uint64_t bytes, unsigned site) {
  struct site *s = &sites[site];
  const uint64_t step = bytes >= 2u << 20 ? 2u << 20 : 16;
  const uint64_t size = (bytes + step - 1) / step * step;
  uint64_t packed = (s->heap_end + step - 1) / step * step;
  uint32_t *at = hole_head(site, size);
  while (*at && (holes[*at].site != site || holes[*at].bytes != size))
    at = &holes[*at].next;
  if (*at) {
    const uint32_t taken = *at;
    packed = holes[taken].packed;
    *at = holes[taken].next;
    holes[taken].next = free_hole;
    free_hole = taken;
  } else {
    s->heap_end = packed + size;
  }
  s->live += bytes;
  if (s->live > s->peak)
    s->peak = s->live;
  for (uint64_t at16 = 0; at16 < bytes; at16 += 16) {
    struct region *r = region_of((start + at16) >> kRegionShift, 1);
    r->grains[((start + at16) >> kGrainShift) % kGrains] =
        (uint64_t)site << 48 | (packed + at16) >> 4;
  }
}

/* Called by the functions that the program calls; all of this code has frame pointers. */
static void allocated(void *p, size_t bytes, const uintptr_t *frame) {
  if (!p || inside)
    return;
  inside = 1;
  const uintptr_t caller = frame[1] - base;
  const uintptr_t *above = (const uintptr_t *)frame[0];
  const int known = caller < text_end - base && (uintptr_t)above > (uintptr_t)frame &&
                    (uintptr_t)above < stack_high;
  const uintptr_t around = known ? above[1] - base : 0;
  place((uintptr_t)p, bytes, site_of(caller, around < text_end - base ? around : 0, 0));
  inside = 0;
}

/* glibc's header: the chunk's size, with three flags. */
static size_t usable(void *p) { return ((size_t *)p)[-1] & ~(size_t)7; }

/* Returns its bytes; 0: an unknown object. */
static uint64_t freed(void *p) {
  if (!p || inside)
    return 0;
  const struct region *r = region_of((uintptr_t)p >> kRegionShift, 0);
  const uint64_t grain = r ? r->grains[((uintptr_t)p >> kGrainShift) % kGrains] : 0;
  if (grain == 0)
    return 0;
  const unsigned site = (unsigned)(grain >> 48);
  const uint64_t packed = (grain & 0xffffffffffff) << 4;
  /* The object continues while the next 16 bytes are the next part of the same heap. */
  uint64_t bytes = 0;
  const uint64_t most = usable(p);
  for (uintptr_t at = (uintptr_t)p; bytes < most; at += 16, bytes += 16) {
    const struct region *here = region_of(at >> kRegionShift, 0);
    if (!here || here->grains[(at >> kGrainShift) % kGrains] !=
                     ((uint64_t)site << 48 | (packed + bytes) >> 4))
      break;
    here->grains[(at >> kGrainShift) % kGrains] = 0;
  }
  const uint64_t step = bytes >= 2u << 20 ? 2u << 20 : 16;
  const uint32_t hole = free_hole ? free_hole : hole_count++;
  if (hole == free_hole)
    free_hole = holes[hole].next;
  holes[hole] = (struct hole){packed, (bytes + step - 1) / step * step, site, 0};
  uint32_t *at = hole_head(site, holes[hole].bytes);
  holes[hole].next = *at;
  *at = hole;
  sites[site].live -= bytes < sites[site].live ? bytes : sites[site].live;
  return bytes;
}
static void given_back(uintptr_t start, uintptr_t end);

/* Below this size, calloc may return memory that malloc has cleared itself. */
enum { kMappedBytes = 128 << 10 };

void *malloc(size_t n) {
  void *p = __libc_malloc(n);
  allocated(p, n, __builtin_frame_address(0));
  return p;
}
void *calloc(size_t c, size_t n) {
  void *p = __libc_calloc(c, n);
  allocated(p, c * n, __builtin_frame_address(0));
  if (p && !inside && c * n >= kMappedBytes)
    for (uintptr_t at = ((uintptr_t)p + 4095) >> 12; (at + 1) << 12 <= (uintptr_t)p + c * n; at++)
      region_of(at / kRegionPages, 1)->pages[at % kRegionPages] = kFresh;
  return p;
}
void *realloc(void *old, size_t n) {
  freed(old);
  void *p = __libc_realloc(old, n);
  allocated(p, n, __builtin_frame_address(0));
  return p;
}
void free(void *p) {
  extern void __libc_free(void *);
  const uint64_t bytes = freed(p);
  __libc_free(p);
  /* The largest threshold that glibc's malloc sets by itself: a larger block was mapped, and is now
   * unmapped. */
  if (bytes >= (uint64_t)32 << 20)
    given_back((uintptr_t)p, (uintptr_t)p + bytes);
}
void *aligned_alloc(size_t a, size_t n) {
  void *p = __libc_memalign(a, n);
  allocated(p, n, __builtin_frame_address(0));
  return p;
}
/* C++: the caller of operator new is the site. */
void *_Znwm(size_t n) {
  void *p = __libc_malloc(n);
  if (!p)
    abort();
  allocated(p, n, __builtin_frame_address(0));
  return p;
}
void *_Znam(size_t n) __attribute__((alias("_Znwm")));

/* A page that was touched, in the order of its array. */
struct touched {
  uint64_t page;
  uint32_t moment;
};
/* The moments of an array; at most of them no page was used last. */
enum { kBlock = 1024, kLeastMoments = 1 << 16, kMostMoments = 1 << 28, kMostDistances = 1 << 26 };
struct order {
  uint32_t *who;    /* by moment: the page used last then, numbered from 1 */
  uint32_t *in_use; /* by block of moments: number of pages whose last use is in it */
  uint32_t now, end, live;
  uint64_t *distances; /* misses by distance */
  uint32_t farthest;
};
/* One TLB array: sets of pages, the latest first, by their numbers. */
struct array {
  uint32_t *ways_of;
  uint32_t sets, ways;
  struct order order;
};
struct lane {
  struct array base, superpage;
  uint32_t site; /* on superpages; 0: none, UINT32_MAX: all */
  uint64_t last, base_misses, super_misses, base_pages, super_pages;
  struct touched *touched; /* from 1 on */
  uint32_t *seen;          /* hash table of their numbers */
  uint64_t seen_slots, seen_count;
};
static struct lane lanes[kMostLanes];
static unsigned lane_count;
static int shared;

/* Returns the table's slot of a page's number, or a free one. */
static uint32_t *number_at(struct lane *l, uint64_t page) {
  uint64_t at = hash(page) % l->seen_slots;
  while (l->seen[at] && l->touched[l->seen[at]].page != page)
    at = (at + 1) % l->seen_slots;
  return &l->seen[at];
}

/* Returns the number of a page; a page that is new, or was given back, has moment 0. */
static uint32_t number_of(struct lane *l, uint64_t page) {
  if (2 * l->seen_count >= l->seen_slots) {
    uint32_t *old = l->seen;
    const uint64_t slots = l->seen_slots;
    l->seen_slots = slots ? 2 * slots : 1 << 16;
    l->seen = pages(l->seen_slots * sizeof *l->seen);
    for (uint32_t i = 1; i <= l->seen_count; i++) {
      uint64_t at = hash(l->touched[i].page) % l->seen_slots;
      while (l->seen[at])
        at = (at + 1) % l->seen_slots;
      l->seen[at] = i;
    }
    if (old)
      munmap(old, slots * sizeof *old);
  }
  uint32_t *at = number_at(l, page);
  if (!*at) {
    *at = (uint32_t)++l->seen_count;
    l->touched[*at].page = page;
  }
  return *at;
}

/* Returns the number of pages used since that moment. */
static uint32_t used_since(const struct order *o, uint32_t moment) {
  uint32_t count = 0;
  const uint32_t block = moment / kBlock;
  for (uint32_t m = moment + 1; m < (block + 1) * kBlock && m < o->now; m++)
    count += o->who[m] != 0;
  for (uint32_t b = block + 1; b * kBlock < o->now; b++)
    count += o->in_use[b];
  return count;
}

static void use_now(struct order *o, struct touched *all, uint32_t number) {
  if (all[number].moment) {
    o->who[all[number].moment] = 0;
    o->in_use[all[number].moment / kBlock]--;
  } else {
    o->live++;
  }
  if (o->now == o->end) { /* closes the gaps */
    uint32_t to = 1;
    for (uint32_t from = 1; from < o->end; from++)
      if (o->who[from]) {
        all[o->who[from]].moment = to;
        o->who[to++] = o->who[from];
      }
    memset(o->who + to, 0, (o->end - to) * sizeof *o->who);
    for (uint32_t b = 0; b * kBlock < o->end; b++)
      o->in_use[b] = (b + 1) * kBlock <= to ? kBlock : b * kBlock < to ? to - b * kBlock : 0;
    o->in_use[0]--; /* moment 0 belongs to no page */
    o->now = to;
    o->end = 4 * (uint64_t)o->live < kLeastMoments ? kLeastMoments : 4 * o->live;
    if (o->end > kMostMoments)
      abort();
  }
  all[number].moment = o->now;
  o->in_use[o->now / kBlock]++;
  o->who[o->now++] = number;
}

/* page: its number doubled, plus 1 for a superpage; never 0. */
static void look_up(struct lane *l, uint64_t page) {
  if (page == l->last)
    return;
  l->last = page;
  struct array *a = page & 1 && !shared ? &l->superpage : &l->base;
  uint32_t *set = a->ways_of + (page >> 1) % a->sets * a->ways, number;
  uint32_t w = 0;
  while (w < a->ways && set[w] && l->touched[set[w]].page != page)
    w++;
  if (w < a->ways && set[w]) {
    number = set[w];
  } else {
    *(page & 1 ? &l->super_misses : &l->base_misses) += 1;
    number = number_of(l, page);
    if (l->touched[number].moment) {
      const uint32_t distance = used_since(&a->order, l->touched[number].moment);
      if (distance >= kMostDistances)
        abort();
      a->order.distances[2 * distance + (page & 1)]++;
      if (distance > a->order.farthest)
        a->order.farthest = distance;
    } else {
      *(page & 1 ? &l->super_pages : &l->base_pages) += 1;
    }
    w -= w == a->ways;
  }
  memmove(set + 1, set, w * sizeof *set);
  set[0] = number;
  use_now(&a->order, l->touched, number);
}

/* Base pages only: a heap of superpages keeps its pages. Their next touch is a first touch, and no
 * TLB has them. */
static void given_back(uintptr_t start, uintptr_t end) {
  for (unsigned i = 0; i < lane_count; i++)
    for (uint64_t small = start >> 12; small << 12 < end; small++) {
      struct lane *l = &lanes[i];
      const uint64_t page = small << 1;
      const uint32_t number = l->seen_slots ? *number_at(l, page) : 0;
      struct array *a = &l->base;
      if (!number || !l->touched[number].moment)
        continue;
      uint32_t *set = a->ways_of + small % a->sets * a->ways, w = 0;
      while (w < a->ways && set[w] != number)
        w++;
      if (w < a->ways) {
        memmove(set + w, set + w + 1, (a->ways - w - 1) * sizeof *set);
        set[a->ways - 1] = 0;
      }
      a->order.who[l->touched[number].moment] = 0;
      a->order.in_use[l->touched[number].moment / kBlock]--;
      a->order.live--;
      l->touched[number].moment = 0;
      l->last = 0;
    }
}

static uint64_t accesses;

static void touch(uintptr_t address, int writes) {
  if (inside || (address >= stack_low && address < stack_high))
    return;
  struct region *r = region_of(address >> kRegionShift, 0);
  const uint64_t grain = r ? r->grains[(address >> kGrainShift) % kGrains] : 0;
  const uint32_t site = (uint32_t)(grain >> 48);
  if (grain == 0)
    return; /* of a library */
  uint8_t *page = &r->pages[(address >> 12) % kRegionPages];
  if (*page != kWritten) {
    sites[site].second_faults += writes && *page == kReadFirst;
    *page = writes ? kWritten : kReadFirst;
  }
  accesses++;
  sites[site].accesses++;
  const uint64_t small = (address >> 12) << 1;
  const uint64_t large =
      ((uint64_t)site << 40 | (grain & 0xffffffffffff) >> (21 - kGrainShift)) << 1 | 1;
  for (unsigned i = 0; i < lane_count; i++)
    look_up(&lanes[i], lanes[i].site == site || lanes[i].site == UINT32_MAX ? large : small);
}

static int note_segments(struct dl_phdr_info *info, size_t bytes, void *unused) {
  (void)bytes, (void)unused;
  if (info->dlpi_name[0])
    return 0;
  base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && p->p_flags & PF_X)
      text_end = base + p->p_vaddr + p->p_memsz;
    if (p->p_type == PT_LOAD && p->p_flags & PF_W) {
      data_start = base + p->p_vaddr;
      data_end = data_start + p->p_memsz;
    }
  }
  return 1;
}

static void make(struct array *a, uint32_t entries, uint32_t ways) {
  a->ways = ways && entries % ways == 0 ? ways : entries;
  a->sets = entries / a->ways;
  if (a->ways > kMostWays)
    abort();
  a->ways_of = pages(((size_t)entries + 1) * sizeof *a->ways_of);
  a->order.who = pages((size_t)kMostMoments * sizeof *a->order.who);
  a->order.in_use = pages((size_t)kMostMoments / kBlock * sizeof *a->order.in_use);
  a->order.distances = pages((size_t)kMostDistances * 2 * sizeof *a->order.distances);
  a->order.now = 1;
  a->order.end = kLeastMoments;
}

/* Prints misses of one page size by distance: [distance, misses]; distances within a 64th are
 * joined. */
static void report_distances(const char *name, const struct lane *l, unsigned size) {
  const char *comma = "";
  fprintf(stderr, ", \"%s\": [", name);
  for (const struct array *a = &l->base; a <= &l->superpage; a++)
    for (uint64_t low = 0, high; low <= a->order.farthest; low = high) {
      uint64_t count = 0;
      high = low + 1 + low / 64;
      for (uint64_t d = low; d < high && d <= a->order.farthest; d++)
        count += a->order.distances[2 * d + size];
      if (count)
        fprintf(stderr, "%s[%lu, %lu]", comma, (unsigned long)((low + high) / 2),
                (unsigned long)count);
      if (count)
        comma = ", ";
    }
  fprintf(stderr, "]");
}

static uint64_t second_faults(const struct lane *l) {
  uint64_t sum = 0;
  for (unsigned site = 0; site < site_count; site++)
    sum += l->site == site || l->site == UINT32_MAX ? 0 : sites[site].second_faults;
  return sum;
}

static void report(void) {
  inside = 1;
  fprintf(stderr, "{\"accesses\": %lu, \"sites\": [", (unsigned long)accesses);
  for (unsigned i = 0; i < caller_count; i++)
    fprintf(stderr, "%s{\"caller\": \"%lx:%lx\", \"accesses\": %lu, \"peak_bytes\": %lu}",
            i ? ", " : "", (unsigned long)callers[i].address, (unsigned long)callers[i].around,
            (unsigned long)sites[callers[i].site].accesses,
            (unsigned long)sites[callers[i].site].peak);
  fprintf(stderr, "], \"lanes\": [");
  for (unsigned i = 0; i < lane_count; i++) {
    const struct lane *l = &lanes[i];
    fprintf(stderr,
            "%s{\"base_misses\": %lu, \"super_misses\": %lu, \"base_pages\": %lu, \"super_pages\": "
            "%lu, \"second_faults\": %lu",
            i ? ", " : "", (unsigned long)l->base_misses, (unsigned long)l->super_misses,
            (unsigned long)l->base_pages, (unsigned long)l->super_pages,
            (unsigned long)second_faults(l));
    report_distances("base_distances", l, 0);
    report_distances("super_distances", l, 1);
    fprintf(stderr, "}");
  }
  fprintf(stderr, "]}\n");
}

__attribute__((constructor)) static void start(void) {
  char here;
  unsigned entries = 2048, ways = 8, super_entries = 2048, super_ways = 8;
  holes = pages((size_t)1 << 32);
  regions = pages(kRegionSlots * sizeof *regions);
  dl_iterate_phdr(note_segments, NULL);
  stack_high = (uintptr_t)&here + (1 << 20);
  stack_low = (uintptr_t)&here - (8 << 20);
  place(data_start & ~(uintptr_t)15, data_end - (data_start & ~(uintptr_t)15), site_of(0, 0, 0));
  const char *tlb = getenv("TLB"), *wanted = getenv("SITES");
  if (tlb &&
      sscanf(tlb, "%u,%u,%u,%u,%d", &entries, &ways, &super_entries, &super_ways, &shared) != 5)
    abort();
  if (wanted) {
    lanes[lane_count++].site = 0;
    for (const char *at = wanted; *at && lane_count < kMostLanes - 1; at += *at == ',') {
      unsigned site = 0;
      do {
        unsigned long caller, around;
        int length = 0;
        if (sscanf(at, "%lx:%lx%n", &caller, &around, &length) != 2)
          abort();
        site = site_of(caller, around, site);
        at += length;
      } while (*at == '+' && at++);
      lanes[lane_count++].site = site;
    }
    lanes[lane_count++].site = UINT32_MAX;
    for (unsigned i = 0; i < lane_count; i++) {
      make(&lanes[i].base, entries, ways);
      make(&lanes[i].superpage, super_entries, super_ways);
      lanes[i].touched = pages((size_t)kMostDistances * sizeof *lanes[i].touched);
    }
  }
  atexit(report);
  inside = 0;
}

#define HOOK(kind, size, writes)                                                                   \
  void __sanitizer_cov_##kind##size(void *p) { touch((uintptr_t)p, writes); }
HOOK(load, 1, 0)
HOOK(load, 2, 0)
HOOK(load, 4, 0)
HOOK(load, 8, 0)
HOOK(load, 16, 0)
HOOK(store, 1, 1)
HOOK(store, 2, 1)
HOOK(store, 4, 1)
HOOK(store, 8, 1)
HOOK(store, 16, 1)
