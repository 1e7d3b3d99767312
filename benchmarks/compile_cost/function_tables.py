# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""function_tables.py [N] prints a unit full of tables of functions, as in drivers, interpreters and
databases in one file. It has N (200) structures of operations. Each has functions that fill it,
allocate for it and walk it, and all others call it. Pointers of the whole unit meet in the tables,
which costs a pointer analysis most memory."""

import sys

N = int(sys.argv[1]) if len(sys.argv) > 1 else 200

print("""typedef unsigned long size;
typedef struct device device;
typedef struct operations {
  int (*open)(device *, size);
  long (*read)(device *, long *, size);
  void (*close)(device *);
} operations;
struct device { const operations *does; device *next; long *block; size length; };
void *malloc(size);
void free(void *);
extern device *first;""")
for i in range(N):
    print(f"""static int open{i}(device *d, size n) {{
  d->block = malloc(n * sizeof(long) + {8 * i});
  d->length = n;
  for (size i = 0; d->block && i < n; i++) d->block[i] = (long)i + {i};
  return d->next ? d->next->does->open(d->next, n + {i}) : 0;
}}
static long read{i}(device *d, long *to, size n) {{
  long sum = 0;
  for (size i = 0; i < n && i < d->length; i++) sum += to[i] = d->block[(i * {i % 7 + 1}) % d->length];
  for (device *other = d->next; other; other = other->next) sum += other->does->read(other, d->block, n);
  return sum;
}}
static void close{i}(device *d) {{
  free(d->block);
  if (d->next) d->next->does->close(d->next);
}}
static const operations operations{i} = {{open{i}, read{i}, close{i}}};""")
print("static const operations *const table[] = {" + ", ".join(f"&operations{i}" for i in range(N)) + "};")
print(f"""int use(device *d, size which, long *to, size n) {{
  d->does = table[which % {N}];
  d->next = first;
  first = d;
  int failed = d->does->open(d, n);
  long sum = d->does->read(d, to, n);
  d->does->close(d);
  return failed + (int)sum;
}}""")
