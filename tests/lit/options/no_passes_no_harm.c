// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -E, -fsyntax-only and -M take the options and do nothing.
// RUN: %clang -Werror -fplugin-arg-smalloc-heap=off -fsyntax-only %s
// RUN: %clang -Werror -fplugin-arg-smalloc-heap=off -E -o /dev/null %s
// RUN: %clang -Werror -fplugin-arg-smalloc-heap=off -M -o /dev/null %s
int x;
