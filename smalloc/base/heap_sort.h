// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heap_sort.h sorts a table in place by heap sort: O(n log n), not stable. It serves code that runs
// before the program starts, because libc's qsort may call malloc.
#ifndef SMALLOC_BASE_HEAP_SORT_H
#define SMALLOC_BASE_HEAP_SORT_H

#include <stddef.h>

namespace smalloc {

/// Sorts `count` items. `before(a, b)` is a strict order: true if `a` must precede `b`.
template <class T, class Before> void heap_sort(T *items, size_t count, Before before) {
  const auto sink = [&](size_t root, size_t end) {
    for (size_t child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && before(items[child], items[child + 1]))
        child++;
      if (!before(items[root], items[child]))
        return;
      const T held = items[root];
      items[root] = items[child];
      items[child] = held;
    }
  };
  for (size_t i = count / 2; i-- > 0;)
    sink(i, count);
  for (size_t end = count; end > 1;) {
    end--;
    const T held = items[0];
    items[0] = items[end];
    items[end] = held;
    sink(0, end);
  }
}

} // namespace smalloc
#endif
