// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// key_join.h finds accesses of one unit that reach the sites of another: it joins the summaries of
// a linked image (smalloc/site.h, smalloc_keys). The runtime runs it when the image is registered,
// and `smalloc sites` runs it on the file.
//
// An access is carried against the flows, from its key to everything that may flow there. Accesses
// that pay from the smallest size on are carried first. The first one that arrives at a node counts
// there. So the join ends after three visits to each node, whatever the graph. If two units
// contradict each other about a key, only an estimate gets worse. (Examples are two structures of
// one name and layout, and ODR copies.) O(records), except for sorting the accesses. Allocates
// nothing.
//
// The contents of a block came with it, or were stored by a function that received it. That
// function has an out-parameter, or fills its argument. An access to the contents is carried back
// to the block's origin. It is also carried down to the functions that received the block, and
// there only to what they store themselves. So two callers of one function do not see each other's
// memory.
#ifndef SMALLOC_SITES_KEY_JOIN_H
#define SMALLOC_SITES_KEY_JOIN_H

#include "smalloc/include/smalloc/site.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// Iterates over the plausible blocks of a section. In a plausible block magic, version and lengths
/// fit, and the arrays lie inside. Anything else is skipped in steps of 8 bytes.
class KeyBlocks {
public:
  KeyBlocks(const void *start, const void *stop);
  const smalloc_keys *next(); ///< nullptr: no more
private:
  const char *at_, *stop_;
};
const smalloc_flow *flows_of(const smalloc_keys &block);
const smalloc_key_access *accesses_of(const smalloc_keys &block);
/// Returns a string of a block, "" if it is absent or does not end inside.
const char *string_of(const smalloc_keys &block, uint32_t offset);

/// Result of the join for a site.
struct JoinedAccess {
  const smalloc_key_access *access = nullptr; ///< nullptr: no access reaches it
  const smalloc_keys *block = nullptr;        ///< block of the access
  const smalloc_flow *first = nullptr;        ///< flow by which the pointer leaves the site
  const smalloc_keys *first_block = nullptr;
};

class KeyJoin {
public:
  /// [start, stop) is the section. REQUIRES: it outlives the object.
  KeyJoin(const void *start, const void *stop) : start_(start), stop_(stop) {}
  /// Returns the bytes that run() needs, 8-byte aligned and zeroed. 0: there is nothing to join, or
  /// more than kMostRecords.
  size_t scratch_bytes();
  void run(void *scratch);
  JoinedAccess of(uint64_t node) const;
  /// True if a block of the image sees through this function's result (a wrapper).
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
  /// Names what an access reaches at a node: its pointer (kItself); what its memory contains
  /// (kContents); of that, only what functions that received the pointer store themselves
  /// (kStored).
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
