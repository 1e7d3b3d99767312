# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every command of the tests and scripts comes from a package that scripts/install-packages
# installs, or from one that every Debian system has, or is checked with `command -v`. Otherwise a
# clean machine fails where this one passes.
. "$(dirname "$0")/../support/lib.sh"
command -v dpkg-query >/dev/null || skip "no dpkg-query: not a Debian system"
"$SMALLOC_SOURCE/scripts/install-packages" --list >listed
expect_match listed '^clang-22$'
# One name a line, also where releases name a package differently.
expect_match listed '^libmimalloc(2\.0|3)$'
! grep '|' listed || fail "several names in one line"
"$SMALLOC_SOURCE/scripts/install-packages" --list --llvm 19 >listed.19
expect_match listed.19 '^libclang-19-dev$'
! grep -e '-22' listed.19 || fail "--llvm 19 asks for LLVM 22"
expect_status 2 "$SMALLOC_SOURCE/scripts/install-packages" --llvm 18
missing=$("$SMALLOC_SOURCE/scripts/install-packages" --check | sed -n 's/^missing packages: //p') || true
[ -z "$missing" ] || skip "not all packages are installed, so that nobody knows what they bring: $missing"
python3 - "$SMALLOC_SOURCE" <<'PY' || fail "commands without a package; add it to scripts/install-packages, or look for the command first"
import pathlib, re, shutil, subprocess, sys

source = pathlib.Path(sys.argv[1])

# The commands of the listed packages and of all their dependencies; and of the packages that every
# Debian system has.
fields = "${Package}\t${db:Status-Status}\t${Essential}\t${Priority}\t${Depends}, ${Pre-Depends}\t${Provides}\n"
installed, provided = {}, {}
for line in subprocess.run(["dpkg-query", "-W", "-f", fields], capture_output=True, text=True, check=True).stdout.splitlines():
    name, status, essential, priority, depends, provides = line.split("\t")
    if status != "installed":
        continue
    names = {re.sub(r"[ :(].*", "", one.strip()) for part in depends.split(",") for one in part.split("|")} - {""}
    installed[name] = (essential == "yes" or priority == "required", names)
    for one in provides.split(","):
        provided.setdefault(re.sub(r"[ :(].*", "", one.strip()), set()).add(name)
waiting = set(open("listed").read().split()) | {name for name, (base, _) in installed.items() if base}
brought = set()
while waiting:
    name = waiting.pop()
    if name in brought:
        continue
    brought.add(name)
    waiting |= provided.get(name, set())
    if name in installed:
        waiting |= installed[name][1]

def owners(command):
    """Of the command's file, and of what the file is a link to."""
    path = pathlib.Path(shutil.which(command))
    places = {str(path), str(path.resolve())}
    places |= {re.sub("^/usr", "", place) for place in places} | {"/usr" + place for place in places if not place.startswith("/usr")}
    found = subprocess.run(["dpkg-query", "-S", *sorted(places)], capture_output=True, text=True).stdout
    return {one.split(":")[0] for line in found.splitlines() for one in line.rsplit(": ", 1)[0].split(", ")}

# A word in the position of a command.
place = re.compile(r"(?:^|[|;&(!`{]|\$\(|\b(?:then|do|else|if|while|until|env|exec|quietly|xargs)\b)[ \t]*(?:[A-Za-z_]\w*=(?:\x22[^\x22\n]*\x22|[^\s(\x22]*)[ \t]+)*([a-z][a-z0-9_.+-]*)(?=[ \t)|;&\n])", re.M)
others = ("compat", "numa-vm")  # which name their additional packages themselves
scripts = [p for folder in ("tests", "scripts") for p in sorted((source / folder).rglob("*"))
           if p.is_file() and p.parent.name not in others and (p.suffix in (".sh", ".bash", ".inc") or (p.suffix == "" and p.read_bytes()[:40].find(b"bash") > 0))]
assert len(scripts) > 200, len(scripts)
functions = {name for p in scripts for name in re.findall(r"^\s*([a-z_]\w*)\s*\(\)", p.read_text(errors="replace"), re.M)}
uses = {}
for p in scripts:
    # Not texts that others read or compile.
    text = re.sub(r"<<-?\s*'?(\w+)'?[^\n]*\n.*?\n\s*\1\n", "\n", p.read_text(errors="replace"), flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    guarded = set(re.findall(r"command -v \"?([\w.+-]+)", text))
    for word in set(place.findall(text)) - guarded - functions:
        uses.setdefault(word, []).append(str(p.relative_to(source)))
known = {w: files for w, files in uses.items() if shutil.which(w)}
assert {"cmake", "strace", "python3", "sed"} <= set(known), sorted(known)
bad = {}
for word, files in known.items():
    packages = owners(word)
    if packages and not packages & brought:
        bad[word] = (packages, files)
for word, (packages, files) in sorted(bad.items()):
    print(f"{word} ({', '.join(sorted(packages))}): {', '.join(files[:3])}", file=sys.stderr)
sys.exit(bool(bad))
PY
