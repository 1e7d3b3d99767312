#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# heaptrack 1.4.0 (Debian 12's 1.4.0-2) and memray 1.20.0 (PyPI), and glibc's realloc(p, 0).
#
# In glibc, realloc(p, 0) frees p and returns null. Both heap profilers record a realloc only if it
# returns an address. So neither sees the release, and the object lives on in the profile:
# heaptrack reports it as leaked, memray adds it to the peak.
# The program allocates 1,000 objects one after the other, and releases each before the next one.
# By free(p): heaptrack reports no leak of them, memray a peak of one object.
# By realloc(p, 0): heaptrack reports 1,000 leaked objects, memray a peak of 1,000 objects (95 MiB).
# malloc hands out the same address each time, so memray's own list of leaks has one object only.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
unset LD_PRELOAD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
boost=1.74.0+ds1-21
for package in heaptrack=1.4.0-2 libheaptrack=1.4.0-2 libunwind8=1.6.2-3 \
  libboost-{filesystem,iostreams,program-options}1.74.0=$boost; do
  apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
python3 -m pip install -q --target python memray==1.20.0 rich==15.0.0 2>pip.err \
  || { echo "cannot install memray 1.20.0"; exit 1; }
cat >release.c <<'C'
#include <stdlib.h>
static void *volatile last;
void release(int objects, int bytes, int by_realloc) {
  for (int i = 0; i < objects; i++) {
    last = malloc(bytes);
    if (by_realloc)
      last = realloc(last, 0);
    else
      free(last);
  }
}
int main(int argc, char **argv) {
  (void)argv;
  release(1000, 100000, argc > 1);
  return argc > 1 && last; /* realloc(p, 0) has to return null */
}
C
cc -std=c17 -O1 -fno-builtin release.c -o release
cc -std=c17 -O1 -fno-builtin -shared -fPIC release.c -o release.so
cat >profile.py <<'P'
import ctypes
import sys
import memray
release = ctypes.CDLL("./release.so").release
with memray.Tracker("records"):
    release(1000, 100000, int(sys.argv[1]))
reader = memray.FileReader("records")
leaked = sum(record.size >= 100000 for record in reader.get_leaked_allocation_records())
print(reader.metadata.peak_memory // 100000, leaked)
P
echo "heaptrack 1.4.0-2, memray 1.20.0"
changed=0
for by_realloc in 0 1; do
  rm -f records
  arguments=()
  [ $by_realloc = 0 ] || arguments=(realloc)
  LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu \
    root/usr/bin/heaptrack -o out ./release "${arguments[@]}" >log 2>&1
  heaptrack=$(awk '/^\tleaked allocations:/ {print $3}' log)
  read -r peak leaked <<<"$(PYTHONPATH=python python3 profile.py $by_realloc 2>err)"
  echo "released by $([ $by_realloc = 0 ] && echo 'free(p)' || echo 'realloc(p, 0)'):" \
    "heaptrack: $heaptrack leaked; memray: peak of $peak objects, $leaked leaked"
  if [ $by_realloc = 0 ]; then
    { [ "$heaptrack" -lt 10 ] && [ "$peak" -lt 10 ] && [ "$leaked" = 0 ]; } || changed=1
  else
    { [ "$heaptrack" -ge 1000 ] && [ "$peak" -ge 1000 ] && [ "$leaked" = 1 ]; } || changed=1
  fi
done
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
