// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vectors: many vectors of the program's own type grow in turns. A full vector gets a buffer of
// twice the size through the program's own wrapper of malloc, copies, and frees the old one. So all
// of them request each size, and later none. Only merging makes small buffers' memory useful again.
// Prints live bytes against resident bytes: fragmentation.
//   vectors [thousands of vectors] [elements each] [bytes of one] [random: 1] [first buffer]
#include "report.h"

__attribute__((noinline)) static void *xmalloc(size_t bytes) { return bloat_check(malloc(bytes)); }

struct Vector {
  char *items = nullptr;
  uint32_t count = 0, room = 0;
  void push(uint32_t value, size_t element, uint32_t first) {
    if (count == room) {
      const uint32_t more = room ? 2 * room : first;
      char *bigger = static_cast<char *>(xmalloc(more * element));
      memcpy(bigger, items ? items : bigger, count * element);
      free(items);
      items = bigger;
      room = more;
    }
    memset(items + count * element, static_cast<int>(value), element);
    count++;
  }
};

int main(int argc, char **argv) {
  const size_t vectors = (argc > 1 ? strtoull(argv[1], nullptr, 10) : 500) * 1000,
               elements = argc > 2 ? strtoull(argv[2], nullptr, 10) : 6,
               element = argc > 3 ? strtoull(argv[3], nullptr, 10) : 8;
  const bool at_random = argc > 4 && strtoull(argv[4], nullptr, 10) != 0;
  const uint32_t first = argc > 5 ? static_cast<uint32_t>(strtoul(argv[5], nullptr, 10)) : 2;
  uint64_t x = 88172645463325252u, sum = 0, live = vectors * sizeof(Vector);
  Vector *vector = static_cast<Vector *>(xmalloc(vectors * sizeof(Vector)));
  for (size_t i = 0; i < vectors; i++)
    vector[i] = Vector();
  for (size_t i = 0; i < vectors * elements; i++)
    vector[at_random ? bloat_next(&x) % vectors : i % vectors].push(static_cast<uint32_t>(i),
                                                                    element, first);
  for (size_t i = 0; i < vectors; i++) {
    live += vector[i].count * element;
    for (size_t k = 0; k < vector[i].count * element; k++)
      sum += static_cast<unsigned char>(vector[i].items[k]);
  }
  bloat_measure(vectors + vectors * sizeof(Vector) / 4096 + 2, 4096);
  for (size_t i = 0; i < vectors; i++)
    if (vector[i].items)
      bloat_live(vector[i].items, vector[i].count * element);
  for (size_t at = 0; at < vectors * sizeof(Vector); at += 4096)
    bloat_live(reinterpret_cast<char *>(vector) + at, 1);
  bloat_report("vectors", live, sum);
  return 0;
}
