#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# redis-session.sh SERVER CLIENT KEYS READS: executes the server, so that its times and memory are
# measured. A client in the background fills it, reads keys at random inside the server, and prints
# a digest of the data.
set -euo pipefail
server=$1 client=$2 keys=$3 reads=$4
folder=$(mktemp -d)
(
  unset LD_PRELOAD GLIBC_TUNABLES MALLOC_CONF SMALLOC_CONF
  talk() { "$client" -s "$folder/socket" "$@"; }
  for _ in $(seq 200); do
    if talk ping >/dev/null 2>&1; then break; fi
    sleep 0.05
  done
  talk debug populate "$keys" key 64
  # shellcheck disable=SC2016
  script='local x, hits = tonumber(ARGV[1]), 0
for i = 1, tonumber(ARGV[2]) do
  x = (x * 16807) % 2147483647
  if redis.call("STRLEN", "key:" .. (x % tonumber(ARGV[3]))) > 0 then hits = hits + 1 end
end
return hits'
  for round in 1 2 3 4; do
    echo "hits $(talk eval "$script" 0 "$round" "$((reads / 4))" "$keys")"
  done
  echo "digest $(talk debug digest)"
  talk shutdown nosave >/dev/null 2>&1 || true
  rm -rf "$folder"
) &
exec "$server" --port 0 --unixsocket "$folder/socket" --save "" --appendonly no --logfile /dev/null --dir "$folder" \
  --lua-time-limit 0 --enable-debug-command yes --activerehashing yes >/dev/null
