#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""generate.py makes the inputs of the real programs: the same arguments give the same bytes
on every machine.

  generate.py text MEGABYTES [SEED]             lines of words with a natural frequency distribution, some repeated
  generate.py ksat VARIABLES CLAUSES [SEED]     a random 3-SAT instance (DIMACS)
  generate.py planted VARIABLES CLAUSES [SEED]  the same with a hidden solution: satisfiable
  generate.py tcc FUNCTIONS [SEED]              a C program with FUNCTIONS functions and their types
  generate.py lp-solve ROWS PAYING [SEED]       a packing linear program (MPS)
  generate.py minimap2 READS [SEED]             overlapping DNA reads with errors (FASTA)
  generate.py qhull POINTS [SEED]               points in space, half of them in clusters
  generate.py points COUNT [SEED]               random points of the unit cube (TetGen .node)
  generate.py grid WIDTH HEIGHT DEPTH           a grid graph of three dimensions (METIS)
  generate.py genome MEGABYTES [SEED]           random letters, a third of them repeats with changes
  generate.py transport FROM TO [SEED]          a transportation problem (CPLEX LP)
"""
import random
import sys


def text(megabytes, seed):
    rng = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = ["".join(letters[min(25, int(rng.expovariate(0.16)))] for _ in range(1 + int(rng.gammavariate(3, 2))))
             for _ in range(60000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    lines, size, goal, write = [], 0, megabytes << 20, sys.stdout.write
    while size < goal:
        picked = rng.choices(words, weights, k=24000)
        for i in range(0, len(picked), 12):
            if lines and rng.random() < 0.2:
                line = lines[int(rng.random() * len(lines))]  # a random earlier line
            else:
                line = " ".join(picked[i:i + 12]) + "\n"
                if len(lines) < 500000:
                    lines.append(line)
                else:
                    lines[int(rng.random() * len(lines))] = line
            write(line)
            size += len(line)


def ksat(variables, clauses, seed, planted):
    rng = random.Random(seed)
    uniform, bits = rng.random, rng.getrandbits  # the inner loop runs millions of times
    hidden = [uniform() < 0.5 for _ in range(variables + 1)]
    print(f"p cnf {variables} {clauses}")
    lines = []
    made = 0
    while made < clauses:
        a, b, c = 1 + int(uniform() * variables), 1 + int(uniform() * variables), 1 + int(uniform() * variables)
        if a == b or b == c or a == c:
            continue
        signs = bits(3)
        p, q, r = signs & 1 == 0, signs & 2 == 0, signs & 4 == 0
        if planted and hidden[a] != p and hidden[b] != q and hidden[c] != r:
            continue
        lines.append(f"{a if p else -a} {b if q else -b} {c if r else -c} 0")
        made += 1
        if len(lines) == 10000:
            print("\n".join(lines))
            lines = []
    if lines:
        print("\n".join(lines))


def tcc(functions, seed):
    rng = random.Random(seed)
    pick, bits, write = rng.randrange, rng.getrandbits, sys.stdout.write
    write("int printf(const char *, ...);\nunsigned digest;\n")
    for n in range(functions):
        near, far = pick(max(0, n - 50), n + 1), pick(n + 1)
        a, b, c, shift = bits(16), bits(31), 1 + bits(10), 1 + pick(30)
        text = f"mix({near}, {far})"
        write(f"""
#define SCALE_{n}(x, y) ((x) * {a} + (y) / {c} + LIMIT_{n})
enum kind_{n} {{ LIMIT_{n} = {c}, FIRST_{n}, SECOND_{n}, THIRD_{n} }};
struct record_{n} {{ unsigned key_{n}, value_{n}; double weight_{n};
  struct record_{near} *near; enum kind_{far} kind; }};
static struct record_{n} table_{n}[] = {{
  {{ {a}, {b}, {c}.5, 0, FIRST_{far} }}, {{ {b}, {a}, {shift}e3, 0, SECOND_{far} }} }};
static const char *const name_{n} = "{text} in step {n}";
static unsigned step_{n}(unsigned left, unsigned right)
{{
  unsigned total = SCALE_{n}(left, right), index;
  for (index = 0; index < sizeof table_{n} / sizeof table_{n}[0]; index++) {{
    struct record_{n} *record = &table_{n}[index];
    total ^= record->key_{n} << {shift % 7} | record->value_{n} >> {shift};
    if (record->weight_{n} > {c} && record->kind != THIRD_{far})
      total += (unsigned)(record->weight_{n} * {shift}.25) - LIMIT_{near};
    else
      total = total * {a | 1}u + SCALE_{far}(left ^ index, right % {c}u);
    record->weight_{n} += (total & {a}) * 0.5;
  }}
  switch (total % 4) {{
  case 0: return total - FIRST_{near};
  case 1: return total + (unsigned char)name_{n}[total / 4 % sizeof "mix"];
  case 2: return total ^ table_{near}[right & 1].key_{near};
  default: return total + table_{far}[left & 1].value_{far} * (left < right ? {a} : {b}u);
  }}
}}
""")
    write("\nint main(void)\n{\n")
    for n in range(functions):
        write(f"  digest = step_{n}(digest, {n}u);\n")
    write('  printf("%08x\\n", digest);\n  return 0;\n}\n')


def lp_solve(rows, paying, seed):
    rng = random.Random(seed)
    uniform = rng.random
    columns = 2 * rows
    profitable = set(rng.sample(range(columns), paying))
    print("NAME packing\nROWS\n N profit")
    print("\n".join(f" L r{row}" for row in range(rows)))
    print("COLUMNS")
    for column in range(columns):
        cost = -1 - 9 * uniform() if column in profitable else uniform()
        print(f" c{column} profit {cost:.3f}")
        for row in sorted({int(uniform() * (rows if uniform() < 0.7 else 100)) for _ in range(6)}):
            print(f" c{column} r{row} {1 + int(uniform() * 8)}")
    print("RHS")
    print("\n".join(f" limit r{row} {20 + int(uniform() * 100)}" for row in range(rows)))
    print("ENDATA")


def minimap2(reads, seed):
    rng = random.Random(seed)
    uniform = rng.random
    genome = "".join(rng.choices("ACGT", k=reads * 1000))
    errors = ("", "A", "C", "G", "T", "CA", "GT")
    for read in range(reads):
        length = 5000 + int(uniform() * 10000)
        start = int(uniform() * (len(genome) - length))
        pieces = []
        while length > 0:  # 5 % errors: missing, added or changed letters
            step = 1 + int(rng.expovariate(0.05))
            pieces += genome[start:start + step], errors[int(uniform() * len(errors))]
            start, length = start + step + int(uniform() * 2), length - step
        sequence = "".join(pieces)
        if uniform() < 0.5:
            sequence = sequence[::-1].translate(str.maketrans("ACGT", "TGCA"))
        print(f">read{read}\n{sequence}")


def qhull(points, seed):
    rng = random.Random(seed)
    uniform, gauss = rng.random, rng.gauss
    centres = [(uniform(), uniform(), uniform()) for _ in range(50)]
    print(f"3\n{points}")
    for _ in range(points):
        if uniform() < 0.5:
            x, y, z = uniform(), uniform(), uniform()
        else:
            x, y, z = (gauss(middle, 0.03) for middle in centres[int(uniform() * len(centres))])
        print(f"{x:.9f} {y:.9f} {z:.9f}")
def points(count, seed):
    coordinate = random.Random(seed).random
    print(count, 3, 0, 0)
    for first in range(0, count, 10000):
        print("\n".join(f"{i} {coordinate():.9f} {coordinate():.9f} {coordinate():.9f}"
                        for i in range(first + 1, min(first + 10000, count) + 1)))


def grid(width, height, depth):
    plane = width * height
    edges = (width - 1) * height * depth + width * (height - 1) * depth + plane * (depth - 1)
    print(plane * depth, edges)
    vertex = 0
    for z in range(depth):
        lines = []
        for y in range(height):
            for x in range(width):
                vertex += 1
                near = ((z > 0, -plane), (y > 0, -width), (x > 0, -1),
                        (x < width - 1, 1), (y < height - 1, width), (z < depth - 1, plane))
                lines.append(" ".join([str(vertex + step) for there, step in near if there]))
        print("\n".join(lines))


def genome(megabytes, seed):
    rng = random.Random(seed)
    size, letters = megabytes << 20, bytes(b"ACGT"[value & 3] for value in range(256))
    text = bytearray()
    while len(text) < size:
        text += rng.randbytes(1000 + int(rng.random() * 3000)).translate(letters)
        length = 300 + int(rng.random() * 2000)  # an earlier part with some letters changed
        start = int(rng.random() * max(1, len(text) - length))
        repeat = text[start:start + length]
        for _ in range(len(repeat) // 50):
            repeat[int(rng.random() * len(repeat))] = b"ACGT"[rng.getrandbits(2)]
        text += repeat
    sys.stdout.buffer.write(text[:size])


def transport(sources, targets, seed):
    rng = random.Random(seed)
    supply, demand = [0] * sources, [0] * targets
    for _ in range(20 * max(sources, targets)):  # demand equals supply, so it is solvable
        supply[int(rng.random() * sources)] += 1
        demand[int(rng.random() * targets)] += 1
    print("Minimize\n cost:")
    for i in range(sources):
        print(" ".join(f"+ {1 + int(rng.random() * 10000)} x{i}_{j}" for j in range(targets)))
    print("Subject To")
    for i in range(sources):
        print(f" s{i}: " + " ".join(f"+ x{i}_{j}" for j in range(targets)) + f" <= {supply[i]}")
    for j in range(targets):
        print(f" d{j}: " + " ".join(f"+ x{i}_{j}" for i in range(sources)) + f" >= {demand[j]}")
    print("End")


def main():
    try:
        kind, numbers = sys.argv[1], [int(a) for a in sys.argv[2:]]
        if kind == "text":
            text(numbers[0], numbers[1] if len(numbers) > 1 else 1)
        elif kind in ("ksat", "planted"):
            ksat(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1, kind == "planted")
        elif kind == "tcc":
            tcc(numbers[0], numbers[1] if len(numbers) > 1 else 1)
        elif kind == "lp-solve":
            lp_solve(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1)
        elif kind == "minimap2":
            minimap2(numbers[0], numbers[1] if len(numbers) > 1 else 1)
        elif kind == "qhull":
            qhull(numbers[0], numbers[1] if len(numbers) > 1 else 1)
        elif kind == "points":
            points(numbers[0], numbers[1] if len(numbers) > 1 else 1)
        elif kind == "grid":
            grid(*numbers[:3])
        elif kind == "genome":
            genome(numbers[0], numbers[1] if len(numbers) > 1 else 1)
        elif kind == "transport":
            transport(numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 1)
        else:
            raise ValueError
    except (IndexError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
