// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/sites/key_join.h"

#include <string.h>

namespace smalloc {

namespace {
constexpr size_t kAlignment = 8;
constexpr unsigned kMostDepth = 8;
/// Blocks of a later version may have a longer fixed part.
constexpr uint32_t kLeastBytes = sizeof(smalloc_keys);

bool believable(const smalloc_keys &b, size_t left) {
  if (b.magic != SMALLOC_KEYS_MAGIC || b.version != SMALLOC_ABI_VERSION ||
      b.fixed_bytes < kLeastBytes || b.fixed_bytes % kAlignment != 0 || b.bytes > left ||
      b.bytes % kAlignment != 0 || b.fixed_bytes > b.bytes)
    return false;
  uint64_t arrays = uint64_t{b.flow_count} * sizeof(smalloc_flow) +
                    uint64_t{b.access_count} * sizeof(smalloc_key_access);
  return arrays <= b.bytes - b.fixed_bytes;
}

/// True if `a` is the better reason for superpages. SMALLOC_UNKNOWN is the largest number.
bool better(const smalloc_key_access &a, const smalloc_key_access &b) {
  if (a.min_bytes != b.min_bytes)
    return a.min_bytes < b.min_bytes;
  if (a.saving_cycles_per_access != b.saving_cycles_per_access)
    return a.saving_cycles_per_access > b.saving_cycles_per_access;
  return a.pattern > b.pattern;
}
} // namespace

KeyBlocks::KeyBlocks(const void *start, const void *stop)
    : at_(static_cast<const char *>(start)), stop_(static_cast<const char *>(stop)) {
  if (!start || !stop || at_ > stop_ || reinterpret_cast<uintptr_t>(at_) % kAlignment != 0)
    at_ = stop_ = nullptr;
}

const smalloc_keys *KeyBlocks::next() {
  while (static_cast<size_t>(stop_ - at_) >= kLeastBytes) {
    auto *block = reinterpret_cast<const smalloc_keys *>(at_);
    if (believable(*block, static_cast<size_t>(stop_ - at_))) {
      at_ += block->bytes;
      return block;
    }
    at_ += kAlignment; // padding between the units' parts of the section
  }
  return nullptr;
}

const smalloc_flow *flows_of(const smalloc_keys &b) {
  return reinterpret_cast<const smalloc_flow *>(reinterpret_cast<const char *>(&b) + b.fixed_bytes);
}
const smalloc_key_access *accesses_of(const smalloc_keys &b) {
  return reinterpret_cast<const smalloc_key_access *>(flows_of(b) + b.flow_count);
}
const char *string_of(const smalloc_keys &b, uint32_t offset) {
  auto *bytes = reinterpret_cast<const char *>(&b);
  uint64_t strings = b.fixed_bytes + uint64_t{b.flow_count} * sizeof(smalloc_flow) +
                     uint64_t{b.access_count} * sizeof(smalloc_key_access);
  if (offset < strings || offset >= b.bytes || !memchr(bytes + offset, 0, b.bytes - offset))
    return "";
  return bytes + offset;
}

/// References to edges and accesses are their index plus one; 0 means none.
struct KeyJoin::Node {
  uint64_t hash;
  uint32_t first_in, first_out; ///< edges that lead here and away from here
  uint32_t access[kPlaceKinds]; ///< access that reaches each Place of it
  uint32_t edge; ///< the edge, leading away from here, by which an access came to the node itself
  bool used, wrapper;
};
struct KeyJoin::Edge {
  const smalloc_flow *flow;
  const smalloc_keys *block;
  uint32_t from, to;
  uint32_t next_in, next_out;
};
struct KeyJoin::Access {
  const smalloc_key_access *access;
  const smalloc_keys *block;
};

size_t KeyJoin::scratch_bytes() {
  flow_count_ = access_count_ = 0;
  KeyBlocks blocks(start_, stop_);
  while (const smalloc_keys *b = blocks.next()) {
    // Each count is bounded by the section's bytes; the sum is checked before it could wrap.
    flow_count_ += b->flow_count;
    access_count_ += b->access_count;
    if (flow_count_ > kMostRecords || access_count_ > kMostRecords)
      return 0;
  }
  if (access_count_ == 0 && flow_count_ == 0)
    return 0;
  slots_ = 64;
  while (slots_ < 2 * flow_count_ + access_count_ + (flow_count_ + access_count_) / 2)
    slots_ *= 2;
  return slots_ * sizeof(Node) + flow_count_ * sizeof(Edge) + access_count_ * sizeof(Access) +
         kPlaceKinds * slots_ * sizeof(uint32_t);
}

KeyJoin::Node &KeyJoin::insert(uint64_t hash) {
  // Keys are hashes already. The multiplication spreads those that a hostile section has chosen.
  uint32_t at = static_cast<uint32_t>((hash * 0x9e3779b97f4a7c15u) >> 32) & (slots_ - 1);
  while (nodes_[at].used && nodes_[at].hash != hash)
    at = (at + 1) & (slots_ - 1);
  nodes_[at].used = true;
  nodes_[at].hash = hash;
  return nodes_[at];
}

const KeyJoin::Node *KeyJoin::find(uint64_t hash) const {
  if (!nodes_)
    return nullptr;
  uint32_t at = static_cast<uint32_t>((hash * 0x9e3779b97f4a7c15u) >> 32) & (slots_ - 1);
  while (nodes_[at].used && nodes_[at].hash != hash)
    at = (at + 1) & (slots_ - 1);
  return nodes_[at].used ? &nodes_[at] : nullptr;
}

void KeyJoin::add_edges() {
  KeyBlocks names(start_, stop_);
  while (const smalloc_keys *b = names.next())
    for (uint32_t i = 0; i < b->flow_count; i++)
      if (flows_of(*b)[i].flags & SMALLOC_FLOW_WRAPPER)
        insert(flows_of(*b)[i].from).wrapper |= !(flows_of(*b)[i].flags & SMALLOC_FLOW_CONDITIONAL);
  // Propagates wrappers of other units' wrappers. They are only a few units deep; kMostDepth bounds
  // the rounds in any case.
  bool more = true;
  for (unsigned round = 0; more && round < kMostDepth; round++) {
    more = false;
    KeyBlocks conditions(start_, stop_);
    while (const smalloc_keys *b = conditions.next())
      for (uint32_t i = 0; i < b->flow_count; i++)
        if ((flows_of(*b)[i].flags & SMALLOC_FLOW_IF_WRAPPER) &&
            insert(flows_of(*b)[i].from).wrapper && !insert(flows_of(*b)[i].to).wrapper)
          more = insert(flows_of(*b)[i].to).wrapper = true;
  }
  KeyBlocks blocks(start_, stop_);
  while (const smalloc_keys *b = blocks.next()) {
    for (uint32_t i = 0; i < b->flow_count; i++) {
      const smalloc_flow &flow = flows_of(*b)[i];
      if (flow.flags & (SMALLOC_FLOW_WRAPPER | SMALLOC_FLOW_IF_WRAPPER))
        continue;
      Node &from = insert(flow.from);
      if ((flow.flags & SMALLOC_FLOW_UNLESS_WRAPPER) && from.wrapper)
        continue;
      Node &to = insert(flow.to);
      edges_[edge_count_] = {&flow,
                             b,
                             static_cast<uint32_t>(&from - nodes_),
                             static_cast<uint32_t>(&to - nodes_),
                             to.first_in,
                             from.first_out};
      to.first_in = from.first_out = ++edge_count_;
    }
  }
}

/// Heap sort: in place, and n log n on every input.
void KeyJoin::sort_accesses() {
  auto down = [&](uint32_t at, uint32_t end) {
    for (;;) {
      uint32_t child = 2 * at + 1;
      if (child >= end)
        return;
      if (child + 1 < end && better(*accesses_[child].access, *accesses_[child + 1].access))
        child++;
      if (!better(*accesses_[at].access, *accesses_[child].access))
        return;
      Access moved = accesses_[at];
      accesses_[at] = accesses_[child];
      accesses_[child] = moved;
      at = child;
    }
  };
  for (uint32_t i = access_count_ / 2; i-- > 0;)
    down(i, access_count_);
  for (uint32_t end = access_count_; end-- > 1;) {
    Access worst = accesses_[0];
    accesses_[0] = accesses_[end];
    accesses_[end] = worst;
    down(0, end);
  }
}

void KeyJoin::visit(uint32_t node, Place place, uint32_t access, uint32_t edge) {
  Node &n = nodes_[node];
  if (n.access[place] || (place == kStored && n.access[kContents]))
    return;
  n.access[place] = access;
  if (place == kItself)
    n.edge = edge;
  work_[work_size_++] = node * kPlaceKinds + place;
}

void KeyJoin::spread(const Access &access) {
  uint32_t number = static_cast<uint32_t>(&access - accesses_) + 1;
  work_size_ = 0;
  visit(static_cast<uint32_t>(&insert(access.access->key) - nodes_),
        access.access->contents ? kContents : kItself, number, 0);
  while (work_size_ > 0) {
    const uint32_t at = work_[--work_size_] / kPlaceKinds;
    const Place place = static_cast<Place>(work_[work_size_] % kPlaceKinds);
    for (uint32_t e = nodes_[at].first_in; e; e = edges_[e - 1].next_in) {
      const unsigned flags = edges_[e - 1].flow->flags;
      const bool to = flags & SMALLOC_FLOW_TO_CONTENTS, from = flags & SMALLOC_FLOW_FROM_CONTENTS;
      if (to == (place != kItself))
        visit(edges_[e - 1].from, from ? kContents : kItself, number, e);
      else if (place == kContents && !from) // a block's contents go where the block goes
        visit(edges_[e - 1].from, kContents, number, e);
    }
    if (place == kItself)
      continue;
    // Visit what functions store that have received the block.
    for (uint32_t e = nodes_[at].first_out; e; e = edges_[e - 1].next_out)
      if (!(edges_[e - 1].flow->flags & (SMALLOC_FLOW_TO_CONTENTS | SMALLOC_FLOW_FROM_CONTENTS)))
        visit(edges_[e - 1].to, kStored, number, e);
  }
}

void KeyJoin::run(void *scratch) {
  auto *at = static_cast<char *>(scratch);
  auto take = [&](size_t bytes) {
    char *taken = at;
    at += bytes;
    return taken;
  };
  nodes_ = reinterpret_cast<Node *>(take(slots_ * sizeof(Node)));
  edges_ = reinterpret_cast<Edge *>(take(flow_count_ * sizeof(Edge)));
  accesses_ = reinterpret_cast<Access *>(take(access_count_ * sizeof(Access)));
  work_ = reinterpret_cast<uint32_t *>(take(kPlaceKinds * slots_ * sizeof(uint32_t)));
  add_edges();
  uint32_t count = 0;
  KeyBlocks blocks(start_, stop_);
  while (const smalloc_keys *b = blocks.next())
    for (uint32_t i = 0; i < b->access_count; i++)
      accesses_[count++] = {&accesses_of(*b)[i], b};
  sort_accesses();
  for (uint32_t i = 0; i < access_count_; i++)
    spread(accesses_[i]);
}

JoinedAccess KeyJoin::of(uint64_t node) const {
  JoinedAccess found;
  const Node *n = node ? find(node) : nullptr;
  if (!n || !n->access[kItself])
    return found;
  const Access &access = accesses_[n->access[kItself] - 1];
  found.access = access.access;
  found.block = access.block;
  if (n->edge) {
    found.first = edges_[n->edge - 1].flow;
    found.first_block = edges_[n->edge - 1].block;
  }
  return found;
}

bool KeyJoin::is_wrapper(uint64_t node) const {
  const Node *n = find(node);
  return n && n->wrapper;
}

} // namespace smalloc
