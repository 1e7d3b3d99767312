// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparse_table: a table reserved for the worst case, of which one page in a hundred is used at
// random. Every use is a TLB miss, but a superpage would cost a hundred times the used memory.
//   sparse_table [MiB] [uses in millions]
#include "report.h"

int main(int argc, char **argv) {
  size_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1024) << 20;
  uint64_t uses = (argc > 2 ? strtoull(argv[2], NULL, 10) : 20) * 1000000, x = 88172645463325252u,
           sum = 0;
  size_t pages = bytes / 4096, used = pages / 100;
  uint64_t *table = bloat_check(malloc(bytes));
  for (size_t i = 0; i < used; i++)
    table[(i * 7919 % pages) * 512] = 1;
  for (uint64_t i = 0; i < uses; i++)
    sum += table[(bloat_next(&x) % used * 7919 % pages) * 512]++;
  bloat_report("sparse_table", used * 4096, sum);
  free(table);
  return 0;
}
