// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_mover.cpp calls move_pages(2) and maps each answer of the kernel to a reason.
#include "smalloc/numa/page_mover.h"
#include "smalloc/base/clock.h"
#include "smalloc/numa/page_backing.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

constexpr int kOnlyOwnPages = 1 << 1; // MPOL_MF_MOVE
constexpr int kUnanswered = INT_MIN;  // move_pages leaves the status of pages that it did not reach
                                      // unchanged

long kernel_move_pages(unsigned long count, void **pages, const int *nodes, int *status) {
  const int before = errno;
  long r = syscall(SYS_move_pages, 0, count, pages, nodes, status, kOnlyOwnPages);
  if (r < 0)
    r = -errno;
  errno = before;
  return r;
}

} // namespace

const MoverHooks kKernelMover = {kernel_move_pages, join_pages, clock_ns<CLOCK_MONOTONIC>,
                                 split_superpage};

const char *failure_name(MoveFailure failure) {
  static const char *const names[] = {"busy", "no_memory",   "shared",        "absent",
                                      "gone", "not_allowed", "split_refused", "other"};
  return names[failure];
}

void PageMover::fail(long error) {
  MoveFailure reason = kOtherFailure;
  switch (-error) {
  case EBUSY:
  case EAGAIN:
    reason = kBusy;
    break;
  case ENOMEM:
    reason = kNoMemory;
    break;
  case EACCES:
    reason = kShared;
    break;
  case ENOENT:
    reason = kAbsent;
    break;
  case EFAULT:
    reason = kGone;
    break;
  case EPERM:
  case ENODEV:
  case EINVAL:
  case ENOSYS:
    reason = kNotAllowed;
    break;
  default:
    break;
  }
  counters_.failures[reason]++;
}

uint8_t PageMover::index_of(int os_node) const {
  for (unsigned n = 0; n < topology_.nodes; n++)
    if (static_cast<int>(topology_.node[n].os_id) == os_node)
      return static_cast<uint8_t>(n);
  return kNoNode;
}

void PageMover::run_batch(MigrationPolicy &policy, const Move *const *moves, unsigned n,
                          size_t &done) {
  void *pages[kBatch];
  int nodes[kBatch] = {}, status[kBatch] = {};
  for (unsigned i = 0; i < n; i++) {
    pages[i] = reinterpret_cast<void *>(moves[i]->address());
    nodes[i] = static_cast<int>(topology_.node[moves[i]->to].os_id);
    status[i] = kUnanswered;
  }
  counters_.calls++;
  const long r = hooks_.move_pages(n, pages, nodes, status);
  for (unsigned i = 0; i < n; i++) {
    const Move &m = *moves[i];
    // A failed call has moved nothing. A call that gave up has left the rest unanswered.
    const bool moved = r >= 0 && status[i] == nodes[i];
    if (moved)
      (m.action == Action::kMovePage ? counters_.pages : counters_.superpages)++;
    else
      fail(r < 0 ? r : status[i] == kUnanswered ? -EBUSY : status[i] < 0 ? status[i] : -EBUSY);
    policy.carried_out(m, moved);
    done += moved;
    // The page lies elsewhere than recorded: the kernel's NUMA balancing moves pages too.
    if (!moved && r >= 0 && status[i] >= 0 && index_of(status[i]) != kNoNode &&
        m.action == Action::kMovePage)
      MigrationPolicy::placed(*m.unit, m.page, index_of(status[i]));
  }
}

size_t PageMover::carry_out(MigrationPolicy &policy, const Move *plan, size_t n,
                            const volatile bool *stop) {
  const uint64_t begun = hooks_.now_ns();
  const Move *batch[kBatch];
  unsigned waiting = 0;
  size_t done = 0;
  auto flush = [&] {
    if (waiting)
      run_batch(policy, batch, waiting, done);
    waiting = 0;
  };
  for (size_t i = 0; i < n; i++) {
    const Move &m = plan[i];
    if (stop && *stop) {
      policy.carried_out(m, false);
      continue;
    }
    if (m.action == Action::kCollapse) {
      const int error = hooks_.collapse(reinterpret_cast<void *>(m.address()), kSuperpageBytes);
      if (error)
        fail(-error);
      else
        counters_.collapses++;
      policy.carried_out(m, error == 0);
      done += error == 0;
      continue;
    }
    if (m.action == Action::kSplit &&
        hooks_.split(reinterpret_cast<void *>(m.unit->address)) == 0) {
      counters_.splits++;
      policy.carried_out(m, true);
      done++;
      continue;
    }
    if (m.action == Action::kSplit ||
        (m.action == Action::kMovePage && m.unit->granularity == Granularity::kSuperpage)) {
      counters_.failures[kSplitRefused]++;
      policy.carried_out(m, false);
      continue;
    }
    batch[waiting++] = &m;
    if (waiting == kBatch)
      flush();
  }
  flush();
  counters_.ns += hooks_.now_ns() - begun;
  return done;
}

size_t PageMover::locate(Unit &unit) {
  void *pages[kBatch];
  int status[kBatch];
  size_t resident = 0;
  for (unsigned from = 0; from < kPagesPerUnit; from += kBatch) {
    for (unsigned i = 0; i < kBatch; i++) {
      pages[i] = reinterpret_cast<void *>(unit.address + (from + i) * kBasePageBytes);
      status[i] = kUnanswered;
    }
    if (hooks_.move_pages(kBatch, pages, nullptr, status) < 0)
      return resident;
    for (unsigned i = 0; i < kBatch; i++)
      if (uint8_t node = status[i] >= 0 ? index_of(status[i]) : kNoNode; node != kNoNode) {
        MigrationPolicy::placed(unit, from + i, node);
        resident++;
      }
  }
  return resident;
}

} // namespace smalloc::numa
