// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// churn: a constant number of live bytes in objects whose sizes change over time (16 bytes to 4
// KiB, the mean drifts). Freed gaps rarely fit new objects. Prints live against resident bytes.
//   churn [MiB live] [millions of replacements]
#include "report.h"

struct node {
  uint32_t bytes, check;
};

int main(int argc, char **argv) {
  uint64_t target = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20;
  uint64_t turns = (uint64_t)((argc > 2 ? strtod(argv[2], NULL) : 6) * 1e6), x = 88172645463325252u,
           live = 0, sum = 0;
  size_t capacity = target / 64, count = 0;
  struct node **node = bloat_check(malloc(capacity * sizeof *node));
  for (uint64_t turn = 0; turn < turns || live < target; turn++) {
    uint64_t r = bloat_next(&x), middle = 32u << (turn * 6 / (turns ? turns : 1) % 6);
    if (live < target && count < capacity) {
      uint32_t bytes = (uint32_t)(16 + r % (middle * 3 > 4080 ? 4080 : middle * 3));
      node[count] = bloat_check(malloc(bytes));
      memset(node[count], (int)turn, bytes);
      node[count]->bytes = bytes;
      node[count]->check = (uint32_t)turn;
      live += bytes;
      count++;
    } else if (count) { /* frees two at random */
      for (int k = 0; k < 2 && count; k++) {
        size_t at = bloat_next(&x) % count;
        sum += node[at]->check;
        live -= node[at]->bytes;
        free(node[at]);
        node[at] = node[--count];
      }
    }
  }
  bloat_measure(count + capacity * sizeof *node / 4080, 4080);
  for (size_t i = 0; i < count; i++)
    bloat_live(node[i], node[i]->bytes);
  bloat_live(node, capacity * sizeof *node);
  bloat_report("churn", live + capacity * sizeof *node, sum);
  return 0;
}
