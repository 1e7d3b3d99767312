#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Links of the pages lead to files and headings that exist, each page that a source, a script or a
# test names exists, and README.md leads to every page. docs/ has at most 15 pages for users.
. "$(dirname "$0")/../support/lib.sh"
cd "$SMALLOC_SOURCE"
python3 - <<'P' || fail "a link, or the name of a page, leads nowhere"
import glob, os, re, sys
wrong = []

def anchor(heading):
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"[`*]", "", heading))
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")

def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()

def prose_of(path):
    return re.sub(r"^```.*?^```", "", text_of(path), flags=re.S | re.M)

users = glob.glob("docs/*.md")
pages = users + glob.glob("docs/*/*.md") + ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
linked = set()
for page in pages:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if page == "README.md":
            linked.add(file)
        if not os.path.exists(file):
            wrong.append(f"{page}: no file {target}")
        elif heading and heading not in map(anchor, re.findall(r"^#+ (.*)$", prose_of(file), flags=re.M)):
            wrong.append(f"{page}: no heading {target}")
wrong += [f"README.md: no link to {page}" for page in pages if page.startswith("docs/") and page not in linked]
if len(users) > 15:
    wrong.append(f"{len(users)} pages for users")
for tree in ("passes", "smalloc", "runtime", "cmake", "scripts", "tests", "benchmarks"):
    for file in glob.glob(tree + "/**/*", recursive=True):
        if os.path.isfile(file) and not re.search(r"/(results|corpus|__pycache__)/", file):
            try:
                names = set(re.findall(r"\bdocs/[a-z/-]*[a-z]\.md\b", text_of(file)))
            except UnicodeDecodeError:
                continue
            wrong += [f"{file}: no page {name}" for name in names if not os.path.exists(name)]
print("\n".join(wrong), file=sys.stderr)
sys.exit(bool(wrong))
P
