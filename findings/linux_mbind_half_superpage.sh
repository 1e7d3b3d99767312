#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Linux 6.1.176 (Debian 12's linux-image-6.1.0-50-amd64 6.1.176-1), mbind of a part of a superpage.
#
# By mbind(2), MPOL_MF_MOVE moves the existing pages in the range of the call. It moves others too.
# A range of 2 MiB is bound to node 0 (MPOL_BIND) and has a superpage there. mbind with MPOL_MF_MOVE
# binds the first half to node 1 and succeeds. The kernel moves all 512 pages. The second half,
# still bound to node 0, is on node 1 too. A check of its policy (MPOL_MF_STRICT) fails with EIO.
# mbind that moves the second half back takes the first half along.
# mbind of a single page of 4 KiB moves 2 MiB as well.
# With base pages (MADV_NOHUGEPAGE) the same calls move the pages that they name, and no others.
# Linux 6.12.117 (Debian 13) behaved the same in a run by hand.
# The script boots the kernel in an emulator with two nodes, whatever the machine has.
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
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
enum { kBind = 2, kStrict = 1, kMove = 2 };
enum { kPage = 4096, kSuperpage = 2 << 20, kHalf = kSuperpage / 2 };
static const char *bind_to(int node, char *range, long bytes, int flags) {
  unsigned long nodes = 1UL << node;
  return syscall(SYS_mbind, range, bytes, kBind, &nodes, 64L, flags) ? strerror(errno) : "succeeds";
}
static int pages_on_node_1(char *range) {
  int count = 0;
  for (int at = 0; at < kHalf; at += kPage) {
    void *page = range + at;
    int node = -1;
    syscall(SYS_move_pages, 0, 1UL, &page, NULL, &node, 0); /* no target: it only asks */
    count += node == 1;
  }
  return count;
}
static void report(const char *what, const char *result, char *range) {
  printf("RESULT   %s: %s; on node 1: %d pages of the first half, %d of the second\n", what, result,
         pages_on_node_1(range), pages_on_node_1(range + kHalf));
}
static char *new_range(int advice) {
  uintptr_t area = (uintptr_t)mmap(NULL, 2 * kSuperpage, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *range = (char *)((area + kSuperpage - 1) / kSuperpage * kSuperpage);
  madvise(range, kSuperpage, advice);
  bind_to(0, range, kSuperpage, 0);
  memset(range, 1, kSuperpage);
  return range;
}
static void move_parts(const char *pages, int advice) {
  printf("RESULT %s\n", pages);
  char *range = new_range(advice);
  report("first half to node 1", bind_to(1, range, kHalf, kMove), range);
  report("second half checked", bind_to(0, range + kHalf, kHalf, kStrict), range);
  report("second half to node 0", bind_to(0, range + kHalf, kHalf, kMove), range);
  range = new_range(advice);
  report("one page to node 1", bind_to(1, range, kPage, kMove), range);
}
int main(void) {
  struct utsname kernel;
  uname(&kernel);
  printf("\nRESULT Linux %s\n", kernel.release);
  move_parts("superpage", MADV_HUGEPAGE);
  move_parts("base pages", MADV_NOHUGEPAGE);
  reboot(RB_POWER_OFF);
}
C
cc -O1 -static init.c -o init
echo init | cpio -o -H newc --quiet >initrd
timeout 300 qemu-system-x86_64 -accel tcg -m 2048 -smp 2 -nographic -no-reboot \
  -object memory-backend-ram,id=m0,size=1G -numa node,nodeid=0,memdev=m0,cpus=0 \
  -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=1,memdev=m1,cpus=1 \
  -kernel root/boot/vmlinuz-* -initrd initrd \
  -append 'console=ttyS0 quiet panic=-1 transparent_hugepage=always numa_balancing=disable' \
  </dev/null >log 2>&1
sed -n 's/\r$//; s/^RESULT //p' log >seen
cat seen
cat >expected <<'E'
superpage
  first half to node 1: succeeds; on node 1: 256 pages of the first half, 256 of the second
  second half checked: Input/output error; on node 1: 256 pages of the first half, 256 of the second
  second half to node 0: succeeds; on node 1: 0 pages of the first half, 0 of the second
  one page to node 1: succeeds; on node 1: 256 pages of the first half, 256 of the second
base pages
  first half to node 1: succeeds; on node 1: 256 pages of the first half, 0 of the second
  second half checked: succeeds; on node 1: 256 pages of the first half, 0 of the second
  second half to node 0: succeeds; on node 1: 256 pages of the first half, 0 of the second
  one page to node 1: succeeds; on node 1: 1 pages of the first half, 0 of the second
E
if ! sed 1d seen | cmp -s - expected; then
  echo "changed"
  exit 1
fi
