# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# same_code.sh CLANG PLUGIN OUT FLAG...: the IR is the same without the plugin and with it, however it is loaded.
set -eu
clang=$1 plugin=$2 out=$3
shift 3
"$clang" -O2 -S -emit-llvm -o "$out.plain" "$@"
"$clang" -O2 -S -emit-llvm -o "$out.clang" -fplugin="$plugin" ${PLUGIN_FLAGS:-} "$@"
"$clang" -O2 -S -emit-llvm -o "$out.pass" -fpass-plugin="$plugin" "$@"
cmp "$out.plain" "$out.clang"
cmp "$out.plain" "$out.pass"
