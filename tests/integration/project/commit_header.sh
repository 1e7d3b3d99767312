# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The commit of --version is found with git and without it, on a branch or not, packed or not.
. "$(dirname "$0")/../support/lib.sh"
command -v git >/dev/null || skip "no git"
cmake=$(command -v cmake) || skip "no cmake"
git init -q source
git -C source -c user.name=t -c user.email=t@t commit -q --allow-empty -m one
same() { # WHAT: both ways agree with git's own answer
  local want
  want="#define SMALLOC_COMMIT \"$(git -C source rev-parse --short=12 HEAD)\""
  for path in "$PATH" /nonexistent; do
    env PATH="$path" "$cmake" -DSOURCE="$PWD/source" -DOUTPUT="$PWD/commit.h" -P "$SMALLOC_SOURCE/cmake/CommitHeader.cmake"
    [ "$(cat commit.h)" = "$want" ] || fail "$1, PATH=$path: $(cat commit.h) instead of $want"
  done
}
same "on a branch"
git -C source pack-refs --all
same "packed"
git -C source checkout -q --detach
same "on no branch"
