#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Linux 6.1.176 (Debian 12's linux-image-6.1.0-50-amd64 6.1.176-1), MADV_COLLAPSE and the zero page.
#
# By madvise(2), MADV_COLLAPSE needs one page with physical memory in each superpage-sized region,
# and success means that the region has a superpage. A region that was only read has no memory of
# its own: the kernel's huge zero page is mapped there. MADV_COLLAPSE succeeds, and allocates
# nothing (AnonHugePages stays 0). On a region never touched it fails with EINVAL.
# The first write then splits the mapping of the zero page, and all 512 pages become base pages.
# The same writes to a region never read bring a superpage. So a read before the first write costs
# the superpage, and MADV_COLLAPSE between the two does not help. After the writes it does.
# Linux 6.12.117 (Debian 13) behaved the same in a run by hand. With Linux 6.18 the write after the
# read brought a superpage.
# The script boots the kernel in an emulator, whatever the machine's own kernel is.
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
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
enum { kCollapse = 25, kPage = 4096, kSuperpage = 2 << 20 };
static long superpage_kib(const char *range) {
  char line[512];
  long kib = -1;
  int found = 0;
  unsigned long begin, end;
  FILE *f = fopen("/proc/self/smaps", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
      found = begin <= (uintptr_t)range && (uintptr_t)range < end;
    else if (found)
      sscanf(line, "AnonHugePages: %ld", &kib);
  fclose(f);
  return kib;
}
static char *new_range(void) {
  uintptr_t area = (uintptr_t)mmap(NULL, 2 * kSuperpage, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *range = (char *)((area + kSuperpage - 1) / kSuperpage * kSuperpage);
  madvise(range, kSuperpage, MADV_HUGEPAGE);
  return range;
}
static void collapse(const char *when, char *range) {
  int error = madvise(range, kSuperpage, kCollapse) ? errno : 0;
  printf("RESULT %s: MADV_COLLAPSE %s, superpages %ld KiB\n", when,
         error ? strerror(error) : "succeeds", superpage_kib(range));
}
static void write_all(const char *when, char *range) {
  for (int at = 0; at < kSuperpage; at += kPage)
    range[at] = 1;
  printf("RESULT %s, then written: superpages %ld KiB\n", when, superpage_kib(range));
}
int main(void) {
  struct utsname kernel;
  mkdir("/proc", 0755);
  mount("proc", "/proc", "proc", 0, NULL);
  uname(&kernel);
  printf("\nRESULT Linux %s\n", kernel.release);
  collapse("never touched", new_range());
  write_all("never touched", new_range());
  char *range = new_range();
  (void)*(volatile char *)range;
  collapse("read", range);
  write_all("read and collapsed", range);
  collapse("read and written", range);
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
cat >expected <<'E'
never touched: MADV_COLLAPSE Invalid argument, superpages 0 KiB
never touched, then written: superpages 2048 KiB
read: MADV_COLLAPSE succeeds, superpages 0 KiB
read and collapsed, then written: superpages 0 KiB
read and written: MADV_COLLAPSE succeeds, superpages 2048 KiB
E
if ! sed 1d seen | cmp -s - expected; then
  echo "changed"
  exit 1
fi
