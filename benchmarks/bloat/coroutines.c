// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// coroutines: stacks of 64 KiB of which only two pages are touched, beside a hot table used at
// random. Superpages pay for the table, not for the stacks.
//   coroutines [stacks] [table MiB] [uses in millions]
#include "report.h"

enum { kStackBytes = 64 << 10 };

int main(int argc, char **argv) {
  size_t stacks = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
  size_t bytes = (argc > 2 ? strtoull(argv[2], NULL, 10) : 256) << 20, entries = bytes / 8;
  uint64_t uses = (argc > 3 ? strtoull(argv[3], NULL, 10) : 100) * 1000000, x = 88172645463325252u,
           sum = 0;
  uint64_t *table = bloat_check(malloc(bytes));
  for (size_t i = 0; i < entries; i++)
    table[i] = i;
  char **stack = bloat_check(malloc(stacks * sizeof *stack));
  for (size_t i = 0; i < stacks; i++) {
    stack[i] = bloat_check(malloc(kStackBytes));
    stack[i][kStackBytes - 1] = (char)i;
    stack[i][kStackBytes - 4097] = (char)(i + 1);
  }
  for (uint64_t i = 0; i < uses; i++)
    sum += table[bloat_next(&x) % entries]++;
  for (size_t i = 0; i < stacks; i++)
    sum += (unsigned char)stack[i][kStackBytes - 1] + (unsigned char)stack[i][kStackBytes - 4097];
  bloat_report("coroutines", bytes + stacks * 8192, sum);
  return 0;
}
