# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes measured results as JSON with one row a line, so that a difference shows the measurements that changed."""
import json

ROW_COLUMNS = 400  # a value that fits is one row


def rows(value, level=0):
    """The JSON text of `value`: each dictionary or list that fits into ROW_COLUMNS, or holds scalars only, is one line."""
    row = json.dumps(value)
    inner = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(inner, list) or len(row) <= ROW_COLUMNS or not any(isinstance(part, (dict, list)) for part in inner):
        return row
    indent = " " * (level + 1)
    names = [json.dumps(name) + ": " for name in value] if isinstance(value, dict) else [""] * len(inner)
    lines = ",\n".join(indent + name + rows(part, level + 1) for name, part in zip(names, inner))
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{lines}\n{' ' * level}{last}"
