/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * access.h is the interface by which an instrumented program (plugin option profile-generate)
 * records in the feedback library which memory it touches. Each linked image has one gate; without
 * the library its threshold stays 0 and nothing is recorded.
 *
 * Sampling is by region of 2 MiB, so that reuse inside a region is seen at every page size up to
 * that. The program records an access if the hash of its region is below the gate's threshold, and
 * tests that itself. A run of accesses of one instruction to one base page is recorded once. A loop
 * whose addresses are known before it starts records all of them in one walk. Of a loop in no
 * order, the library drops accesses to pages that the thread has just recorded.
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
#define SMALLOC_ACCESS_WRITES (UINT64_C(1) << 63) /* flag in a recorded address */
#define SMALLOC_MOST_WALK_REFERENCES 16
/* Version of the gate. In versions 1 and 2, smalloc_recorded had no room for accesses after `end`,
 * but a list of the pages that were recorded lately. Version 3 had no table of regions. */
#define SMALLOC_GATE_VERSION 4
/* Accesses that may be recorded after `end`: a piece of a loop checks for room only once. */
#define SMALLOC_TOLD_BEHIND_END 64

/* Entries of the region table: a byte for each region of a process' possible addresses, rounded
 * up for objects that cross the end. */
#define SMALLOC_REGION_ENTRIES (UINT64_C(1) << (47 - SMALLOC_REGION_SHIFT))
/* Values of an entry, about a region and the next one: not known yet; neither is sampled. With
 * any other value the program tests the address. */
#define SMALLOC_REGION_UNKNOWN 0
#define SMALLOC_REGION_QUIET 1

/* Address of a reference of a loop in its first iteration, and its step per iteration. */
struct smalloc_walk_reference {
  uint64_t address; /* | SMALLOC_ACCESS_WRITES */
  int64_t stride;
};

/* A thread's buffer of accesses that the library has not taken yet. The program writes to `next`
 * until it reaches `end` or passes it. If a signal interrupts that, accesses that its handler
 * records may be lost, but `next` stays valid. */
struct smalloc_recorded {
  uint64_t *next, *end;
};

/* Hidden COMDAT "__smalloc_v1_gate5". A constructor passes it to __smalloc_v1_open_gate, which
 * fills in the entries and then the threshold. The program reads the threshold as a relaxed
 * atomic, and the entries only if it is not 0. */
struct smalloc_gate {
  uint32_t version; /* SMALLOC_GATE_VERSION; a library that does not know it leaves the gate shut */
  uint32_t bytes;   /* sizeof(struct smalloc_gate) */
  uint64_t threshold; /* rate * 2^64; UINT64_MAX: every region */
  void (*access)(uint64_t address);
  /* Records a loop's references, iteration by iteration, in their order. At most
   * SMALLOC_MOST_WALK_REFERENCES. */
  void (*walk)(uint64_t iterations, uint64_t count,
               const struct smalloc_walk_reference *references);
  const char *directory;     /* default folder for the program's trace */
  struct smalloc_gate *next; /* the library's */
  /* Offset of the thread's smalloc_recorded from the thread pointer, in bytes. If that has no room
   * for an access, the program calls access() with its address. */
  int64_t told;
  /* Not 0: every access goes to the thread's buffer. A loop in no order then has a version that
   * tests only for room, and leaves it to the library to drop recently recorded accesses. */
  uint64_t every;
  /* Makes room in the thread's buffer. */
  void (*room)(void);
  /* Table of SMALLOC_REGION_ENTRIES bytes. A loop in no order computes an access' entry from its
   * array's entry and the index, and needs neither address nor hash. Null: loops of this kind
   * record nothing, unless `every` is set. */
  const uint8_t *regions;
  /* Fills in an entry that is not known. */
  void (*look)(const uint8_t *entry);
};

/* Entry points of libsmalloc_feedback, referenced weakly through the GOT. */
void __smalloc_v1_open_gate(struct smalloc_gate *gate);
void __smalloc_v1_close_gate(struct smalloc_gate *gate);

#ifdef __cplusplus
}
#endif
#endif
