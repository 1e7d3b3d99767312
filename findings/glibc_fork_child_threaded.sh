#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# glibc 2.36 (Debian 12's libc6 2.36-9+deb12u14), __libc_single_threaded in the child of a fork.
#
# A child of fork has one thread, whatever its parent had: a copy of the caller. glibc still takes it
# for a process with several threads if its parent has ever created one, even a thread that ended and
# was joined long before the fork. __libc_single_threaded, by which libstdc++'s std::shared_ptr and
# programs of their own choose between plain and atomic counts, is 1 at the start, 0 after the first
# pthread_create, 0 after its join, 0 in a child of fork and 0 in that child's child. Only exec makes
# it 1 again. So a server that forks its workers after one short-lived thread (a name lookup, a
# library's timer) runs all of them on atomic counts and locked streams.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
version=2.36-9+deb12u14
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq "libc6=$version" >/dev/null 2>&1 \
  || { echo "cannot download libc6=$version"; exit 1; }
dpkg -x libc6_*.deb root
libraries=$(dirname "$(find "$PWD/root" -name libc.so.6)")
cat >threads.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>
static void *nothing(void *argument) { return argument; }
static int child(int (*body)(void)) {
  int status = -1;
  const pid_t pid = fork();
  if (pid == 0)
    _exit(body());
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static int flag(void) { return __libc_single_threaded; }
static int grandchild(void) { return child(flag); }
int main(void) {
  printf("start %d, its child %d", flag(), child(flag));
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
    return 1;
  printf(", joined %d, its child %d, that one's child %d\n", flag(), child(flag), child(grandchild));
  return 0;
}
C
cc -O1 threads.c -o threads -pthread
seen=$(env -u LD_PRELOAD -u GLIBC_TUNABLES "$libraries"/ld-linux-x86-64.so.2 \
  --library-path "$libraries" ./threads)
echo "libc6 $version, __libc_single_threaded: $seen"
if [ "$seen" != "start 1, its child 1, joined 0, its child 0, that one's child 0" ]; then
  echo "changed"
  exit 1
fi
