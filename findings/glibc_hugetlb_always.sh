#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# glibc 2.36 (Debian 12's libc6 2.36-9+deb12u14) on Linux 6.1.176 (Debian 12's
# linux-image-6.1.0-50-amd64 6.1.176-1): the tunable glibc.malloc.hugetlb=1 and the THP mode always.
#
# The tunable tells malloc to use transparent huge pages. It works in the kernel's mode madvise:
# malloc moves the break by 2 MiB or more, and the heap gets superpages. In the mode always, which
# permits more superpages, the tunable changes nothing. malloc moves the break by small steps, so
# a whole superpage is never part of the heap when the program touches it first.
# A program allocates 64,000 objects of 1,000 bytes and writes to them. In the mode madvise its heap
# has about 60 MiB of superpages with the tunable, and none without it.
# In the mode always the heap has none with the tunable, and none without it.
# glibc 2.41 on Linux 6.12.117 (Debian 13) behaved the same in a run by hand.
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
cat >heap.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char line[512];
  long kib = 0, steps = 0;
  char *last = sbrk(0);
  for (int i = 0; i < 64000; i++) {
    memset(malloc(1000), 1, 1000);
    char *now = sbrk(0);
    steps += now != last;
    last = now;
  }
  int heap = 0;
  unsigned long begin, end;
  FILE *f = fopen("/proc/self/smaps", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
      heap = strstr(line, "[heap]") != NULL;
    else if (heap)
      sscanf(line, "AnonHugePages: %ld", &kib);
  printf("RESULT %s: %ld MiB of superpages, %s of the break\n", argc > 1 ? argv[1] : "", kib / 1024,
         steps > 300 ? "more than 300 moves" : "less than 50 moves");
  return steps <= 300 && steps >= 50;
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
#define THP "/sys/kernel/mm/transparent_hugepage/"
static void put(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
    printf("RESULT cannot write %s\n", path);
  close(file);
}
static void run(const char *mode, const char *tunable) {
  char name[99], variable[99];
  put(THP "enabled", mode);
  snprintf(name, sizeof name, "%s, hugetlb=%s", mode, tunable);
  snprintf(variable, sizeof variable, "GLIBC_TUNABLES=glibc.malloc.hugetlb=%s", tunable);
  int status = 0;
  pid_t child = fork();
  if (child == 0)
    execle("/ld.so", "/ld.so", "--library-path", "/", "/heap", name, NULL,
           (char *[]){variable, NULL});
  waitpid(child, &status, 0);
  if (status)
    printf("RESULT %s: failed\n", name);
}
int main(void) {
  struct utsname kernel;
  setvbuf(stdout, NULL, _IONBF, 0);
  mkdir("/proc", 0755);
  mkdir("/sys", 0755);
  mount("proc", "/proc", "proc", 0, NULL);
  mount("sysfs", "/sys", "sysfs", 0, NULL);
  put(THP "khugepaged/scan_sleep_millisecs", "100000000");
  put(THP "khugepaged/pages_to_scan", "1");
  uname(&kernel);
  printf("\nRESULT Linux %s\n", kernel.release);
  run("madvise", "0");
  run("madvise", "1");
  run("always", "0");
  run("always", "1");
  reboot(RB_POWER_OFF);
}
C
cc -O1 -static init.c -o init
cc -O1 -fno-builtin heap.c -o heap
libraries=$(dirname "$(find root -name libc.so.6)")
cp "$libraries/ld-linux-x86-64.so.2" ld.so
cp "$libraries/libc.so.6" .
printf '%s\n' init heap ld.so libc.so.6 | cpio -o -H newc --quiet >initrd
timeout 300 qemu-system-x86_64 -accel tcg -m 1024 -nographic -no-reboot \
  -kernel root/boot/vmlinuz-* -initrd initrd \
  -append 'console=ttyS0 quiet panic=-1 transparent_hugepage=madvise' </dev/null >log 2>&1
sed -n 's/\r$//; s/^RESULT //p' log >seen
cat seen
cat >expected <<'E'
madvise, hugetlb=0: 0 MiB of superpages, more than 300 moves of the break
madvise, hugetlb=1: 60 MiB of superpages, less than 50 moves of the break
always, hugetlb=0: 0 MiB of superpages, more than 300 moves of the break
always, hugetlb=1: 0 MiB of superpages, more than 300 moves of the break
E
# The start of the heap is random, so the number of whole superpages in it varies.
# Two superpages at most may be the work of khugepaged before it sleeps.
if ! sed -E '1d; s/: (5[6-9]|6[0-2]) MiB/: 60 MiB/; s/: [1-4] MiB/: 0 MiB/' seen |
  cmp -s - expected; then
  echo "changed"
  exit 1
fi
