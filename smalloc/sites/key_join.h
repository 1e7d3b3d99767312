// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// key_join.h decides which accesses of one unit reach the sites of another: it joins the summaries of
// a linked image (smalloc/site.h, smalloc_keys). The runtime does so when the image is registered,
// `smalloc sites` on the file, with this same code.
//
// An access is carried against the flows, from its key to everything that may flow there, the one
// that pays from the smallest size on first: the first to arrive at a node is the one that counts
// there. So it ends after three visits to each node, whatever the graph, and two units that say
// different things of one key (two structures of one name and layout, ODR copies) cost a worse
// estimate at most. O(records), but for sorting the accesses. Allocates nothing.
//
// What a block's memory holds came with the block, or was stored by somebody whom the block was
// handed to (an out-parameter, an argument that the callee fills). Carried against the flows, an
// access to it goes back to where the block came from, and down to whom it was handed, there only
// to what they store themselves: two callers of one function do not see each other's memory.
#ifndef SMALLOC_SITES_KEY_JOIN_H
#define SMALLOC_SITES_KEY_JOIN_H

#include "smalloc/include/smalloc/site.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// The believable blocks of a section, one after the other: magic, version and lengths fit, and the
/// arrays lie inside. What is not believable is skipped in steps of 8 bytes.
class KeyBlocks {
public:
  KeyBlocks(const void *start, const void *stop);
  const smalloc_keys *next(); ///< nullptr: no more
private:
  const char *at_, *stop_;
};
const smalloc_flow *flows_of(const smalloc_keys &block);
const smalloc_key_access *accesses_of(const smalloc_keys &block);
/// A string of a block, "" when it is absent or does not end inside.
const char *string_of(const smalloc_keys &block, uint32_t offset);

/// What the join found for a site.
struct JoinedAccess {
  const smalloc_key_access *access = nullptr; ///< nullptr: nothing reaches it
  const smalloc_keys *block = nullptr;        ///< of the access
  const smalloc_flow *first = nullptr;        ///< the flow that the pointer leaves the site by
  const smalloc_keys *first_block = nullptr;
};

class KeyJoin {
public:
  /// The section [start, stop) must outlive the object.
  KeyJoin(const void *start, const void *stop) : start_(start), stop_(stop) {}
  /// Bytes that run() needs, 8-byte aligned and zero; 0: nothing to join, or more than a join will do
  /// (kMostRecords).
  size_t scratch_bytes();
  void run(void *scratch);
  JoinedAccess of(uint64_t node) const;
  /// Does a block of the image see through this result of a function?
  bool is_wrapper(uint64_t node) const;

  static constexpr uint32_t kMostRecords = 4u << 20;

private:
  struct Node;
  struct Edge;
  struct Access;
  Node &insert(uint64_t hash);
  const Node *find(uint64_t hash) const;
  void add_edges();
  void sort_accesses();
  void spread(const Access &access);
  /// A node's pointer itself; what its memory holds; of that, what is stored there or further down.
  enum Place { kItself, kContents, kStored, kPlaceKinds };
  void visit(uint32_t node, Place place, uint32_t access, uint32_t edge);

  const void *start_, *stop_;
  uint32_t flow_count_ = 0, access_count_ = 0, edge_count_ = 0, slots_ = 0;
  Node *nodes_ = nullptr;
  Edge *edges_ = nullptr;
  Access *accesses_ = nullptr;
  uint32_t *work_ = nullptr;
  uint32_t work_size_ = 0;
};

} // namespace smalloc
#endif
