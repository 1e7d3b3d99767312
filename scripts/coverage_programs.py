# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of scripts/coverage, and the small workloads that weigh their accesses.

PROGRAMS names for each program its units, its flags and the packages that it needs. WORKLOADS names
its input files, each made from a seeded generator, and the command that reads them.
"""

# units: files of one program, by glob; `!` leaves out. The package's own build compiles the same
# files. The suffix selects the compiler. Fortran files are compiled in the order of their modules,
# with their own flags.
CHEMISTRY = "subprojects/dftd4/subprojects"  # libraries in the package of dftd4

PROGRAMS = {
    "lua5.4": {"language": "C",  # Debian's rules write this header
               "prepare": "echo '#define DEB_HOST_MULTIARCH \"x86_64-linux-gnu\"' >src/lua5.4-deb-multiarch.h", "units": ["src/*.c", "!src/luac.c"], "flags": ["-DLUA_USE_POSIX"], "libraries": ["-lm"]},
    "libzstd": {"language": "C", "units": ["programs/*.c", "lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c",
                                           "lib/dictBuilder/*.c"],
                "flags": ["-DZSTD_MULTITHREAD", "-DZSTD_DISABLE_ASM", "-Ilib", "-Ilib/common"], "libraries": ["-pthread"]},
    "metis": {"language": "C", "units": ["GKlib/*.c", "libmetis/*.c", "programs/gpmetis.c", "programs/cmdline_gpmetis.c",
                                         "programs/io.c", "programs/stat.c"],
              "flags": ["-IGKlib", "-Iinclude", "-Ilibmetis", "-DLINUX", "-D_FILE_OFFSET_BITS=64", "-DSVNINFO=\"\""],
              "libraries": ["-lm"]},
    "glpk": {"language": "C", "units": ["src/*/*.c", "examples/glpsol.c", "!src/proxy/main.c"],
             "flags": [f"-Isrc{d}" for d in ("", "/amd", "/api", "/bflib", "/colamd", "/draft", "/env", "/intopt", "/minisat", "/misc",
                                             "/mpl", "/npp", "/proxy", "/simplex", "/zlib")], "libraries": ["-lm"]},
    "qhull": {"language": "C", "units": ["src/libqhull_r/*.c", "src/qhull/unix_r.c"], "flags": ["-Isrc"], "libraries": ["-lm"]},
    "sqlite3": {"language": "C", "prepare": "./configure --disable-readline CC=clang-22 CFLAGS=-O1 && make sqlite3.c shell.c",
                "units": ["tsrc/*.c", "shell.c", "!tsrc/shell.c", "!tsrc/fts3_*test.c", "!tsrc/geopoly.c", "!tsrc/userauth.c",
                          "!tsrc/tclsqlite.c"],
                "flags": ["-Itsrc", "-I.", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_CORE"],
                "libraries": ["-lm"]},
    "lp-solve": {"language": "C",
                 "units": ["lp_*.c", "ini.c", "fortify.c", "yacc_read.c", "shared/commonlib.c", "shared/mmio.c", "shared/myblas.c",
                           "colamd/colamd.c", "bfp/bfp_LUSOL/lp_LUSOL.c", "bfp/bfp_LUSOL/LUSOL/lusol.c", "lp_solve/*.c",
                           "!lp_solveDLL.c"],
                 "flags": ["-I.", "-Ibfp", "-Ibfp/bfp_LUSOL", "-Ibfp/bfp_LUSOL/LUSOL", "-Icolamd", "-Ishared", "-DPARSER_LP",
                           "-DYY_NEVER_INTERACTIVE", "-DINVERSE_ACTIVE=INVERSE_LUSOL", "-DRoleIsExternalInvEngine"],
                 "libraries": ["-lm", "-ldl"]},
    "minisat2": {"language": "C++", "units": ["minisat/utils/*.cc", "minisat/core/Solver.cc", "minisat/simp/*.cc"],
                 "flags": ["-I.", "-D__STDC_LIMIT_MACROS", "-D__STDC_FORMAT_MACROS", "-Wno-reserved-user-defined-literal"],
                 "libraries": ["-lz"]},
    "cadical": {"language": "C++", "units": ["src/*.cpp", "!src/mobical.cpp"],
                "flags": ["-DNBUILD", "-DVERSION=\"1.5.3\"", "-DNDEBUG"], "libraries": []},
    "leveldb": {"language": "C++", "units": ["db/*.cc", "table/*.cc", "util/*.cc", "!*/*_test.cc", "!util/testutil.cc",
                                             "!util/env_windows.cc", "!db/c.cc"],
                "flags": ["-I.", "-Iinclude", "-DLEVELDB_PLATFORM_POSIX=1", "-DHAVE_FDATASYNC=1", "-DHAVE_O_CLOEXEC=1"],
                "libraries": ["-pthread"]},
    # C++ programs whose classes have containers as members.
    "ninja-build": {"language": "C++ (libstdc++)",
                    "units": ["src/*.cc", "src/getopt.c", "!src/*test.cc", "!src/*win32.cc", "!src/*.in.cc", "!src/browse.cc",
                              "!src/test.cc", "!src/hash_collision_bench.cc"], "flags": [], "libraries": ["-pthread"]},
    "fasttext": {"language": "C++ (libstdc++)", "units": ["src/*.cc"], "flags": ["-DNDEBUG"], "libraries": ["-pthread"]},
    "jsonnet": {"language": "C++ (libstdc++)",
                "prepare": "{ od -v -An -t u1 stdlib/std.jsonnet | sed 's/ \\([0-9]\\)/\\1/; s/  */,/g; s/^,//; s/$/,/'; echo 0; } "
                           ">core/std.jsonnet.h",
                "units": ["core/*.cpp", "!core/*_test.cpp", "cmd/jsonnet.cpp", "cmd/utils.cpp",
                          "third_party/md5/*.cpp", "third_party/rapidyaml/rapidyaml/src/c4/yml/*.cpp",
                          "third_party/rapidyaml/rapidyaml/ext/c4core/src/c4/*.cpp"],
                "flags": ["-Iinclude", "-Icpp", "-Icore", "-Ithird_party/md5", "-Ithird_party/json", "-Ithird_party/rapidyaml/rapidyaml/src",
                          "-Ithird_party/rapidyaml/rapidyaml/ext/c4core/src"], "libraries": ["-pthread"]},
    "orocos-kdl": {"language": "C++ (Eigen)", "needs": ["libeigen3-dev", "libboost-dev"],
                   "prepare": "sed 's/@[A-Z_]*@/1/; s/#cmakedefine.*//' orocos_kdl/src/config.h.in >orocos_kdl/src/config.h && "
                              "sed -i 's/\\bPI\\b/KDL::PI/; s/1000000;/20000;/' orocos_kdl/examples/chainiksolverpos_lma_demo.cpp",
                   "units": [f"orocos_kdl/src/{u}.cpp" for u in (
                       "articulatedbodyinertia", "chain", "chainfksolverpos_recursive", "chainiksolverpos_lma", "frameacc", "frames",
                       "frames_io", "framevel", "jacobian", "jntarray", "joint", "kinfam_io", "rigidbodyinertia", "rotationalinertia",
                       "jntspaceinertiamatrix", "segment", "tree", "utilities/svd_HH", "utilities/svd_eigen_HH")] +
                   ["orocos_kdl/src/utilities/*.cxx", "orocos_kdl/models/puma560.cpp",
                    "orocos_kdl/examples/chainiksolverpos_lma_demo.cpp"],
                   "flags": ["-Iorocos_kdl/src", "-Iorocos_kdl/models", "-I/usr/include/eigen3"], "libraries": []},
    # An index of points, of the package's examples, and the library's units that it needs.
    "s2geometry": {"language": "C++ (Abseil)", "needs": ["libabsl-dev", "libssl-dev"],
                   "prepare": "sed -i 's/, 10000,/, 100000,/' doc/examples/point_index.cc",
                   "units": ["doc/examples/point_index.cc", "src/s2/util/math/exactfloat/exactfloat.cc"] + [f"src/s2/{u}.cc" for u in (
                       "r2rect", "s1angle", "s1chord_angle", "s1interval", "s2cap", "s2cell", "s2cell_id", "s2cell_index", "s2cell_union",
                       "s2closest_cell_query", "s2closest_edge_query", "s2closest_point_query", "s2coords", "s2debug", "s2edge_clipping", "s2edge_crosser", "s2edge_crossings",
                       "s2edge_distances", "s2latlng", "s2latlng_rect", "s2latlng_rect_bounder", "s2loop_measures", "s2metrics",
                       "s2min_distance_targets", "s2padded_cell", "s2pointutil", "s2predicates", "s2r2rect", "s2region",
                       "s2region_coverer", "s2testing")],
                   "flags": ["-std=c++17", "-Isrc", "-ffunction-sections"],
                   "libraries": ["-fuse-ld=lld", "-Wl,--gc-sections", *(f"-labsl_{n}" for n in (
                       "base", "city", "flags_config", "flags_internal", "flags_marshalling", "flags_program_name",
                       "flags_reflection", "hash", "int128", "low_level_hash", "raw_hash_set", "raw_logging_internal", "spinlock_wait", "strings",
                       "strings_internal", "str_format_internal", "synchronization", "throw_delegate")), "-lcrypto"]},
    "clasp": {"language": "C++ (bk_lib)",
              "prepare": "cmake -S . -B configured -DCLASP_BUILD_WITH_THREADS=OFF -DCMAKE_CXX_COMPILER=clang++-22",
              "units": ["app/*.cpp", "src/*.cpp", "!src/parallel_solve.cpp", "libpotassco/src/*.cpp"],
              "flags": ["-std=c++14", "-I.", "-Iconfigured", "-Ilibpotassco", "-DNDEBUG"], "libraries": []},
    # Double precision, without MPI (the package's own stand-in), with its ordering in C.
    "mumps": {"language": "Fortran, C", "needs": ["libblas-dev", "liblapack-dev"],
              "prepare": "cp src/mumps_int_def32_h.in include/mumps_int_def.h",
              "units": ["src/*.F", "!src/[scz]*.F", "src/sol_common.F", "src/*.c", "!src/[scz]mumps_gpu.c", "libseq/*.[cf]",
                        "PORD/lib/*.c", "examples/dsimpletest.F"],
              "flags": ["-Iinclude", "-Ilibseq", "-IPORD/include", "-Isrc", "-DAdd_", "-Dpord", "-DMUMPS_ARITH=MUMPS_ARITH_d"],
              "fortran": ["-Iinclude", "-Ilibseq", "-Isrc", "-Dpord"], "libraries": ["-llapack", "-lblas", "-pthread"]},
    # Fortran with modules, derived types and ALLOCATE(..., SOURCE=): parts of a source package of PyPI.
    "multicharge": {"language": "Fortran", "sdist": ("dftd4", "4.3.1"), "needs": ["libblas-dev", "liblapack-dev"],
                    "units": [f"{CHEMISTRY}/mctc-lib/src/**/*.[fF]90", f"{CHEMISTRY}/multicharge/src/**/*.[fF]90",
                              f"{CHEMISTRY}/multicharge/app/main.f90"],
                    "flags": [], "fortran": [f"-I{CHEMISTRY}/mctc-lib/include", "-DWITH_JSON=0"], "libraries": ["-llapack", "-lblas"]},
    "mctc-convert": {"language": "Fortran", "sdist": ("dftd4", "4.3.1"),
                     "units": [f"{CHEMISTRY}/mctc-lib/src/**/*.[fF]90", f"{CHEMISTRY}/mctc-lib/app/main.f90"],
                     "flags": [], "fortran": [f"-I{CHEMISTRY}/mctc-lib/include", "-DWITH_JSON=0"], "libraries": ["-llapack", "-lblas"]},
}

# Runs that weigh the accesses: inputs are made here, each run takes seconds. {program} and {inputs}
# are paths.
LUA = """local words, sum = {}, 0
for i = 1, 200000 do words[i] = tostring((i * 7919) % 100003) end
table.sort(words)
local seen = {}
for i, w in ipairs(words) do seen[w] = (seen[w] or 0) + 1; sum = sum + #w end
local tree = nil
local function insert(t, k) if not t then return {k = k} end
  if k < t.k then t.l = insert(t.l, k) elseif k > t.k then t.r = insert(t.r, k) end return t end
for i = 1, 30000 do tree = insert(tree, (i * 7919) % 65537) end
print(sum, #table.concat(words, ","), string.rep("abc", 10000):gsub("b", "xy"):len())
"""


JSONNET = """local square(n) = n * n;
local fibonacci(n) = if n < 2 then n else fibonacci(n - 1) + fibonacci(n - 2);
local rows = [{id: i, name: 'row %d' % i, value: square(i) % 97, tags: ['t%d' % (i % 7)]} for i in std.range(0, 150)];
{ fibonacci: fibonacci(15),
  sorted: std.sort(rows, function(r) r.value),
  tags: std.set(std.flattenArrays([r.tags for r in rows])),
  by_name: { [r.name]: r { double: 2 * super.value } for r in rows },
  text: std.join(',', [std.toString(r.value) for r in rows]) }
"""


def edges(groups, draw):
    """Writes a ninja file whose files are made from files that come before, in groups of 100."""
    rows = "".join(f"build out{i}.o: cc out{i // 2}.o | out{draw.randrange(i)}.o\n" for i in range(1, 100 * groups))
    every = "".join(f"build group{g}: phony {' '.join(f'out{i}.o' for i in range(100 * g, 100 * g + 100))}\n" for g in range(groups))
    return (f"rule cc\n  command = cc $in $out\nbuild out0.o: cc\n{rows}{every}"
            f"build all: phony {' '.join(f'group{g}' for g in range(groups))}\n")


def grid(side):
    """Writes a square grid in METIS' format."""
    def near(x, y):
        return [str(b * side + a + 1) for a, b in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)) if 0 <= a < side and 0 <= b < side]
    return f"{side * side} {2 * side * (side - 1)}\n" + "".join(
        " ".join(near(x, y)) + "\n" for y in range(side) for x in range(side))


def clauses(variables, ratio, draw):
    rows = [[(draw.randrange(variables) + 1) * draw.choice((1, -1)) for _ in range(3)] for _ in range(int(ratio * variables))]
    return f"p cnf {variables} {len(rows)}\n" + "".join(" ".join(map(str, r)) + " 0\n" for r in rows)


def molecules(side, draw):
    """Writes a box of water molecules, in the xyz format."""
    rows = [f"{atom} {3.1 * x + dx:.4f} {3.1 * y + dy:.4f} {3.1 * z + draw.uniform(-0.1, 0.1):.4f}"
            for x in range(side) for y in range(side) for z in range(side)
            for atom, dx, dy in (("O", 0, 0), ("H", 0.76, 0.59), ("H", -0.76, 0.59))]
    return f"{len(rows)}\nwater\n" + "\n".join(rows) + "\n"


def transport(sources_, sinks, draw):
    """Writes a transport problem in lp_solve's language."""
    cost = " + ".join(f"{draw.randint(1, 50)} x{i}_{j}" for i in range(sources_) for j in range(sinks))
    given = "".join(" + ".join(f"x{i}_{j}" for j in range(sinks)) + f" <= {100 * sinks // sources_ + 20};\n" for i in range(sources_))
    wanted = "".join(" + ".join(f"x{i}_{j}" for i in range(sources_)) + " >= 90;\n" for j in range(sinks))
    return f"min: {cost};\n{given}{wanted}"


def matrix(side):
    """Writes the five-point stencil on a square grid and a right-hand side, in the format of MUMPS'
    example."""
    rows = [f"{y * side + x + 1} {b * side + a + 1} {4.5 if (a, b) == (x, y) else -1.0}" for y in range(side) for x in range(side)
            for a, b in ((x, y), (x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)) if 0 <= a < side and 0 <= b < side]
    return "\n".join([str(side * side), str(len(rows)), *rows] + ["1.0"] * (side * side)) + "\n"


WORKLOADS = {
    "lua5.4": ({"work.lua": lambda draw: LUA}, "{program} {inputs}/work.lua"),
    "libzstd": ({"text": lambda draw: "".join(draw.choice(LUA.split()) + " " for _ in range(400000))},
                "{program} -q -f -12 {inputs}/text -o {inputs}/packed && {program} -q -f -d {inputs}/packed -o {inputs}/again"),
    "metis": ({"grid": lambda draw: grid(250)}, "{program} {inputs}/grid 16"),
    "qhull": ({"points": lambda draw: "4\n6000\n" + "".join(
        " ".join(f"{draw.gauss(0, 1):.6f}" for _ in range(4)) + "\n" for _ in range(6000))}, "{program} s <{inputs}/points"),
    "lp-solve": ({"model.lp": lambda draw: transport(40, 60, draw)}, "{program} -S3 {inputs}/model.lp"),
    "minisat2": ({"random.cnf": lambda draw: clauses(220, 4.26, draw)}, "{program} {inputs}/random.cnf; case $? in 10|20) ;; *) exit 1 ;; esac"),
    "cadical": ({"random.cnf": lambda draw: clauses(220, 4.26, draw)}, "{program} -q {inputs}/random.cnf; case $? in 10|20) ;; *) exit 1 ;; esac"),
    "glpk": ({"model.lp": lambda draw: "Minimize\n cost: " + " + ".join(f"{draw.randint(1, 50)} x{i}_{j}" for i in range(30) for j in range(40))
              + "\nSubject To\n" + "".join(f" g{i}: " + " + ".join(f"x{i}_{j}" for j in range(40)) + " <= 150\n" for i in range(30))
              + "".join(f" w{j}: " + " + ".join(f"x{i}_{j}" for i in range(30)) + " >= 90\n" for j in range(40)) + "End\n"},
             "{program} --lp {inputs}/model.lp"),
    "ninja-build": ({"build.ninja": lambda draw: edges(300, draw)}, "cd {inputs} && {program} -n >/dev/null && {program} -t deps >/dev/null"),
    "fasttext": ({"text": lambda draw: "".join(f"__label__{draw.randrange(40)} " + " ".join(
        f"word{int(draw.expovariate(0.002))}" for _ in range(20)) + "\n" for _ in range(6000))},
                 "{program} supervised -input {inputs}/text -output {inputs}/model -epoch 2 -thread 1 -wordNgrams 2 -bucket 100000 && "
                 "{program} test {inputs}/model.bin {inputs}/text"),
    "jsonnet": ({"work.jsonnet": lambda draw: JSONNET}, "{program} -s 2000 {inputs}/work.jsonnet >/dev/null"),
    "orocos-kdl": ({}, "{program} >/dev/null"),
    "s2geometry": ({}, "{program} >/dev/null"),
    "clasp": ({"random.cnf": lambda draw: clauses(200, 4.26, draw)}, "{program} {inputs}/random.cnf; case $? in 10|20|30) ;; *) exit 1 ;; esac"),
    "multicharge": ({"box.xyz": lambda draw: molecules(10, draw)}, "{program} {inputs}/box.xyz >/dev/null"),
    "mctc-convert": ({"box.xyz": lambda draw: molecules(40, draw)}, "{program} {inputs}/box.xyz {inputs}/box.mol && "
                     "{program} {inputs}/box.mol {inputs}/box.gen"),
    "mumps": ({"input": lambda draw: matrix(120)}, "{program} <{inputs}/input"),
}
