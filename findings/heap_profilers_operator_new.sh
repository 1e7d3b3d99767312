#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# heaptrack 1.4.0 (Debian 12's 1.4.0-2), memray 1.20.0 (PyPI), and allocators with operator new.
#
# Both heap profilers replace malloc and its relatives; neither replaces operator new. They see a
# new expression because the operator new of libstdc++ calls malloc. jemalloc, tcmalloc and mimalloc
# have an operator new of their own, which does not call malloc.
# So both profilers miss each new expression of a program that runs on one of these allocators.
# They print no warning. The calls of malloc are still counted, so the profile looks complete.
# The program makes 1,000 objects by new and 10 by malloc. heaptrack counts all 1,010 with glibc's
# malloc, and the 10 with each of the three. memray counts 1,000 objects made by new with glibc's
# malloc, and none with each of the three.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
unset LD_PRELOAD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
boost=1.74.0+ds1-21
for package in heaptrack=1.4.0-2 libheaptrack=1.4.0-2 libunwind8=1.6.2-3 \
  libboost-{filesystem,iostreams,program-options}1.74.0=$boost \
  libjemalloc2=5.3.0-1 libtcmalloc-minimal4=2.10-1 libmimalloc2.0=2.0.9+ds-2; do
  apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
python3 -m pip install -q --target python memray==1.20.0 rich==15.0.0 2>pip.err \
  || { echo "cannot install memray 1.20.0"; exit 1; }
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
cat >objects.cc <<'C'
#include <cstdlib>
static void *volatile last;
extern "C" void by_new(int objects, int bytes) {
  for (int i = 0; i < objects; i++) {
    char *object = new char[bytes];
    last = object;
    delete[] object;
  }
}
int main() {
  by_new(1000, 1000);
  for (int i = 0; i < 10; i++)
    last = malloc(5000);
  return 0;
}
C
c++ -O1 objects.cc -o objects
c++ -O1 -shared -fPIC objects.cc -o objects.so
cat >profile.py <<'P'
import ctypes
import memray
objects = ctypes.CDLL("./objects.so")
with memray.Tracker("records", file_format=memray.FileFormat.ALL_ALLOCATIONS):
    objects.by_new(1000, 100000)
records = memray.FileReader("records").get_allocation_records()
print(sum(record.size == 100000 for record in records))
P
echo "heaptrack 1.4.0-2, memray 1.20.0"
changed=0
for allocator in glibc libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
  preload=
  [ $allocator = glibc ] || preload=$libraries/$allocator
  rm -f records
  LD_PRELOAD=$preload LD_LIBRARY_PATH=$libraries root/usr/bin/heaptrack -o out ./objects >log 2>&1
  heaptrack=$(awk '/^\tallocations:/ {print $2}' log)
  memray=$(LD_PRELOAD=$preload PYTHONPATH=python python3 profile.py 2>err)
  echo "$allocator: heaptrack counts $heaptrack allocations, memray $memray objects made by new"
  if [ $allocator = glibc ]; then
    { [ "$heaptrack" -ge 1010 ] && [ "$memray" = 1000 ]; } || changed=1
  else
    { [ "$heaptrack" -lt 100 ] && [ "$memray" = 0 ]; } || changed=1
  fi
done
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
