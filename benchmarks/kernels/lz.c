// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// lz: a compressor of the deflate kind. It finds the longest match in the last 32 KiB by chains of
// positions with equal hash. The output is expanded and compared. Negative control: fits the TLB.
//   lz [megabytes of text] [longest chain]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 1 << 15, kHashes = 1 << 15, kLeast = 4, kMost = 258 };

static uint32_t hash(const unsigned char *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word * 2654435761u >> 17;
}

/// Words of a language of 4096 words, some of them frequent.
static void write_text(unsigned char *text, size_t bytes) {
  uint32_t x = 88675123u;
  for (size_t i = 0; i < bytes;) {
    x = x * 1664525u + 1013904223u;
    uint32_t word = (x >> 20) & (x >> 8) & 4095;
    for (uint32_t letters = 3 + word % 7; letters > 0 && i < bytes; letters--, word = word * 31 + 7)
      text[i++] = (unsigned char)('a' + word % 26);
    if (i < bytes)
      text[i++] = ' ';
  }
}

/// Tokens of four bytes: a length and a distance, or 0 and the letter.
static size_t compress(const unsigned char *text, size_t bytes, uint32_t *head, uint32_t *chain,
                       unsigned most, uint16_t *out) {
  size_t tokens = 0;
  memset(head, 0xff, kHashes * sizeof *head);
  for (size_t i = 0; i < bytes;) {
    size_t best = 0, distance = 0;
    if (i + kMost < bytes) {
      uint32_t at = head[hash(text + i)];
      for (unsigned n = 0; n < most && at != UINT32_MAX && i - at < kWindow; n++) {
        size_t length = 0;
        while (length < kMost && text[at + length] == text[i + length])
          length++;
        if (length > best)
          best = length, distance = i - at;
        at = chain[at % kWindow];
      }
    }
    size_t step = best >= kLeast ? best : 1;
    out[2 * tokens] = best >= kLeast ? (uint16_t)best : 0;
    out[2 * tokens + 1] = best >= kLeast ? (uint16_t)distance : text[i];
    tokens++;
    for (; step > 0; step--, i++)
      if (i + kLeast <= bytes) {
        uint32_t *first = &head[hash(text + i)];
        chain[i % kWindow] = *first;
        *first = (uint32_t)i;
      }
  }
  return tokens;
}

static size_t expand(const uint16_t *in, size_t tokens, unsigned char *out) {
  size_t n = 0;
  for (size_t t = 0; t < tokens; t++) {
    if (!in[2 * t]) {
      out[n++] = (unsigned char)in[2 * t + 1];
      continue;
    }
    for (size_t k = 0; k < in[2 * t]; k++, n++)
      out[n] = out[n - in[2 * t + 1]];
  }
  return n;
}

int main(int argc, char **argv) {
  size_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 4) << 20;
  unsigned most = argc > 2 ? (unsigned)atoi(argv[2]) : 64;
  unsigned char *text = malloc(bytes + 8), *back = malloc(bytes + 8);
  uint32_t *head = malloc(kHashes * sizeof *head), *chain = malloc(kWindow * sizeof *chain);
  uint16_t *tokens = malloc(2 * sizeof *tokens * bytes + 8);
  if (!text || !back || !head || !chain || !tokens) {
    perror("lz");
    return 1;
  }
  write_text(text, bytes);
  size_t n = compress(text, bytes, head, chain, most, tokens);
  int same = expand(tokens, n, back) == bytes && memcmp(text, back, bytes) == 0;
  printf("lz bytes=%zu tokens=%zu same=%d\n", bytes, n, same);
  free(tokens);
  free(chain);
  free(head);
  free(back);
  free(text);
  return !same;
}
