# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""smalloc's own figures, which follow no table or figure of a source."""
