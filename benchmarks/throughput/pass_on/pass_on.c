// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// pass_on: malloc and free are one jump each to the next definition. Every library that only
// forwards calls costs a program at least this much.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

static void *find_malloc(size_t bytes);
static void find_free(void *p);
static void *(*next_malloc)(size_t) = find_malloc;
static void (*next_free)(void *) = find_free;

__attribute__((visibility("default"))) void *malloc(size_t bytes) { return next_malloc(bytes); }
__attribute__((visibility("default"))) void free(void *p) { next_free(p); }

// glibc's dlsym allocates only to report errors.
static void *find_malloc(size_t bytes) {
  next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  return next_malloc(bytes);
}
static void find_free(void *p) {
  next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
  next_free(p);
}
