# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lit.cfg.py decides what a lit test may write: %plugin, %clang, %clangxx, %flang, %opt, and the LLVM tools by name.
import os
import sys

import lit.formats

config.name = "smalloc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll", ".c", ".cpp", ".f90", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.smalloc_build, "tests", "lit", "out")
config.environment["PATH"] = config.llvm_tools_dir + os.pathsep + config.environment["PATH"]
for name in ("SMALLOC_CONF", "LD_PRELOAD"):
    config.environment.pop(name, None)

plugin = os.path.join(config.smalloc_build, "lib", "SmallocPlugin.so")
tools = config.llvm_tools_dir
flang = next((f for f in (f"{tools}/flang", f"{tools}/flang-new") if os.path.exists(f)), None)  # LLVM 19 has the latter
# Before LLVM 22 flang reads -mllvm before it opens -fpass-plugin.
loaded = f"-Xflang -load -Xflang {plugin} " if config.llvm_major < 22 else ""
everything = "-Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc"
config.substitutions += [
    # All remarks of a unit, on stderr.
    ("%remarksxx", f"{tools}/clang++ -fplugin={plugin} -fplugin-arg-smalloc-machine=zen4 -O2 -c -o /dev/null {everything}"),
    ("%remarks", f"{tools}/clang -fplugin={plugin} -fplugin-arg-smalloc-machine=zen4 -O2 -c -o /dev/null {everything}"),
    ("%core2remarks", f"{tools}/clang -fplugin={plugin} -fplugin-arg-smalloc-machine=core2 -fplugin-arg-smalloc-model=paper -O2 -c -o /dev/null {everything}"),
    ("%python", sys.executable),
    ("%plugin", plugin),
    ("%opt", f"{tools}/opt -load-pass-plugin={plugin} -smalloc-machine=zen4"),
    ("%clangxx", f"{tools}/clang++ -fplugin={plugin} -fplugin-arg-smalloc-machine=zen4"),
    ("%clang", f"{tools}/clang -fplugin={plugin} -fplugin-arg-smalloc-machine=zen4"),
    ("%flang", f"{flang} {loaded}-fpass-plugin={plugin}"),
    ("%rawopt", f"{tools}/opt"),
    ("%rawclang", f"{tools}/clang"),
]
if flang:
    config.available_features.add("flang")
# What the compiler or its IR cannot do in an older version.
for major in (21, 22, 23):
    if config.llvm_major >= major:
        config.available_features.add(f"llvm-{major}")
# The headers of glibc 2.40 and newer fortify for clang: by a branch over calls, of which the last optimisations leave one.
if tuple(int(n) for n in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")) >= (2, 40):
    config.available_features.add("fortified-by-branch")
if os.uname().machine == "x86_64":
    config.available_features.add("x86-host")
