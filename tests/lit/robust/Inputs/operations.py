# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a unit of N structures of operations, in one table, and of N functions that each look one up, call through it and change
it: the pointers of all meet in the table."""
import sys

n = int(sys.argv[1])
print("typedef struct Ops Ops;\nstruct Ops { int (*run)(Ops *, int); Ops *next, *peer; void *data; };\nvoid *malloc(unsigned long);\n"
      "static Ops " + ", ".join(f"ops{i}" for i in range(n)) + ";")
for i in range(n):
    print(f"static int run{i}(Ops *, int);\nstatic Ops ops{i} = {{run{i}, &ops{(i * 7 + 1) % n}, 0, 0}};")
print("static Ops *const table[] = {" + ", ".join(f"&ops{i}" for i in range(n)) + "};")
for i in range(n):
    print(f"""static int run{i}(Ops *o, int k) {{
  Ops *x = table[k], *y = x->next, *z = x->peer;
  y->data = malloc(k * 8UL + {i});
  z->peer = y->next; x->peer = o;
  int sum = 0;
  for (int i = 0; i < k; i++) sum += ((int *)o->data)[i];
  return y->run(z, k - {i}) + sum;
}}""")
print("int main(int argc, char **argv) { return table[argc]->run(&ops0, argc); }")
