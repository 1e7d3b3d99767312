/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * access.h decides how an instrumented program (plugin option profile-generate) tells the feedback library which memory
 * it touches. Each linked image has one gate; without the library its threshold stays 0 and nothing is told.
 *
 * Sampling is by region of 2 MiB, so that reuse inside a region survives at every page size up to that: an access is
 * told if the hash of its region is below the gate's threshold, and the program tests that itself. Runs of accesses of
 * one instruction to one base page are told once. A loop whose addresses are known before it starts tells all of them
 * in one walk. Which accesses of loops in no order are to pages that the thread has told lately, the library finds out.
 */
#ifndef SMALLOC_ACCESS_H
#define SMALLOC_ACCESS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMALLOC_REGION_SHIFT 21
#define SMALLOC_REGION_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define SMALLOC_REGION_HASH(address)                                                               \
  (((uint64_t)(address) >> SMALLOC_REGION_SHIFT) * SMALLOC_REGION_FACTOR)
#define SMALLOC_ACCESS_WRITES (UINT64_C(1) << 63) /* in an address that is told */
#define SMALLOC_MOST_WALK_REFERENCES 16
/* Of the gate: 1 and 2 had smalloc_recorded without memory behind end, and the pages that were told lately behind it; 3 had no table of
 * regions. */
#define SMALLOC_GATE_VERSION 4
/* So many accesses may be told behind the end: those of a piece of a loop that has looked for room once. */
#define SMALLOC_TOLD_BEHIND_END 64

/* A byte of the table for each region of the addresses that a process may have, and some more for objects that cross the end. */
#define SMALLOC_REGION_ENTRIES (UINT64_C(1) << (47 - SMALLOC_REGION_SHIFT))
/* Of a region and the one behind it: not known yet; neither is kept. Everything else: look at the address. */
#define SMALLOC_REGION_UNKNOWN 0
#define SMALLOC_REGION_QUIET 1

/* Address of one reference of a loop in its first iteration, and what an iteration adds to it. */
struct smalloc_walk_reference {
  uint64_t address; /* | SMALLOC_ACCESS_WRITES */
  int64_t stride;
};

/* Of each thread: accesses that the library has not taken yet go to next, until it is end or behind. Where a signal comes in the midst
 * of that, what its handler tells may be lost, never more than is there. */
struct smalloc_recorded {
  uint64_t *next, *end;
};

/* Hidden COMDAT "__smalloc_v1_gate5". A constructor hands it to __smalloc_v1_open_gate, which fills in the entries and
 * then the threshold; the program reads the threshold as a relaxed atomic, and the entries only when it is not 0. */
struct smalloc_gate {
  uint32_t version; /* SMALLOC_GATE_VERSION; a library that does not know it leaves the gate shut */
  uint32_t bytes;   /* sizeof(struct smalloc_gate) */
  uint64_t threshold; /* rate * 2^64; UINT64_MAX: every region */
  void (*access)(uint64_t address);
  /* Iteration by iteration, the references in their order. At most SMALLOC_MOST_WALK_REFERENCES. */
  void (*walk)(uint64_t iterations, uint64_t count,
               const struct smalloc_walk_reference *references);
  const char *directory;     /* where the program leaves its trace when nobody else names a place */
  struct smalloc_gate *next; /* the library's */
  /* Of the thread's smalloc_recorded, in bytes from the thread pointer. Where there is no room, access() takes the one that has none. */
  int64_t told;
  /* Not 0: every access goes to the thread's memory. A loop in no order then has a version that looks at nothing but the room, and
   * leaves it to the library which of its accesses have been told lately. */
  uint64_t every;
  void (*room)(void); /* of the thread, behind which there is some */
  /* Of SMALLOC_REGION_ENTRIES bytes: a loop adds what its index says to the place of what it indexes, and so spares itself address and
   * hash. Null: such loops tell nothing, but where every is set. */
  const uint8_t *regions;
  void (*look)(const uint8_t *entry); /* at one that is not known */
};

/* Entries of libsmalloc_feedback, referenced weakly through the GOT. */
void __smalloc_v1_open_gate(struct smalloc_gate *gate);
void __smalloc_v1_close_gate(struct smalloc_gate *gate);

#ifdef __cplusplus
}
#endif
#endif
