#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# omp_alloc of LLVM 19.1.7's OpenMP runtime (Debian 12's libomp5-19 1:19.1.7-3~deb12u1) and of GCC
# 12.2.0's (libgomp1 12.2.0-14+deb12u1), with omp_default_mem_alloc.
#
# libgomp calls malloc for each object of omp_alloc, and free for each omp_free.
# libomp has an allocator of its own: each thread takes pools of 1 MiB from malloc, and cuts objects
# from them. So an allocator that replaces malloc serves pools only, and does not know the objects.
# 20,000 objects of 10,000 bytes are 20,000 calls of malloc in libgomp, and about 200 in libomp.
# If another thread frees them, libomp only puts them on a list of the thread that allocated them.
# That thread returns the pools in its next omp_alloc. If it makes no further call, all 191 MiB stay
# allocated, although no object exists.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
unset LD_PRELOAD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in libomp5-19=1:19.1.7-3~deb12u1 libgomp1=12.2.0-14+deb12u1; do
  apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
cat >objects.c <<'C'
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
void *omp_alloc(size_t bytes, uintptr_t allocator);
void omp_free(void *object, uintptr_t allocator);
void *__libc_malloc(size_t bytes);
void __libc_free(void *object);
enum { kObjects = 20000, kBytes = 10000, kDefault = 1 }; /* kDefault: omp_default_mem_alloc */
static void *objects[kObjects];
static long mallocs, frees;
void *malloc(size_t bytes) {
  __atomic_fetch_add(&mallocs, 1, __ATOMIC_RELAXED);
  return __libc_malloc(bytes);
}
void free(void *object) {
  __atomic_fetch_add(&frees, object != NULL, __ATOMIC_RELAXED);
  __libc_free(object);
}
static void *free_all(void *unused) {
  for (int i = 0; i < kObjects; i++)
    omp_free(objects[i], kDefault);
  return unused;
}
int main(void) {
  pthread_t other;
  omp_free(omp_alloc(10, kDefault), kDefault); /* starts the runtime */
  long before = mallocs;
  for (int i = 0; i < kObjects; i++)
    if (!(objects[i] = omp_alloc(kBytes, kDefault)))
      return 1;
  long allocated = mallocs - before;
  before = frees;
  if (pthread_create(&other, NULL, free_all, NULL) || pthread_join(other, NULL))
    return 1;
  long freed = frees - before;
  objects[0] = omp_alloc(10, kDefault);
  fprintf(stderr, "%ld %ld %ld\n", allocated, freed, frees - before);
  return 0;
}
C
echo "libomp5-19 1:19.1.7-3~deb12u1, libgomp1 12.2.0-14+deb12u1, 20,000 objects"
run() { # LIBRARY: prints calls of malloc, of free by the other thread, of free after a further call
  local library
  library=$(find "$PWD/root" -name "$1" | head -n 1)
  cc -O1 -fno-builtin objects.c "$library" -Wl,-rpath,"$(dirname "$library")" -pthread -o objects
  OMP_NUM_THREADS=1 ./objects 2>&1
}
read -r mallocs other later <<<"$(run libgomp.so.1)"
echo "libgomp: $mallocs calls of malloc; $other of free when another thread frees them"
changed=0
{ [ "$mallocs" -ge 20000 ] && [ "$other" -ge 20000 ]; } || changed=1
read -r mallocs other later <<<"$(run libomp.so.5)"
echo "libomp: $mallocs calls of malloc; $other of free when another thread frees them," \
  "$later after one more omp_alloc of the first thread"
{ [ "$mallocs" -lt 400 ] && [ "$other" -lt 20 ] && [ "$later" -gt 150 ]; } || changed=1
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
