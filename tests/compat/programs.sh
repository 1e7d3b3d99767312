#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs without the plugin, under libsmalloc.so with heap:auto and heap:superpage. Behind
# libsmalloc: no other allocator, jemalloc, mimalloc or tcmalloc. The programs: git, sqlite3, two
# C++ compilers that build parts of this project, redis and nginx under load, CPython's own tests of
# memory-heavy modules with PYTHONMALLOC=malloc, stress-ng's malloc stressors with --verify, a Rust
# program. Their output must be the same as without libsmalloc.
#
#   tests/compat/programs.sh          short: each program a few seconds
#   tests/compat/programs.sh --long   more of CPython's tests, stress-ng for a minute each
#   tests/compat/programs.sh --only=redis,nginx
. "$(dirname "$0")/../integration/support/lib.sh"
long=no only=
while [ $# -gt 0 ]; do
  case $1 in
  --long) long=yes ;;
  --only=*) only=${1#*=} ;;
  *) echo "programs.sh: error: argument ($1): unknown" >&2; echo "hint: head -12 $0" >&2; exit 2 ;;
  esac
  shift
done
[ -e "$PRELOAD" ] || fail "$PRELOAD is not built"

program_git() {
  git init -q g && cd g
  seq 60000 >a && git add a
  GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' git -c user.name=a -c user.email=a@b commit -qm x
  git log --format=%H && git gc -q && git fsck 2>&1 && git diff --stat HEAD
}
program_sqlite3() {
  sqlite3 db 'PRAGMA cache_size=-65536; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<60000) INSERT INTO t SELECT i, hex(i*7919) FROM n;
    CREATE INDEX x ON t(b); SELECT count(*), sum(length(b)), max(b) FROM t; SELECT * FROM t ORDER BY b DESC LIMIT 5; PRAGMA integrity_check;'
}
# A compiler's output must have the same bytes.
compile_parts() { # COMPILER
  local part
  for part in core/options core/big_objects core/key_join os/loaded_objects; do
    "$1" -std=c++20 -O2 -D_GNU_SOURCE -I"$SMALLOC_SOURCE" -c "$SMALLOC_SOURCE/smalloc/$part.cpp" -o part.o && sha256sum <part.o || return 1
  done
}
program_gcc() { compile_parts g++; }
program_clang() { compile_parts clang++-22; }
# A store is filled, saved by a forked child, and read by fifty clients at the same time; the digest
# covers all keys and values.
program_redis() {
  local status=0
  redis-server --port 0 --unixsocket "$PWD/s" --save '' --dir "$PWD" --enable-debug-command yes --daemonize no >server.log 2>&1 &
  local server=$!
  for _ in {1..100}; do redis-cli -s s ping >/dev/null 2>&1 && break; sleep 0.1; done
  {
    seq 40000 | awk '{printf "SET key:%d %0*d\r\n", $1, 40 + $1 % 900, $1}' | redis-cli -s s --pipe | grep errors
    redis-cli -s s save
    redis-benchmark -s s -c 50 -n 20000 -t set,get,lpush,lpop,sadd -q >bench.log 2>&1 && echo asked
    redis-cli -s s eval 'for i = 1, 30000 do redis.call("del", "key:" .. i) end return redis.call("exists", "key:30001")' 0
    redis-cli -s s bgsave >/dev/null
    while redis-cli -s s info persistence | grep -q 'bgsave_in_progress:1'; do sleep 0.1; done
    redis-cli -s s info persistence | grep 'bgsave_status' | tr -d '\r'
    redis-cli -s s del key:__rand_int__ mylist myset counter:__rand_int__ >/dev/null
    redis-cli -s s --scan --pattern 'key:*' | grep -c .
    redis-cli -s s debug digest
  } || status=1
  redis-cli -s s shutdown nosave >/dev/null 2>&1
  wait "$server" || status=1
  return $status
}
# Four processes that fetch files of three sizes from two workers.
program_nginx() {
  mkdir -p root logs && for n in 1 100 400; do seq $((n * 1000)) >"root/$n"; done
  cat >n.conf <<N
daemon off; pid $PWD/n.pid; error_log $PWD/logs/e; worker_processes 2; user $(id -un);
events { worker_connections 256; }
http { access_log off; client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3; uwsgi_temp_path $PWD/t4;
  scgi_temp_path $PWD/t5; gzip on; gzip_types text/plain application/octet-stream;
  server { listen unix:$PWD/s; root $PWD/root; } }
N
  chmod 755 . root
  nginx -p "$PWD" -c "$PWD/n.conf" >server.log 2>&1 &
  local server=$! status=0 client
  for _ in {1..100}; do [ -S s ] && break; sleep 0.1; done
  local clients=()
  for client in 1 2 3 4; do
    for _ in {1..4}; do for n in 1 100 400; do
      curl -sf --compressed --unix-socket s "http://x/$n" | sha256sum
    done; done >"got.$client" &
    clients+=($!)
  done
  for client in "${clients[@]}"; do wait "$client" || status=1; done
  sort got.* | uniq -c
  kill -QUIT "$server" && wait "$server" || status=1
  return $status
}
modules=(test_list test_dict test_bytes test_json test_array)
[ "$long" = no ] || modules+=(test_set test_unicode test_memoryview test_threading test_gc test_pickle test_io test_zlib test_sqlite3)
program_python() {
  PYTHONMALLOC=malloc timeout 900 python3 -m test -q "${modules[@]}" >log 2>&1 || { tail -5 log; return 1; }
  grep -E '^Result: SUCCESS|^All [0-9]+ tests OK' log | sort -u
}
seconds=3
[ "$long" = no ] || seconds=60
program_stress() {
  timeout $((seconds * 6 + 60)) stress-ng --malloc 2 --malloc-bytes 64M --verify --timeout "$seconds" --quiet &&
    timeout $((seconds * 6 + 60)) stress-ng --malloc 1 --malloc-pthreads 4 --malloc-bytes 32M --verify --timeout "$seconds" --quiet &&
    timeout $((seconds * 6 + 60)) stress-ng --malloc 1 --malloc-touch --verify --malloc-bytes 32M --timeout "$seconds" --quiet && echo verified
}
program_rust() { ./rust_program; }

names=()
add() { # NAME COMMAND HINT
  if command -v "$2" >/dev/null; then names+=("$1"); else echo "not run: $1: no $2 (hint: scripts/install-packages $3)"; fi
}
add git git git
add sqlite3 sqlite3 sqlite3
add gcc g++ g++
add clang clang++-22 clang-22
add redis redis-server 'redis-server redis-tools'
if command -v nginx >/dev/null && command -v curl >/dev/null; then names+=(nginx); else echo "not run: nginx: no nginx or no curl (hint: scripts/install-packages nginx-light curl)"; fi
add stress stress-ng stress-ng
if command -v python3 >/dev/null && python3 -c 'import test.test_list' 2>/dev/null; then
  names+=(python)
else
  echo "not run: python: no module test (hint: scripts/install-packages libpython3.11-testsuite, or that of your version)"
fi
add rust rustc rustc
if [[ " ${names[*]} " == *' rust '* ]]; then
  cat >rust_program.rs <<'R'
use std::collections::HashMap;
fn main() {
    let threads: Vec<_> = (0..4u64).map(|k| std::thread::spawn(move || {
        let mut map: HashMap<u64, Vec<u64>> = HashMap::new();
        for i in 0..20000u64 { map.entry(i * k % 997).or_default().push(i); }
        let big: Vec<u64> = (0..2_000_000).collect();
        map.values().map(|v| v.iter().sum::<u64>()).sum::<u64>() + big.iter().sum::<u64>()
    })).collect();
    for t in threads { println!("{}", t.join().unwrap()); }
}
R
  rustc -O rust_program.rs -o rust_program || fail "the Rust program does not compile"
fi
if [ -n "$only" ]; then
  chosen=()
  for name in "${names[@]}"; do [[ ,$only, != *",$name,"* ]] || chosen+=("$name"); done
  names=("${chosen[@]}")
fi
[ ${#names[@]} -gt 0 ] || skip "none of the programs is installed"

behind=('')
for peer in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libmimalloc.so.[23] /usr/lib/*/libtcmalloc_minimal.so.4; do
  [ ! -e "$peer" ] || behind+=("$peer")
done
[ ${#behind[@]} -gt 1 ] || echo "not run: peers: none is installed (hint: scripts/install-packages libjemalloc2 libmimalloc2.0 or libmimalloc3, libtcmalloc-minimal4)"

run() { # NAME: runs it in a folder of its own, with the output in ./got
  rm -rf work && mkdir work
  cp rust_program work/ 2>/dev/null || true
  (cd work && "program_$1") >got 2>&1
}
bad=0
ran=0
for name in "${names[@]}"; do
  run "$name" || { cat got; echo "not run: $name: fails without us"; continue; }
  cp got want
  for peer in "${behind[@]}"; do
    # Slow programs: all peers only with --long.
    if [ -n "$peer" ] && [ "$long" = no ] && [[ $name =~ ^(python|stress|gcc|clang)$ ]]; then continue; fi
    for conf in heap:auto heap:guest heap:superpage; do
      export LD_PRELOAD="$PRELOAD${peer:+ $peer}" SMALLOC_CONF=$conf
      status=0
      run "$name" || status=$?
      unset LD_PRELOAD SMALLOC_CONF
      ran=$((ran + 1))
      if [ $status = 0 ] && cmp -s want got; then
        echo "ok: $name, $conf${peer:+, $(basename "$peer") behind}"
      else
        echo "FAILS: $name, $conf${peer:+, $(basename "$peer") behind}: status $status"
        diff want got | head -10
        bad=$((bad + 1))
      fi
    done
  done
done
[ "$ran" -gt 0 ] || fail "none of the programs runs without us"
[ "$bad" = 0 ] || fail "$bad of $ran"
echo "$ran runs say what they say without us"
