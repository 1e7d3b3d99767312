#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# glibc 2.36 (Debian 12's libc6 2.36-9+deb12u14) on Linux 6.1.176 (Debian 12's
# linux-image-6.1.0-50-amd64 6.1.176-1): realloc of a large array and its superpages.
#
# glibc's realloc moves a mapped array by mremap, which copies no byte. The superpages are lost.
# mremap keeps a superpage only if the old and the new address have the same offset in it. The
# kernel takes the next free place below. A mapping of malloc is a page longer than its array, so
# that place is off by a page. Each superpage becomes 512 base pages in the page table.
# The THP mode is always. A program has an array of 64 MiB, written to, with 62 MiB of superpages,
# and another array above it. realloc takes it to 128 MiB, and it moves. It has 0 MiB of superpages
# then. After a write to all of the new half, that half has 62 MiB.
# By malloc, memcpy and free in place of realloc, the array has 126 MiB.
# MADV_COLLAPSE after realloc brings 126 MiB as well.
# Debian 13 (glibc 2.41, Linux 6.12.117) and Debian sid (glibc 2.43, Linux 7.2.13) behaved the same
# in a run by hand, although these kernels align a mapping whose length is a multiple of 2 MiB.
# The script boots the kernel in an emulator, whatever the machine's own kernel is.
# There khugepaged, which could collapse the pages later, scans one page and then sleeps.
# Exits 0 while that is so, 1 when it has changed, 77 without the emulator or cpio.
set -euo pipefail
for tool in qemu-system-x86_64 cpio; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in linux-image-6.1.0-50-amd64=6.1.176-1 libc6=2.36-9+deb12u14; do
  apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
cat >grow.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { kCollapse = 25, kSuperpage = 2 << 20, kMiB = 1 << 20, kOld = 64 * kMiB, kNew = 128 * kMiB };
static void report(const char *what, const char *array) {
  char line[512];
  long mapped = -1, rss = -1;
  int found = 0;
  unsigned long begin, end;
  FILE *f = fopen("/proc/self/smaps", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
      found = begin <= (uintptr_t)array && (uintptr_t)array < end;
    else if (found && !sscanf(line, "Rss: %ld", &rss))
      sscanf(line, "AnonHugePages: %ld", &mapped);
  fclose(f);
  printf("RESULT   %s: %ld MiB of superpages\n", what, mapped / 1024);
}
int main(int argc, char **argv) {
  (void)argv;
  int by_realloc = argc > 1;
  char *first = malloc(kOld);
  char *second = malloc(kOld);
  first[0] = 1;
  memset(second, 1, kOld);
  uintptr_t old = (uintptr_t)second;
  printf("RESULT %s\n", by_realloc ? "realloc" : "malloc, memcpy, free");
  report("64 MiB, written", second + kOld / 2);
  if (by_realloc) {
    second = realloc(second, kNew);
  } else {
    char *copy = malloc(kNew);
    memcpy(copy, second, kOld);
    free(second);
    second = copy;
  }
  printf("RESULT   %s\n", (uintptr_t)second == old ? "stays" : "moves");
  if (by_realloc)
    report("128 MiB, unwritten", second + kOld / 2);
  memset(second + kOld, 1, kOld);
  report("128 MiB, written", second + kOld / 2);
  char *begin = (char *)(((uintptr_t)second + kSuperpage - 1) / kSuperpage * kSuperpage);
  if (madvise(begin, kNew - kSuperpage, kCollapse))
    puts("RESULT cannot collapse");
  report("after MADV_COLLAPSE", second + kOld / 2);
  return first == second;
}
C
cat >init.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#define KHUGEPAGED "/sys/kernel/mm/transparent_hugepage/khugepaged/"
static void put(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
    printf("RESULT cannot write %s\n", path);
  close(file);
}
static void run(const char *argument) {
  int status = 0;
  pid_t child = fork();
  if (child == 0)
    execl("/ld.so", "/ld.so", "--library-path", "/", "/grow", argument, NULL);
  waitpid(child, &status, 0);
  if (status)
    printf("RESULT failed\n");
}
int main(void) {
  struct utsname kernel;
  setvbuf(stdout, NULL, _IONBF, 0);
  mkdir("/proc", 0755);
  mkdir("/sys", 0755);
  mount("proc", "/proc", "proc", 0, NULL);
  mount("sysfs", "/sys", "sysfs", 0, NULL);
  put(KHUGEPAGED "scan_sleep_millisecs", "100000000");
  put(KHUGEPAGED "pages_to_scan", "1");
  uname(&kernel);
  printf("\nRESULT Linux %s\n", kernel.release);
  run("realloc");
  run(NULL);
  reboot(RB_POWER_OFF);
}
C
cc -O1 -static init.c -o init
cc -O1 -fno-builtin grow.c -o grow
libraries=$(dirname "$(find root -name libc.so.6)")
cp "$libraries/ld-linux-x86-64.so.2" ld.so
cp "$libraries/libc.so.6" .
printf '%s\n' init grow ld.so libc.so.6 | cpio -o -H newc --quiet >initrd
timeout 300 qemu-system-x86_64 -accel tcg -m 1024 -nographic -no-reboot \
  -kernel root/boot/vmlinuz-* -initrd initrd \
  -append 'console=ttyS0 quiet panic=-1 transparent_hugepage=always' </dev/null >log 2>&1
sed -n 's/\r$//; s/^RESULT //p' log >seen
cat seen
cat >expected <<'E'
realloc
  64 MiB, written: 62 MiB of superpages
  moves
  128 MiB, unwritten: 0 MiB of superpages
  128 MiB, written: 62 MiB of superpages
  after MADV_COLLAPSE: 126 MiB of superpages
malloc, memcpy, free
  64 MiB, written: 62 MiB of superpages
  moves
  128 MiB, written: 126 MiB of superpages
  after MADV_COLLAPSE: 126 MiB of superpages
E
# The start of the mappings is random, so a superpage at either end belongs to the array or not.
if ! sed -E '1d; s/: 6[0-4] MiB/: 62 MiB/; s/: 12[4-8] MiB/: 126 MiB/' seen |
  cmp -s - expected; then
  echo "changed"
  exit 1
fi
