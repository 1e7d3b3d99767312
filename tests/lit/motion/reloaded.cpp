// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: members that a loop loads again in each iteration, because its stores may
// alias them, stay where they are: widths, bounds and pointers alike, also where optimisation loads
// them ahead and keeps them in a phi.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off -fno-strict-aliasing %s 2>&1 | FileCheck %s
// CHECK-DAG: {{base pages|undecided}}: {{.*}} in '{{.*}}paint{{.*}}': streamed
// CHECK-DAG: superpages{{.*}} in '{{.*}}smear{{.*}}': walked across rows
// CHECK-DAG: superpages{{.*}} in '{{.*}}search{{.*}}': picked at random through loaded indices
#include <cstdint>
#include <vector>
struct Image {
  int width, height;
  std::uint8_t *pixels;
};
void show(Image &);
void paint(int w, int h) {
  Image image{w, h, new std::uint8_t[std::size_t(w) * h]};
  show(image);
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      image.pixels[std::size_t(y) * image.width + x] = std::uint8_t(x * 7 + y * 3);
}
void smear(int w, int h) {
  Image image{w, h, new std::uint8_t[std::size_t(w) * h]};
  show(image);
  for (int x = 0; x < image.width; ++x)
    for (int y = 1; y < image.height; ++y)
      image.pixels[std::size_t(y) * image.width + x] +=
          image.pixels[std::size_t(y - 1) * image.width + x];
}
struct Search {
  std::uint8_t *seen;
  const std::uint32_t *next;
  std::vector<std::uint32_t> queue;
};
void start(Search &);
void search(std::size_t n, const std::uint32_t *next) {
  Search s{new std::uint8_t[n], next, {}};
  start(s);
  for (std::size_t head = 0; head < s.queue.size(); ++head)
    for (unsigned k = 0; k < 8; ++k) {
      const std::uint32_t to = s.next[s.queue[head] * 8 + k];
      if (!s.seen[to]) {
        s.seen[to] = 1;
        s.queue.push_back(to);
      }
    }
}
