# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a unit of N external functions that pass one another pointers through fields, calls and unknown functions."""
import sys

n = int(sys.argv[1])
print("struct S { struct S *a, *b; void *(*f)(struct S *); };\nvoid *malloc(unsigned long);\nvoid *keep(void *);")
for i in range(n):
    print(f"struct S *f{i}(struct S *s, struct S *t);")
for i in range(n):
    print(f"""struct S *f{i}(struct S *s, struct S *t) {{
  struct S *x = malloc(sizeof *x);
  x->a = s->b; x->b = t; s->a = x; t->b = s->a->b;
  keep(x); x->f = 0;
  struct S *y = f{(i * 7 + 1) % n}(x, s->b);
  y->a = f{(i * 13 + 5) % n}(t->a, y);
  keep(&y->b);
  return y->b->a;
}}""")
