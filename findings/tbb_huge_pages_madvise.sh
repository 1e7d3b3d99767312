#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# oneTBB's malloc 2021.8 (Debian 12's libtbbmalloc2 2021.8.0-2+deb12u1) on Linux 6.1.176 (Debian
# 12's linux-image-6.1.0-50-amd64 6.1.176-1): the mode TBBMALLOC_USE_HUGE_PAGES.
#
# Its header says that the mode turns the use of huge pages on and off. A program turns it on by
# scalable_allocation_mode, allocates 64 MB as objects of 1 MiB, and writes to them.
# The call returns TBBMALLOC_OK in each of the kernel's THP modes, even in never. It changes
# something only in the mode always: 98 MiB of superpages with it, at most 2 MiB without it.
# In the mode madvise, in which a program has to ask for superpages, oneTBB does not ask. There are
# none, with or without it. (glibc's tunable glibc.malloc.hugetlb=1 works in the mode madvise.)
# In the mode always, 64 MB of objects of 100,000 bytes get 146 MiB of superpages.
# The kernel has no reserved huge pages, the other kind that oneTBB could use.
# Debian 13 (oneTBB 2022.1, Linux 6.12.117) and Debian sid (oneTBB 2023.1, Linux 7.2.13) behaved the
# same in a run by hand.
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
for package in linux-image-6.1.0-50-amd64=6.1.176-1 libc6=2.36-9+deb12u14 \
  libtbbmalloc2=2021.8.0-2+deb12u1; do
  apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
cat >objects.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int scalable_allocation_mode(int mode, intptr_t value);
void *scalable_malloc(size_t bytes);
enum { kUseHugePages = 0, kSum = 64000000 };
int main(int argc, char **argv) {
  char line[512];
  long kib = -1;
  long bytes = argc > 3 ? atol(argv[2]) : 0;
  if (bytes <= 0)
    return 1;
  int result = scalable_allocation_mode(kUseHugePages, !strcmp(argv[3], "on"));
  for (long sum = 0; sum < kSum; sum += bytes)
    memset(scalable_malloc(bytes), 1, bytes);
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f))
    sscanf(line, "AnonHugePages: %ld", &kib);
  printf("RESULT %s, objects of %ld bytes, huge pages %s: result %d, %ld MiB of superpages\n",
         argv[1], bytes, argv[3], result, kib / 1024);
  return 0;
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
static void run(const char *mode, const char *bytes, const char *on) {
  int status = 0;
  put(THP "enabled", mode);
  pid_t child = fork();
  if (child == 0)
    execl("/ld.so", "/ld.so", "--library-path", "/", "/objects", mode, bytes, on, NULL);
  waitpid(child, &status, 0);
  if (status)
    printf("RESULT failed\n");
}
int main(void) {
  const char *modes[] = {"never", "madvise", "always"};
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
  for (int i = 0; i < 3; i++) {
    run(modes[i], "1048576", "off");
    run(modes[i], "1048576", "on");
  }
  run("always", "100000", "off");
  run("always", "100000", "on");
  reboot(RB_POWER_OFF);
}
C
libraries=$(dirname "$(find root -name libc.so.6)")
cp "$libraries/ld-linux-x86-64.so.2" ld.so
cp "$libraries/libc.so.6" .
cp -L "$(find root -name libtbbmalloc.so.2)" libtbbmalloc.so.2
cc -O1 -static init.c -o init
cc -O1 objects.c libtbbmalloc.so.2 -o objects
printf '%s\n' init objects ld.so libc.so.6 libtbbmalloc.so.2 |
  cpio -o -H newc --quiet >initrd
timeout 300 qemu-system-x86_64 -accel tcg -m 1024 -nographic -no-reboot \
  -kernel root/boot/vmlinuz-* -initrd initrd \
  -append 'console=ttyS0 quiet panic=-1 transparent_hugepage=madvise' </dev/null >log 2>&1
sed -n 's/\r$//; s/^RESULT //p' log >seen
cat seen
changed=0
expect() { # LEAST MOST LINE
  local mib
  mib=$(sed -n "s/^$3, \([0-9]*\) MiB of superpages$/\1/p" seen)
  { [ -n "$mib" ] && [ "$mib" -ge "$1" ] && [ "$mib" -le "$2" ]; } || changed=1
}
for mode in never madvise; do
  expect 0 0 "$mode, objects of 1048576 bytes, huge pages off: result 0"
  expect 0 0 "$mode, objects of 1048576 bytes, huge pages on: result 0"
done
for bytes in 1048576 100000; do
  expect 0 4 "always, objects of $bytes bytes, huge pages off: result 0"
done
expect 64 256 "always, objects of 1048576 bytes, huge pages on: result 0"
expect 128 256 "always, objects of 100000 bytes, huge pages on: result 0"
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
