// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node_heaps.cpp creates the node heaps and their caches. A thread has one cache that follows it
// from node to node, and one for the first place that a hint names. The arenas serve all further
// places directly, which is slower but correct.
#include "smalloc/small/node_heaps.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/numa/system_nodes.h"
#include "smalloc/os/node_policy.h"

#include <pthread.h>
#include <sched.h>

namespace smalloc {

constinit NodeHeaps g_node_heaps;

namespace {
enum Slot : unsigned { kOwnNode, kNamed, kSlots };

struct NodeThread {
  unsigned cache[kSlots];
  uint8_t heap_and_one[kSlots]; ///< 0: there is no cache
  bool refused;
};
__thread NodeThread t_node __attribute__((tls_model("initial-exec")));
pthread_key_t g_caches_key;

void return_caches(void *) {
  NodeThread &t = t_node;
  t.refused = true; // later destructors of this thread use no cache
  for (unsigned slot = 0; slot < kSlots; slot++)
    if (t.heap_and_one[slot]) {
      t.heap_and_one[slot] = 0;
      jepriv_mallctl("tcache.destroy", nullptr, nullptr, &t.cache[slot], sizeof t.cache[slot]);
    }
}

unsigned read_weight(const char *sysfs, uint32_t os_node) {
  TextBuffer<256> path;
  path.put(sysfs).put("/kernel/mm/mempolicy/weighted_interleave/node").number(os_node);
  path.put_char('\0');
  return static_cast<unsigned>(min_of<uint64_t>(number_in_file(kLinux, path.data(), 1), 255));
}

} // namespace

/// The index of a hooks table is the number of its heap.
struct NodeHooks {
  static je_extent_hooks table[NodeHeaps::kHeaps];
  static void *alloc(je_extent_hooks *hooks, void *at, size_t bytes, size_t alignment, bool *zero,
                     bool *commit, unsigned) {
    if (at)
      return nullptr;
    *zero = true;
    *commit = false; // so that each use calls commit(), which counts pages
    const auto heap = static_cast<unsigned>(hooks - table);
    return g_node_heaps.units_.grow(heap / 2, heap % 2, bytes, alignment);
  }
  static bool dalloc(je_extent_hooks *, void *, size_t, bool, unsigned) { return true; }
  static bool commit(je_extent_hooks *, void *p, size_t, size_t offset, size_t bytes, unsigned) {
    return !g_node_heaps.pages().commit(static_cast<char *>(p) + offset, bytes);
  }
  static bool decommit(je_extent_hooks *, void *p, size_t, size_t offset, size_t bytes, unsigned) {
    g_node_heaps.pages().decommit(static_cast<char *>(p) + offset, bytes);
    return false;
  }
  static bool split(je_extent_hooks *, void *, size_t, size_t, size_t, bool, unsigned) {
    return false;
  }
  static bool merge(je_extent_hooks *, void *, size_t, void *, size_t, bool, unsigned) {
    return false;
  }
};
je_extent_hooks NodeHooks::table[NodeHeaps::kHeaps];

void NodeHeaps::before_fork_locks() {
  KeepErrno keep;
  NodeThread &t = t_node;
  for (unsigned slot = 0; slot < kSlots; slot++)
    if (t.heap_and_one[slot])
      jepriv_mallctl("tcache.flush", nullptr, nullptr, &t.cache[slot], sizeof t.cache[slot]);
}

void NodeHeaps::after_fork_in_child() {
  if (state_.load() == HeapState::kStarting) // by a thread that the child does not have
    state_.store(HeapState::kOff);
  for (std::atomic<HeapState> &arena : arena_state_)
    if (arena.load() == HeapState::kStarting)
      arena.store(HeapState::kUninitialised);
}

void NodeHeaps::configure(Region &region, const Config &config) {
  region_ = &region;
  config_ = config;
}

/// Waits for another thread that creates the arena: until then objects would lie on any node. The
/// wait is bounded, since that thread may have the lower priority.
static bool wait_for(const std::atomic<HeapState> &state) {
  constexpr unsigned kMostYields = 10000;
  for (unsigned i = 0;
       i < kMostYields && state.load(std::memory_order_acquire) == HeapState::kStarting; i++)
    sched_yield();
  return state.load(std::memory_order_acquire) == HeapState::kReady;
}

bool NodeHeaps::start() {
  HeapState seen = HeapState::kUninitialised;
  if (!config_.topology || !config_.topology() ||
      !state_.compare_exchange_strong(seen, HeapState::kStarting, std::memory_order_acq_rel))
    return seen == HeapState::kReady || (seen == HeapState::kStarting && wait_for(state_));
  if (!g_small.start()) { // being started by another thread: try later
    state_.store(HeapState::kUninitialised, std::memory_order_release);
    return false;
  }
  NodeUnits::Config config;
  config.topology = topology_ = config_.topology();
  config.set_policy = set_node_policy;
  config.pages = config_.pages;
  for (unsigned n = 0; n < topology_->nodes; n++)
    config.weight[n] = read_weight(config_.sysfs, topology_->node[n].os_id);
  const bool ok =
      units_.init(*region_, config) && pthread_key_create(&g_caches_key, return_caches) == 0;
  state_.store(ok ? HeapState::kReady : HeapState::kOff, std::memory_order_release);
  return ok;
}

bool NodeHeaps::start_arena(unsigned heap) {
  HeapState seen = HeapState::kUninitialised;
  if (!arena_state_[heap].compare_exchange_strong(seen, HeapState::kStarting))
    return seen == HeapState::kReady ||
           (seen == HeapState::kStarting && wait_for(arena_state_[heap]));
  NodeHooks::table[heap] = {NodeHooks::alloc,  NodeHooks::dalloc,   nullptr,
                            NodeHooks::commit, NodeHooks::decommit, nullptr,
                            nullptr,           NodeHooks::split,    NodeHooks::merge};
  const bool ok = SmallHeap::make_arena(arenas_[heap], &NodeHooks::table[heap]);
  arena_state_[heap].store(ok ? HeapState::kReady : HeapState::kOff, std::memory_order_release);
  return ok;
}

/// Returns jemalloc's flags with this thread's cache for `heap`, if it has one. `by_thread`: the
/// place follows the thread's node, which may have changed.
int NodeHeaps::flags_for(unsigned heap, bool by_thread) {
  NodeThread &t = t_node;
  for (unsigned slot = 0; slot < kSlots; slot++)
    if (t.heap_and_one[slot] == heap + 1)
      return je_tcache(t.cache[slot]);
  // Another page size on the same node is no move.
  const bool moved = !t.heap_and_one[kOwnNode] || (t.heap_and_one[kOwnNode] - 1u) / 2 != heap / 2;
  const unsigned slot = by_thread && moved ? kOwnNode : kNamed;
  if (t.refused || (slot == kNamed && t.heap_and_one[slot]))
    return kJeNoTcache;
  if (t.heap_and_one[slot]) { // the thread has moved: flush its cache to the old arena
    jepriv_mallctl("tcache.flush", nullptr, nullptr, &t.cache[slot], sizeof t.cache[slot]);
  } else {
    unsigned cache;
    size_t size = sizeof cache;
    if (pthread_setspecific(g_caches_key, &t) != 0 ||
        jepriv_mallctl("tcache.create", &cache, &size, nullptr, 0) != 0) {
      t.refused = true;
      return kJeNoTcache;
    }
    t.cache[slot] = cache;
  }
  t.heap_and_one[slot] = static_cast<uint8_t>(heap + 1);
  return je_tcache(t.cache[slot]);
}

void *NodeHeaps::allocate(numa::Placement placement, bool superpages, size_t bytes,
                          size_t alignment, bool zero) {
  if (SMALLOC_UNLIKELY(!ready()) && !start())
    return nullptr;
  KeepErrno keep;
  const int cpu = sched_getcpu();
  const unsigned from = cpu >= 0 && static_cast<unsigned>(cpu) < numa::kMaxCpus
                            ? topology_->node_of_cpu[cpu]
                            : numa::kNoNode;
  const unsigned place = units_.place_for(placement, from);
  if (place == NodeUnits::kNoPlace)
    return nullptr;
  const unsigned heap = 2 * place + superpages;
  if (SMALLOC_UNLIKELY(arena_state_[heap].load(std::memory_order_acquire) != HeapState::kReady) &&
      !start_arena(heap))
    return nullptr;
  const bool by_thread = placement.kind == numa::PlacementKind::kLocal ||
                         placement.kind == numa::PlacementKind::kPartition;
  const int flags = flags_for(heap, by_thread);
  return jepriv_mallocx(bytes ? bytes : 1, flags | je_arena(arenas_[heap]) | je_align(alignment) |
                                               (zero ? kJeZero : 0));
}

void NodeHeaps::release(void *p) {
  const unsigned heap = heap_of(p);
  for (unsigned slot = 0; slot < kSlots; slot++)
    if (t_node.heap_and_one[slot] == heap + 1)
      return jepriv_dallocx(p, je_tcache(t_node.cache[slot]));
  jepriv_dallocx(p, kJeNoTcache);
}

void *NodeHeaps::resize(void *p, size_t bytes) {
  KeepErrno keep;
  const unsigned heap = heap_of(p);
  int flags = kJeNoTcache;
  for (unsigned slot = 0; slot < kSlots; slot++)
    if (t_node.heap_and_one[slot] == heap + 1)
      flags = je_tcache(t_node.cache[slot]);
  return jepriv_rallocx(p, bytes, flags | je_arena(arenas_[heap]));
}

} // namespace smalloc
