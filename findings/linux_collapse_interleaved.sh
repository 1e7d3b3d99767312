#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Linux 6.1.176 (Debian 12's linux-image-6.1.0-50-amd64 6.1.176-1), MADV_COLLAPSE and mbind.
#
# A page fault asks the memory policy of the range for a node. MADV_COLLAPSE does not. It takes the
# node that has most pages of the superpage, and node 0 if both nodes have the same number.
# A range of 64 MiB is interleaved over two nodes. Superpages of the first touch alternate, and each
# node has 32 MiB. Base pages alternate too, so each node has half of each superpage. MADV_COLLAPSE
# then succeeds, and node 0 has all 64 MiB. mbind(2) says that MPOL_MF_MOVE moves pages so that they
# follow the policy. mbind with MPOL_INTERLEAVE and this flag succeeds, and all stays on node 0.
# Another range has 300 pages of each superpage on node 0, is bound to node 1 (MPOL_BIND), and gets
# the other 212 pages there. MADV_COLLAPSE takes those to node 0, against the policy, and succeeds.
# Here, mbind with MPOL_MF_MOVE moves all to node 1.
# Linux 6.12.117 (Debian 13) and 7.2.13 (Debian sid) behaved the same in a run by hand.
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
enum { kBind = 2, kInterleave = 3, kMove = 2, kCollapse = 25 };
enum { kPage = 4096, kSuperpage = 2 << 20, kBytes = 64 << 20 };
enum { kNode0 = 1, kNode1 = 2 };
static void report(const char *what, int failed, const char *range) {
  const char *result = failed ? strerror(errno) : "succeeds";
  int on_node[2] = {0, 0};
  for (int at = 0; at < kBytes; at += kPage) {
    const void *page = range + at;
    int node = -1;
    syscall(SYS_move_pages, 0, 1UL, &page, NULL, &node, 0); /* no target: it only asks */
    if (node == 0 || node == 1)
      on_node[node] += kPage / 1024;
  }
  printf("RESULT   %s: %s; node 0: %d KiB, node 1: %d KiB\n", what, result, on_node[0], on_node[1]);
}
static int policy(char *range, int mode, unsigned long nodes, int flags) {
  return syscall(SYS_mbind, range, (long)kBytes, mode, &nodes, 64L, flags) != 0;
}
static char *new_range(int advice) {
  uintptr_t area = (uintptr_t)mmap(NULL, kBytes + kSuperpage, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *range = (char *)((area + kSuperpage - 1) / kSuperpage * kSuperpage);
  madvise(range, kBytes, advice);
  return range;
}
static void collapse(char *range) {
  madvise(range, kBytes, MADV_HUGEPAGE);
  report("MADV_COLLAPSE", madvise(range, kBytes, kCollapse), range);
}
static void interleave(const char *pages, int advice) {
  printf("RESULT interleaved, %s at the first touch\n", pages);
  char *range = new_range(advice);
  int failed = policy(range, kInterleave, kNode0 | kNode1, 0);
  memset(range, 1, kBytes);
  report("first touch", failed, range);
  collapse(range);
  failed = policy(range, kInterleave, kNode0 | kNode1, kMove);
  report("mbind that moves", failed, range);
  munmap(range, kBytes);
}
static void bind_late(void) {
  printf("RESULT 300 pages of each superpage on node 0, then bound to node 1\n");
  char *range = new_range(MADV_NOHUGEPAGE);
  int failed = policy(range, kBind, kNode0, 0);
  for (int at = 0; at < kBytes; at += kSuperpage)
    memset(range + at, 1, 300 * kPage);
  failed |= policy(range, kBind, kNode1, 0);
  memset(range, 1, kBytes);
  report("first touch", failed, range);
  collapse(range);
  failed = policy(range, kBind, kNode1, kMove);
  report("mbind that moves", failed, range);
}
int main(void) {
  struct utsname kernel;
  uname(&kernel);
  printf("\nRESULT Linux %s\n", kernel.release);
  interleave("superpages", MADV_HUGEPAGE);
  interleave("base pages", MADV_NOHUGEPAGE);
  bind_late();
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
interleaved, superpages at the first touch
  first touch: succeeds; node 0: 32768 KiB, node 1: 32768 KiB
  MADV_COLLAPSE: succeeds; node 0: 32768 KiB, node 1: 32768 KiB
  mbind that moves: succeeds; node 0: 32768 KiB, node 1: 32768 KiB
interleaved, base pages at the first touch
  first touch: succeeds; node 0: 32768 KiB, node 1: 32768 KiB
  MADV_COLLAPSE: succeeds; node 0: 65536 KiB, node 1: 0 KiB
  mbind that moves: succeeds; node 0: 65536 KiB, node 1: 0 KiB
300 pages of each superpage on node 0, then bound to node 1
  first touch: succeeds; node 0: 38400 KiB, node 1: 27136 KiB
  MADV_COLLAPSE: succeeds; node 0: 65536 KiB, node 1: 0 KiB
  mbind that moves: succeeds; node 0: 0 KiB, node 1: 65536 KiB
E
if ! sed 1d seen | cmp -s - expected; then
  echo "changed"
  exit 1
fi
