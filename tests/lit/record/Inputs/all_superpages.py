# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all_superpages.py FOLDER: directives that give superpages to every site of a unit's table."""
import glob
import json
import sys

print("# smalloc.directives/1")
for site in json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))["sites"]:
    print(f"{site['id']} page=2m")
