# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""held_directives.py FOLDER HELD [WORD]: superpages for each site of a unit's table, which held so often; WORD in the header."""
import glob
import json
import sys

print(" ".join(["# smalloc.directives/1", *sys.argv[3:]]))
for table in glob.glob(sys.argv[1] + "/*.json"):
    for site in json.load(open(table))["sites"]:
        print(f"{site['id']} page=2m rank=1 pmb=50 held={sys.argv[2]}")
