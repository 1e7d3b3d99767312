# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints IR of argv[1] functions, each of which calls the next one. The last one allocates. All of them hand the object
out through their argument, or as their result (argv[2])."""
import sys

number, way = int(sys.argv[1]), sys.argv[2]
print('target triple = "x86_64-unknown-linux-gnu"')
print("declare i32 @posix_memalign(ptr, i64, i64)\ndeclare ptr @malloc(i64)")
for i in range(number):
    last = i + 1 == number
    if way == "argument":
        call = "@posix_memalign(ptr %p, i64 64, i64 %n)" if last else f"@f{i + 1}(ptr %p, i64 %n)"
        print(f"define i32 @f{i}(ptr %p, i64 %n) {{\n  %r = call i32 {call}\n  ret i32 %r\n}}")
    else:
        call = "@malloc(i64 %n)" if last else f"@f{i + 1}(i64 %n)"
        print(f"define ptr @f{i}(i64 %n) {{\n  %r = call ptr {call}\n  ret ptr %r\n}}")
