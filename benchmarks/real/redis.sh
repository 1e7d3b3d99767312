#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# redis: an in-memory store on the C library's malloc (MALLOC=libc). Keys, values and hash tables
# are small sites and growing tables; client buffers are cold. The server is measured; a client in
# the background sends it commands.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=redis
build_in() {
  make -j1 -C deps distclean
  make -j1 -C src redis-server redis-cli MALLOC=libc CC="$CC" CXX="$CXX" OPTIMIZATION=-O2 OPT= REDIS_CFLAGS="-g0" \
    REDIS_LDFLAGS="$LDFLAGS" BUILD_TLS=no USE_SYSTEMD=no
}
test_in() {
  if command -v tclsh >/dev/null; then
    make -j1 -C src redis-benchmark redis-check-aof redis-check-rdb redis-sentinel MALLOC=libc CC="$CC" OPTIMIZATION=-O2 \
      REDIS_LDFLAGS="$LDFLAGS" BUILD_TLS=no USE_SYSTEMD=no
    ./runtest --clients 1 --single unit/type/hash --single unit/type/string --single unit/type/zset --single unit/expire
  else
    # its suite needs tclsh: a short session replaces it
    "$real_dir/redis-session.sh" "$PWD/src/redis-server" "$PWD/src/redis-cli" 20000 20000 | grep -q '^digest [0-9a-f]\{40\}$'
  fi
}
prepare() { :; }
workload() {
  echo "$real_dir/redis-session.sh $SMALLOC_WORK/$package/$1/src/redis-server $SMALLOC_WORK/$package/plain/src/redis-cli" \
    "$([ "$quick" ] && echo 500000 1000000 || echo 3000000 6000000)"
}
real_main "$@"
