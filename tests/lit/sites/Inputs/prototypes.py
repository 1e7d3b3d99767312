# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# prototypes.py OUT OPT...: every allocation function as programs may declare and call it. One module a kind of prototype; OPT has to
# accept each, write bitcode that reads back, and make sites of exactly the calls that can be converted.
import re
import subprocess
import sys

# Name: result, parameters; l: a size.
FAMILIES = {
    "malloc": "pl", "calloc": "pll", "realloc": "ppl", "aligned_alloc": "pll", "memalign": "pll",
    "posix_memalign": "ipll", "valloc": "pl", "pvalloc": "pl", "reallocarray": "ppll",
    "_Znwm": "pl", "_Znam": "pl", "_ZnwmRKSt9nothrow_t": "plp", "_ZnamRKSt9nothrow_t": "plp",
    "_ZnwmSt11align_val_t": "pll", "_ZnamSt11align_val_t": "pll",
    "_ZnwmSt11align_val_tRKSt9nothrow_t": "pllp", "_ZnamSt11align_val_tRKSt9nothrow_t": "pllp",
    "numa_alloc": "pl", "numa_alloc_onnode": "pli",
}
IR = {"p": "ptr", "i": "i32", "l": "i64"}
PAIR = "{ i64, i64 }"


def with_size(size):
    """The library's prototype with another type of sizes."""
    return lambda types: (IR[types[0]], [size if t == "l" else IR[t] for t in types[1:]])


def changed(change):
    def prototype(types):
        result, parameters = with_size("i64")(types)
        return change(result, parameters)
    return prototype


# Kind: prototype, are the calls sites?, form of the declaration.
KINDS = {"exact": (with_size("i64"), True)}
for bits in (1, 8, 16, 17, 24, 31, 32, 33, 48, 63):
    KINDS[f"i{bits}"] = (with_size(f"i{bits}"), True)
KINDS["signext"] = (with_size("i16 signext"), True)
KINDS["zeroext"] = (with_size("i8 zeroext"), True)
for bits in (65, 128, 256):
    KINDS[f"i{bits}"] = (with_size(f"i{bits}"), False)
for other in ("half", "float", "double", "x86_fp80", "ptr", PAIR, "<2 x i32>", "ptr byval(i64)", "[2 x i64]"):
    KINDS[other] = (with_size(other), False)
KINDS["one more"] = (changed(lambda r, p: (r, p + ["i64"])), False)
KINDS["one less"] = (changed(lambda r, p: (r, p[:-1])), False)
KINDS["none"] = (changed(lambda r, p: (r, [])), False)
for other in ("void", "i64", "double", PAIR, "ptr addrspace(1)"):
    KINDS[f"gives {other}"] = (changed(lambda r, p, other=other: (other, p)), False)
KINDS["unprototyped"] = (with_size("i64"), True)
KINDS["unprototyped i32"] = (with_size("i32"), True)
KINDS["unprototyped double"] = (with_size("double"), False)
KINDS["variadic"] = (with_size("i64"), False)


def module(kind):
    prototype, _ = KINDS[kind]
    lines = ['target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"',
             'target triple = "x86_64-unknown-linux-gnu"']
    for name, types in FAMILIES.items():
        result, parameters = prototype(types)
        plain = [p.split(" ")[0] if "ext" in p else "ptr" if "byval" in p else p for p in parameters]
        arguments = ", ".join(f"{p} %a{i}" for i, p in enumerate(parameters))
        declared, call = ", ".join(parameters), f"{result} @{name}"
        if kind.startswith("unprototyped"):
            declared, call = "...", f"{result} ({', '.join(plain + ['...'])}) @{name}"
        elif kind == "variadic":
            declared = ", ".join(parameters + ["..."])
            call = f"{result} ({', '.join(plain + ['...'])}) @{name}"
        value = "" if result == "void" else "%r = "
        lines += [f"declare {result} @{name}({declared})",
                  f"define {result} @in_{name}({', '.join(f'{p} %a{i}' for i, p in enumerate(plain))}) {{",
                  f"  {value}call {call}({arguments})",
                  f"  ret {result}{'' if result == 'void' else ' %r'}", "}"]
    return "\n".join(lines) + "\n"


def main():
    out, opt = sys.argv[1], sys.argv[2:]
    failures = []
    for kind, (prototype, is_site) in KINDS.items():
        file = f"{out}.{re.sub('[^a-z0-9]+', '_', kind)}"
        with open(file + ".ll", "w") as f:
            f.write(module(kind))
        for passes in ("default<O2>", "smalloc-sites,smalloc,verify", "thinlto-pre-link<O2>,lto<O2>"):
            run = subprocess.run(opt + ["-smalloc-rewrite=all", f"-passes={passes}", file + ".ll", "-o", file + ".bc",
                                        "-pass-remarks-missed=smalloc"], capture_output=True, text=True)
            back = run.returncode == 0 and subprocess.run(opt[:1] + ["-S", file + ".bc", "-o", "-"], capture_output=True, text=True)
            if run.returncode or back.returncode:
                failures.append(f"{kind} {passes}: {(run.stderr or back.stderr)[:300]}")
                continue
            for name, types in FAMILIES.items():
                if prototype(types) == with_size("i64")(types) and not kind.startswith(("unprototyped", "variadic")):
                    continue # no size to be of another type
                body = re.search(rf"^define [^\n]*@in_{name}\(.*?^}}", back.stdout, re.M | re.S).group(0)
                # A link inlines thunks.
                if ("__smalloc_v1_site" in body) != is_site or (not is_site and f"@{name}(" not in body):
                    failures.append(f"{kind} {passes}: {name}: {body}")
                said = f"left alone: {name} is called with another prototype" in run.stderr
                if said == is_site and "lto" not in passes:
                    failures.append(f"{kind} {passes}: {name}: {'a' if said else 'no'} remark")
    print("\n".join(failures))
    return bool(failures)


sys.exit(main())
