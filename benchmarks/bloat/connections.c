// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// connections: a server's clients, each with a reply buffer of 16 KiB. An idle client uses one page
// of it; one client in a hundred is busy and uses all.
//   connections [clients] [rounds]
#include "report.h"

enum { kBufferBytes = 16 << 10 };
struct client {
  char *buffer;
  uint64_t replies;
  int fd;
};

int main(int argc, char **argv) {
  size_t clients = argc > 1 ? strtoull(argv[1], NULL, 10) : 30000,
         rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
  uint64_t sum = 0, live = 0;
  struct client **client = bloat_check(malloc(clients * sizeof *client));
  for (size_t i = 0; i < clients; i++) {
    client[i] = bloat_check(malloc(sizeof **client));
    client[i]->buffer = bloat_check(malloc(kBufferBytes));
    client[i]->replies = 0;
    client[i]->fd = (int)i;
    memset(client[i]->buffer, (int)i, 64);
    live += sizeof **client + 4096;
  }
  for (size_t round = 0; round < rounds; round++)
    for (size_t i = 0; i < clients; i++) {
      size_t bytes = i % 100 ? 64 : kBufferBytes;
      memset(client[i]->buffer, (int)(i + round), bytes);
      sum += (unsigned char)client[i]->buffer[bytes - 1] + ++client[i]->replies;
      live += round == 0 && bytes > 64 ? kBufferBytes - 4096 : 0;
    }
  bloat_report("connections", live, sum);
  return 0;
}
