# SPDX-License-Identifier: Apache-2.0
# KILN_LIBRARY(NAME, PKG-CONFIG-MODULES, DEBIAN-PACKAGE)
# A library Kiln cannot do without; a missing one is named with its package.
AC_DEFUN([KILN_LIBRARY], [
  PKG_CHECK_MODULES([$1], [$2], [
    kiln_found="$kiln_found
    $1: $2"],
    [kiln_missing="$kiln_missing $3"])
])
