# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a function whose N nested loops walk an array with the sum of products of their indices."""
import sys

depth = int(sys.argv[1])
print('target datalayout = "e-m:e-i64:64-n8:16:32:64-S128"\ntarget triple = "x86_64-unknown-linux-gnu"')
print("define void @f(i64 %n, i64 %m) {\n  %p = call ptr @malloc(i64 %n)\n  br label %head0")
before = "%0"
for i in range(depth):
    print(f"head{i}:\n  %i{i} = phi i64 [ 0, {before} ], [ %next{i}, %latch{i} ]")
    print(f"  %a{i} = mul i64 %i{i}, %m" if i == depth - 1 else f"  %a{i} = mul i64 %i{i}, {i + 1}")
    print(f"  %s{i} = add i64 %a{i}, {'0' if i == 0 else f'%s{i - 1}'}")
    print(f"  br label %{'body' if i == depth - 1 else f'head{i + 1}'}")
    before = f"%head{i}"
print(f"body:\n  %q = getelementptr double, ptr %p, i64 %s{depth - 1}\n  store double 1.0, ptr %q\n  br label %latch{depth - 1}")
for i in reversed(range(depth)):
    print(f"latch{i}:\n  %next{i} = add nuw nsw i64 %i{i}, 1\n  %c{i} = icmp ult i64 %next{i}, %m")
    print(f"  br i1 %c{i}, label %head{i}, label %{'done' if i == 0 else f'latch{i - 1}'}")
print("done:\n  ret void\n}\ndeclare ptr @malloc(i64)")
