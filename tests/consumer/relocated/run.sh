#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The install tree works in any folder: no file names the build tree or the original folder. A copy
# in a folder with a space in its name compiles and runs. Another plugin in the tree causes a
# complete rebuild.
# shellcheck source=tests/consumer/lib.sh
. "$(dirname "$0")/../lib.sh"
need_passes
[ "$SMALLOC_TREE" = installed ] || skip "for the install tree only"

for path in "$SMALLOC_BUILD" "$SMALLOC_BUILD/tests/consumer/stage" "$SMALLOC_SOURCE"; do
  if grep -rIlF -- "$path" "$PREFIX" >names; then
    fail "$(tr '\n' ' ' <names): names $path"
  fi
done
while IFS= read -r file; do
  if readelf -dW "$file" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -F "$SMALLOC_BUILD"; then
    fail "$file: run path into the build tree"
  fi
done < <(find "$PREFIX" -type f \( -name '*.so*' -o -path '*/bin/*' \))

cp -a "$PREFIX" "$tmp/my tools"
wrapper="$tmp/my tools/bin/smalloc-c++"
ln -s "$wrapper" here-c++ # found through a symbolic link, too
logged ./here-c++ -O2 -x c "$HERE/program/app.c" -x c++ "$HERE/program/part.cpp" -o app
expect_built ./app
LD_DEBUG=libs ./app 2>libs >/dev/null
expect_match libs "calling init: .*/my tools/.*libsmalloc\\.so"

package="$tmp/my tools/${LIBDIR#"$PREFIX"/}/cmake/Smalloc"
logged cmake -S "$HERE/find_package" -B b -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DSmalloc_DIR="$package" -DCMAKE_C_COMPILER="$CLANG" -DCMAKE_CXX_COMPILER="$CLANGXX"
logged cmake --build b
expect_built b/app
find "$tmp/my tools" -name SmallocPlugin.so -exec sh -c 'printf x >>"$1"' _ {} \;
logged cmake --build b
expect_match log 'app\.c\.o'
cmake --build b >log
# CMake 3.31 links again each time if a library's folder has a space in its name.
expect_no_match log 'Building'
