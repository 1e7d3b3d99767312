/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * site.h is the contract between the compiler plugin and the runtime: the layout of an allocation
 * site's descriptor in a program's file, and what a rewritten call passes to libsmalloc.
 *
 * Layout rules and their reasons:
 *  - Records lie in ELF section "smalloc_sites", read-only and 8-byte aligned. Each is a fixed part
 *    followed by its own strings. Every reference inside a record is an offset from the record's
 *    start. So the table needs no relocations, dirties no page, is readable from a file without
 *    running it, and survives strip.
 *  - The decision, which changes at run time, lies apart in a cell (section "smalloc_cells",
 *    writable).
 *  - The ABI version is part of every symbol ("__smalloc_v1_..."), because a linker keeps the first
 *    copy of a COMDAT, also across plugin versions. Readers skip unknown records by record_bytes.
 *
 * All integers are in the byte order of the target. Offsets of absent strings are 0.
 */
#ifndef SMALLOC_SITE_H
#define SMALLOC_SITE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMALLOC_ABI_VERSION 1
#define SMALLOC_SITE_MAGIC 0x31534d53u /* "SMS1" */
#define SMALLOC_SITES_SECTION "smalloc_sites"
#define SMALLOC_CELLS_SECTION "smalloc_cells"
#define SMALLOC_KEYS_MAGIC 0x314b4d53u /* "SMK1" */
#define SMALLOC_KEYS_SECTION "smalloc_keys"
#define SMALLOC_UNKNOWN UINT64_MAX

/* Pattern of the program's accesses to an object of the site, as far as the compiler knows. */
enum smalloc_pattern {
  SMALLOC_PATTERN_UNKNOWN = 0, /* some accesses could not be followed to or from the site */
  SMALLOC_PATTERN_NONE = 1,    /* never accessed inside a loop */
  SMALLOC_PATTERN_STREAMING = 2,
  SMALLOC_PATTERN_STRIDED = 3,
  SMALLOC_PATTERN_SCATTERED = 4,
  SMALLOC_PATTERN_POINTER_CHASING = 5,
};

enum smalloc_decision {
  SMALLOC_DECISION_BASE = 0,      /* the program's own malloc */
  SMALLOC_DECISION_SUPERPAGE = 1, /* superpages pay whatever the size at run time */
  SMALLOC_DECISION_RUNTIME = 2,   /* superpages pay from min_bytes on: the size of an object, or,
                                     with SMALLOC_SITE_SMALL, the live bytes of the site's heap */
};

enum smalloc_decided_by {
  SMALLOC_BY_COMPILER = 0,
  SMALLOC_BY_PROFILE = 1,
  SMALLOC_BY_DIRECTIVE = 2,
  SMALLOC_BY_VALIDATION = 3,
};

enum smalloc_model { SMALLOC_MODEL_SPREAD = 0, SMALLOC_MODEL_PAPER = 1 };

enum smalloc_heap_strategy {
  SMALLOC_HEAP_AUTO =
      0, /* libsmalloc is the process' malloc; superpages where they cost no memory */
  SMALLOC_HEAP_OFF = 1,       /* the program's malloc serves everything */
  SMALLOC_HEAP_SUPERPAGE = 2, /* libsmalloc is the process' malloc; superpages for everything */
  SMALLOC_HEAP_MIGRATE = 3,   /* undecided sites' objects can be frozen and collapsed together */
  /* The program's malloc serves all but these: big objects of decided sites; all objects of sites
   * that a profile or a directive decided; in a program without sites, big objects beyond the TLB's
   * reach. */
  SMALLOC_HEAP_GUEST = 4,
};

enum smalloc_machine_source { SMALLOC_MACHINE_PRESET = 0, SMALLOC_MACHINE_FILE = 1 };

/* smalloc_site.flags
 * REWRITTEN: the call goes through a thunk and has a cell.
 * FULLY_INITIALISED: every byte is proved to be written: superpages at first touch are free.
 * SMALL: many small objects: superpages depend on their heap's live bytes, not on one size.
 * ESCAPES: the pointer leaves the unit: unseen accesses are possible.
 * UNDECIDED: accesses unknown: heap:migrate observes it; heap:guest ignores it unless a nest
 * that pays touches a big object of it.
 * CONTEXT: not an allocation itself but a call of a function that returns fresh memory
 * (xmalloc). Its cell is passed down to the allocation inside, if the linked image has that
 * function's other entry (see smalloc_wrapper).
 * STATIC: no call but a variable of the program, `function` its name; program:static puts all of
 * them on superpages.
 * MANY: undecided, and many objects may live at a time: once decided, it is SMALL.
 * CHASED: some loop goes through its objects by the pointers in them, whatever its pattern.
 * PARTITIONED: parallel loops with a static schedule divide it among threads, by its leading
 * dimension. On a machine of several nodes each share should be near its threads.
 * ANY_SIZE: its size is no constant, so any size may follow after a long run of one size. */
#define SMALLOC_SITE_REWRITTEN 1u
#define SMALLOC_SITE_FULLY_INITIALISED 2u
#define SMALLOC_SITE_SMALL 4u
#define SMALLOC_SITE_ESCAPES 8u
#define SMALLOC_SITE_UNDECIDED 16u
#define SMALLOC_SITE_CONTEXT 32u
#define SMALLOC_SITE_MANY 256u
#define SMALLOC_SITE_PARTITIONED 512u
#define SMALLOC_SITE_STATIC 1024u
#define SMALLOC_SITE_CHASED 2048u
#define SMALLOC_SITE_ANY_SIZE 4096u
/* In a cell's word only: libsmalloc's heap serves the site's small requests from now on. */
#define SMALLOC_CELL_SERVED 128u

/* Set by the runtime: the site has a hint of the NUMA node, so its small requests are never
 * direct. */
#define SMALLOC_CELL_PLACED (1u << 22)
/* Set by the runtime: requests below a superpage go where freed neighbours are joined (the bitmap
 * heap, the program's malloc), because the site's sizes vary. A thunk of a plain number of bytes
 * jumps to __smalloc_v1_joining. */
#define SMALLOC_CELL_JOINS (1u << 29)
/* Set by the runtime: small requests of the site may go straight to __smalloc_v1_small. (Flag 64
 * meant this for thunks that did not pass it what to call otherwise. They now call as if nothing
 * were direct.) */
#define SMALLOC_CELL_DIRECT (1u << 30)
/* Cells of different sites lie on different cache lines: the threads of one must not wait for
 * another's. */
#define SMALLOC_CELL_ALIGNMENT 64

/* One allocation site (one call instruction after inlining). fixed_bytes is the size of the
 * record's fixed part: tables made before `node` was added have SMALLOC_SITE_LEAST_BYTES, and
 * those made before `worth` was added 8 more. */
struct smalloc_site {
  uint32_t magic;
  uint16_t version;
  uint16_t fixed_bytes;
  uint32_t record_bytes; /* fixed part + strings + padding to 8 */
  uint32_t flags;
  uint64_t id; /* the same at every -O level, in instrumented and final build */
  /* address of the cell minus address of this record; 0: no cell (not rewritten) */
  int32_t cell_offset;
  uint32_t line;
  uint32_t column;
  uint32_t element_bytes; /* 0: unknown */
  /* offsets of NUL-terminated strings from the record's start */
  uint32_t function; /* linkage name of the function that contains the call in the source */
  uint32_t file;
  uint32_t callee;
  uint32_t spread_expr;
  uint32_t why;
  uint32_t context;      /* inline chain, innermost first, one "function file:line" a line */
  uint32_t machine;      /* name of the machine profile used for the decision */
  uint32_t reach_pages;  /* base pages that its last-level TLB covers */
  uint64_t size_bytes;   /* of one object; SMALLOC_UNKNOWN */
  uint64_t spread_pages; /* distinct base pages that the worst nest touches; SMALLOC_UNKNOWN */
  uint64_t first_touch_faults_saved; /* per object; SMALLOC_UNKNOWN */
  uint64_t min_bytes; /* run-time rule, see SMALLOC_DECISION_RUNTIME; SMALLOC_UNKNOWN: never */
  /* at this reach, over the worst nest's accesses to the site; negative: unknown */
  float misses_per_access;
  float saving_cycles_per_access; /* negative: unknown */
  uint8_t pattern;                /* enum smalloc_pattern */
  uint8_t decision;       /* enum smalloc_decision: the compiler's; the cell has the current one */
  uint8_t decided_by;     /* enum smalloc_decided_by */
  uint8_t model;          /* enum smalloc_model */
  uint8_t page_shift;     /* log2 of the decided page size: 12, 21 */
  uint8_t confidence;     /* 0..100 */
  uint8_t machine_source; /* enum smalloc_machine_source */
  uint8_t base_page_shift;
  uint64_t node;  /* this record's node in the graph of smalloc_keys; 0: none */
  uint32_t worth; /* of a superpage, by a profile: smalloc_directive_worth(); 0: unknown */
  uint32_t array; /* a string: the memory's name in the source, as far as the unit shows it */
};
#define SMALLOC_SITE_LEAST_BYTES offsetof(struct smalloc_site, node)
#define SMALLOC_SITE_NODE_BYTES offsetof(struct smalloc_site, worth)

/* The mutable part of a site. A rewritten call passes its address.
 * `word`: bits 0-7 decision, 8-15 flags of the site (low byte), 16-21 log2 page size, 22 PLACED,
 * 24-28 decided_by, 29 JOINS, 30 DIRECT, 32-63 min_bytes in base pages of 4 KiB (saturated). A word
 * of 0 is "the program's malloc": the thunk tests for it before anything else. Both sides access
 * the word with relaxed atomics. */
struct smalloc_cell {
  uint64_t word;
  int64_t site_offset; /* address of the record minus address of this cell */
  /* Bytes requested at the site, counted by the runtime from 0. Once the word has DIRECT or JOINS,
   * it is an estimate. A thread sums what it requests at all such sites, and adds the sum to one of
   * them: DIRECT every 64 KiB (heap:superpage: 1 MiB), JOINS every 256 KiB. */
  uint64_t requested_bytes;
};

#define SMALLOC_WORD(decision, flags, page_shift, by, min_pages)                                   \
  ((uint64_t)(decision) | ((uint64_t)((flags) & 0xffu) << 8) | ((uint64_t)(page_shift) << 16) |    \
   ((uint64_t)(by) << 24) | ((uint64_t)(min_pages) << 32))
#define SMALLOC_WORD_DECISION(w) ((unsigned)((w) & 0xffu))
#define SMALLOC_WORD_FLAGS(w) ((unsigned)(((w) >> 8) & 0xffu))
#define SMALLOC_WORD_PAGE_SHIFT(w) ((unsigned)(((w) >> 16) & 0x3fu))
#define SMALLOC_WORD_DECIDED_BY(w) ((unsigned)(((w) >> 24) & 0x1fu))
#define SMALLOC_WORD_MIN_PAGES(w) ((uint64_t)(w) >> 32)

/* What one unit knows of pointers that cross its borders, in section "smalloc_keys". Each unit
 * has one block, 8-byte aligned, read-only, without relocations. After the fixed part follow
 * flow_count flows, access_count accesses, then NUL-terminated strings (offsets from the block's
 * start, 0: absent). The blocks of a linked image are joined at its registration and by `smalloc
 * sites`. They then show which accesses of other units reach an undecided site.
 *
 * A node is a 64-bit hash: of a site (smalloc_site.node), or of a key, a name that units agree
 * on. A key names argument k of function f, the result of f, a field of structure S (its name
 * and the layout of its members), or a place in global g. */
struct smalloc_keys {
  uint32_t magic;
  uint16_t version;
  uint16_t fixed_bytes;
  uint32_t bytes; /* the whole block, a multiple of 8 */
  uint32_t flow_count;
  uint32_t access_count;
  uint32_t unit; /* string: the source file */
};

/* Flow of pointers: `to` may point to what `from` points to. */
struct smalloc_flow {
  uint64_t from, to;
  uint32_t name; /* of `to`, for people: ends with a linkage name */
  uint32_t flags;
};
#define SMALLOC_FLOW_FROM_CONTENTS 1u /* not `from`: pointers stored in the memory it points to */
#define SMALLOC_FLOW_TO_CONTENTS 2u
/* Holds only if no block of the image declares `from` a wrapper's result. */
#define SMALLOC_FLOW_UNLESS_WRAPPER 4u
/* No flow: declares `from`, the result of the function with linkage name `name`, to be a wrapper's
 * result. */
#define SMALLOC_FLOW_WRAPPER 8u
#define SMALLOC_FLOW_CONDITIONAL 16u /* with WRAPPER: only if an IF_WRAPPER confirms it */
#define SMALLOC_FLOW_IF_WRAPPER 32u  /* no flow: if `from` is a wrapper's result, `to` is one */

/* The access to the memory of `key` that superpages help most. */
struct smalloc_key_access {
  uint64_t key;
  uint64_t min_bytes; /* as in smalloc_site; SMALLOC_UNKNOWN: superpages do not pay for it */
  float misses_per_access, saving_cycles_per_access; /* negative: unknown */
  uint32_t name;                                     /* of the key, for people */
  uint32_t why;
  uint8_t pattern;  /* enum smalloc_pattern */
  uint8_t contents; /* not memory of `key`: what pointers stored in that memory point to */
  uint8_t confidence;
  uint8_t reserved[5];
};

/* Hidden constant "__smalloc_v1_wrapper_F" in the image that defines F, a function that returns
 * fresh memory. The thunk of a context site calls with_cell if `function` is the F that the
 * caller's own call would reach, else F. with_cell is F's other entry, with the cell as an
 * additional argument. */
struct smalloc_wrapper {
  void *function;
  void *with_cell;
};

/* One per linked image (hidden COMDAT "__smalloc_v1_module"). A constructor of priority 1, before
 * the program's own, fills in the addresses as that image resolves them (through its GOT) and calls
 * __smalloc_v1_register_module. The runtime gives superpages only to images whose free, realloc
 * and operator delete are its own. */
struct smalloc_module {
  uint32_t version;                     /* SMALLOC_ABI_VERSION */
  uint32_t bytes;                       /* sizeof(struct smalloc_module) */
  const void *sites_start, *sites_stop; /* NULL if the linker dropped the table */
  void *free_function, *realloc_function;
  void *delete_function; /* operator delete(void*); NULL if the image has no libstdc++ */
  uint32_t heap;         /* enum smalloc_heap_strategy that the image was compiled for */
  uint32_t barred;       /* set by the runtime: sites that stay with the program's functions */
  struct smalloc_module *next; /* the runtime's */
  /* Absent from records of fewer bytes. NULL: no unit of the image has a summary. */
  const void *keys_start, *keys_stop;
};

/* Entry points of libsmalloc, referenced weakly through the GOT by the thunks. Each one *tries*:
 * NULL (posix_memalign: -1) means "nothing done, call the program's own function". So operator
 * new keeps its new_handler and bad_alloc, and an image with a private malloc keeps it. They
 * keep errno. Thunks never call them with a word of 0. */
void __smalloc_v1_register_module(struct smalloc_module *module);
void __smalloc_v1_unregister_module(struct smalloc_module *module);
void *__smalloc_v1_malloc(size_t bytes, struct smalloc_cell *cell);
void *__smalloc_v1_calloc(size_t count, size_t bytes, struct smalloc_cell *cell);
void *__smalloc_v1_realloc(void *p, size_t bytes, struct smalloc_cell *cell);
void *__smalloc_v1_aligned_alloc(size_t alignment, size_t bytes, struct smalloc_cell *cell);
int __smalloc_v1_posix_memalign(void **out, size_t alignment, size_t bytes,
                                struct smalloc_cell *cell);
void *__smalloc_v1_new(size_t bytes, struct smalloc_cell *cell); /* new, new[], nothrow */
void *__smalloc_v1_new_aligned(size_t bytes, size_t alignment, struct smalloc_cell *cell);

/* Allocates as flang's runtime would for the array that the descriptor describes (ALLOCATE with
 * STAT=, or of a pointer). 0: done, as by _FortranAAllocatableAllocate and
 * _FortranAPointerAllocate; -1: nothing done, call those. */
int __smalloc_v1_fortran_allocate(void *descriptor, struct smalloc_cell *cell);
/* Prepares _FortranAAssign(to, from): allocates `to` for the shape of `from` if the assignment
 * would have to and if that can be done beforehand. The program calls the assignment in any
 * case. */
void __smalloc_v1_fortran_assign(void *to, const void *from, struct smalloc_cell *cell);
/* Handles ALLOCATE with SOURCE=: allocates for the array that `to` describes and copies the
 * array, or the one element, of `from` into it. 0: done, as by
 * _FortranAAllocatableAllocateSource and _FortranAPointerAllocateSource; -1: nothing done. */
int __smalloc_v1_fortran_source(void *to, const void *from, struct smalloc_cell *cell);
/* Replaces _FortranACopyInAssign(copy, section): makes `copy`, which is empty, describe a
 * contiguous copy of `section`. 0: done; -1: nothing done that the call would not overwrite. */
int __smalloc_v1_fortran_copy_in(void *copy, const void *section, struct smalloc_cell *cell);
/* Handles memory that mmap, or numa_alloc and its forms, returned at `p` (or failed to). It
 * stays the program's mapping, of which the program may unmap, protect or remap any part.
 * Superpages come by advice, never by a change of contents. */
void __smalloc_v1_mapped(void *p, size_t bytes, struct smalloc_cell *cell);

/* Allocates at a cell whose word has SMALLOC_CELL_DIRECT, instead of any other entry. The thunk
 * does not test for its presence: only a library that has it sets the bit. It allocates from the
 * heap and does nothing else, if the thread may, otherwise it acts as the ordinary entry. If
 * that declines, it calls the program's function, otherwise(bytes, argument); `argument` is
 * nothrow's, and has no meaning for the rest. So a thunk ends in a jump here, without a frame
 * and without a test of the result. The word is only read, so that threads share no cache line
 * that is written to. */
typedef void *smalloc_otherwise(size_t bytes, const void *argument);
void *__smalloc_v1_small(size_t bytes, struct smalloc_cell *cell, smalloc_otherwise *otherwise,
                         const void *argument);
/* The same for a cell whose word has SMALLOC_CELL_JOINS and not SMALLOC_CELL_DIRECT. */
void *__smalloc_v1_joining(size_t bytes, struct smalloc_cell *cell, smalloc_otherwise *otherwise,
                           const void *argument);

/* Marks a promotion point: the compiler calls it before a loop nest over the object at `p` that
 * superpages speed up by about `saved_misses` TLB misses (an estimate; 0: unknown trip count,
 * about one per call). The inlined test before the call is __smalloc_v1_pending, which is
 * non-zero while some object waits for promotion. A value of exactly SMALLOC_TOUCH_BATCH is the
 * sum of several points of the thread, of which this is the last. The batch is a prime, so that
 * its last point falls on each of them in turn, whatever their pattern. */
#define SMALLOC_TOUCH_BATCH 4099
void __smalloc_v1_touching(const void *p, uint64_t saved_misses);

/* Marks a fill point: the compiler calls it before code that will write at least `written` of
 * the `range` bytes at `p`, 2 MiB or more. range 0: the whole object that contains `p`, all over
 * it. */
void __smalloc_v1_filling(const void *p, uint64_t range, uint64_t written);
/* The same for ranges that the code fills side by side: one at `offset` behind each of the `count`
 * pointers at `pointers`. */
void __smalloc_v1_filling_each(const void *const *pointers, uint64_t range, uint64_t written,
                               uint64_t count, uint64_t offset);
extern unsigned __smalloc_v1_pending;

#ifdef __cplusplus
}
#endif
#endif
