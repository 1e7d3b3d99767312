# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""peak.py COMMAND... decides what a command takes of memory at most: prints its peak in KiB, and fails as it does. A count that hardly
moves, where a time would."""
import resource
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
