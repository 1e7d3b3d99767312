# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage_error.py has the error that the commands of the evaluation end with, exit status 2."""


class UsageError(Exception):
    """What the user can mend: where, why, and the cure."""

    def __init__(self, where, why, cure):
        super().__init__(f"{where}: {why}")
        self.where, self.why, self.cure = where, why, cure
