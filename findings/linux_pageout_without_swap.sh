#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Linux 6.1.176 (Debian 12's linux-image-6.1.0-50-amd64 6.1.176-1), MADV_PAGEOUT and MADV_COLD.
#
# By madvise(2), MADV_PAGEOUT reclaims a range of pages, and MADV_COLD makes them a likelier target.
# Neither loses data, so both look harmless where nothing can be reclaimed.
# The machine has no swap. MADV_PAGEOUT of a whole superpage succeeds and frees nothing (Rss stays
# 2,048 KiB), but the superpage is now 512 base pages. Not only the mapping is split: by
# /proc/kpageflags the pages are no part of a superpage any more (KPF_THP).
# MADV_COLD of the whole superpage keeps it. MADV_COLD of one page of 4 KiB splits it the same way.
# A write to all pages afterwards does not bring the superpage back. MADV_COLLAPSE does.
# Linux 6.12.117 (Debian 13) and 7.2.13 (Debian sid) behaved the same in a run by hand.
# The script boots the kernel in an emulator, whatever the machine's own kernel is.
# There khugepaged, which could collapse the pages later, scans one page and then sleeps.
# Exits 0 while that is so, 1 when it has changed, 77 without the emulator or cpio.
set -euo pipefail
package=linux-image-6.1.0-50-amd64=6.1.176-1
for tool in qemu-system-x86_64 cpio; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
dpkg -x linux-image-*.deb root
cat >init.c <<'C'
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
enum { kCold = 20, kPageout = 21, kCollapse = 25, kPage = 4096, kSuperpage = 2 << 20 };
#define KHUGEPAGED "/sys/kernel/mm/transparent_hugepage/khugepaged/"
static void put(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
    printf("RESULT cannot write %s\n", path);
  close(file);
}
static uint64_t word(const char *path, uint64_t at) {
  uint64_t value = 0;
  int file = open(path, O_RDONLY);
  if (pread(file, &value, sizeof value, (off_t)(at * sizeof value)) != sizeof value)
    printf("RESULT cannot read %s\n", path);
  close(file);
  return value;
}
static int pages_of_superpages(const char *range) {
  int count = 0;
  for (int at = 0; at < kSuperpage; at += kPage) {
    uint64_t frame = word("/proc/self/pagemap", (uintptr_t)(range + at) / kPage) & ~(~0ULL << 55);
    count += word("/proc/kpageflags", frame) >> 22 & 1;
  }
  return count;
}
static void report(const char *what, int failed, const char *range) {
  const char *result = failed ? strerror(errno) : "succeeds";
  char line[512];
  long rss = -1, superpages = -1;
  int found = 0;
  unsigned long begin, end;
  FILE *f = fopen("/proc/self/smaps", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
      found = begin <= (uintptr_t)range && (uintptr_t)range < end;
    else if (found && !sscanf(line, "Rss: %ld", &rss))
      sscanf(line, "AnonHugePages: %ld", &superpages);
  fclose(f);
  printf("RESULT   %s: %s; Rss %ld KiB, mapped as superpages %ld KiB, pages of superpages: %d\n",
         what, result, rss, superpages, pages_of_superpages(range));
}
static void advise(const char *name, int advice, long bytes) {
  uintptr_t area = (uintptr_t)mmap(NULL, 2 * kSuperpage, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *range = (char *)((area + kSuperpage - 1) / kSuperpage * kSuperpage);
  printf("RESULT %s of %ld KiB\n", name, bytes / 1024);
  int failed = madvise(range, kSuperpage, MADV_HUGEPAGE) != 0;
  memset(range, 1, kSuperpage);
  report("first touch", failed, range);
  failed = madvise(range, bytes, advice) != 0;
  report("advice", failed, range);
  memset(range, 2, kSuperpage);
  report("written again", 0, range);
  failed = madvise(range, kSuperpage, kCollapse) != 0;
  report("MADV_COLLAPSE", failed, range);
}
int main(void) {
  struct utsname kernel;
  mkdir("/proc", 0755);
  mkdir("/sys", 0755);
  mount("proc", "/proc", "proc", 0, NULL);
  mount("sysfs", "/sys", "sysfs", 0, NULL);
  put(KHUGEPAGED "scan_sleep_millisecs", "100000000");
  put(KHUGEPAGED "pages_to_scan", "1");
  uname(&kernel);
  printf("\nRESULT Linux %s\n", kernel.release);
  advise("MADV_PAGEOUT", kPageout, kSuperpage);
  advise("MADV_PAGEOUT", kPageout, kPage);
  advise("MADV_COLD", kCold, kSuperpage);
  advise("MADV_COLD", kCold, kPage);
  reboot(RB_POWER_OFF);
}
C
cc -O1 -static init.c -o init
echo init | cpio -o -H newc --quiet >initrd
timeout 300 qemu-system-x86_64 -accel tcg -m 1024 -nographic -no-reboot \
  -kernel root/boot/vmlinuz-* -initrd initrd \
  -append 'console=ttyS0 quiet panic=-1 transparent_hugepage=always' </dev/null >log 2>&1
sed -n 's/\r$//; s/^RESULT //p' log >seen
cat seen
whole='succeeds; Rss 2048 KiB, mapped as superpages 2048 KiB, pages of superpages: 512'
split='succeeds; Rss 2048 KiB, mapped as superpages 0 KiB, pages of superpages: 0'
for advice in 'MADV_PAGEOUT of 2048 KiB' 'MADV_PAGEOUT of 4 KiB' 'MADV_COLD of 2048 KiB' \
  'MADV_COLD of 4 KiB'; do
  after=$split
  [ "$advice" != 'MADV_COLD of 2048 KiB' ] || after=$whole
  printf '%s\n' "$advice" "  first touch: $whole" "  advice: $after" "  written again: $after" \
    "  MADV_COLLAPSE: $whole"
done >expected
if ! sed 1d seen | cmp -s - expected; then
  echo "changed"
  exit 1
fi
