#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bash, python3 and git print the same, byte for byte, under both libraries and every strategy.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
program() {
  case $1 in
  bash) bash -c 'for i in {1..2000}; do x+=" $i"; done; echo ${#x} $(echo "$x" | md5sum); (exit 3); echo $?' ;;
  python3) python3 -c 'import json,re,threading
d={str(i):[i]*50 for i in range(20000)}; s=json.dumps(d); b=bytearray(30<<20); b[-1]=7
r=[]; t=[threading.Thread(target=lambda k=k: r.append(sum(range(k*1000)))) for k in range(8)]
[x.start() for x in t]; [x.join() for x in t]; print(len(s), json.loads(s)==d, b[-1], sorted(r), len(re.findall("1",s)))' ;;
  git) git init -q g && (cd g && seq 50000 >a && git add a && git -c user.name=a -c user.email=a@b commit -qm x && git log --format=%s && git show --stat | tail -1; git gc -q; git fsck 2>&1) && rm -rf g ;;
  esac
}
command -v git >/dev/null || skip "no git"
for p in bash python3 git; do
  program $p >want 2>want.err || fail "$p fails by itself: $(cat want.err)"
  for lib in "$LIB" "$PRELOAD"; do
    for conf in heap:auto heap:guest heap:superpage heap:migrate heap:off; do
      export LD_PRELOAD=$lib SMALLOC_CONF=$conf
      program $p >got 2>got.err || fail "$p fails under $(basename $lib) $conf: $(cat got.err)"
      unset LD_PRELOAD SMALLOC_CONF
      cmp want got || fail "$p prints something else under $(basename $lib) $conf"
      cmp want.err got.err || fail "$p complains under $(basename $lib) $conf: $(cat got.err)"
    done
  done
done
