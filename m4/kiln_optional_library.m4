# SPDX-License-Identifier: Apache-2.0
# KILN_OPTIONAL_LIBRARY(NAME, PKG-CONFIG-MODULE, DEBIAN-PACKAGE, WHAT-IT-BRINGS)
# Defines HAVE_NAME in config.h and as an automake conditional.
AC_DEFUN([KILN_OPTIONAL_LIBRARY], [
  AC_ARG_WITH(m4_tolower([$1]),
    [AS_HELP_STRING([--without-]m4_tolower([$1]), [build without $4])],
    [], [with_]m4_tolower([$1])[=auto])
  kiln_have_$1=no
  AS_IF([test "x$with_]m4_tolower([$1])[" != xno],
    [PKG_CHECK_MODULES([$1], [$2], [kiln_have_$1=yes],
      [AS_IF([test "x$with_]m4_tolower([$1])[" = xyes],
        [kiln_missing="$kiln_missing $3"])])])
  AS_IF([test $kiln_have_$1 = yes],
    [AC_DEFINE([HAVE_$1], [1], [$4])
     kiln_found="$kiln_found
    $1: $2 ($4)"],
    [kiln_off="$kiln_off
    $4: off (Debian package $3)"])
  AM_CONDITIONAL([HAVE_$1], [test $kiln_have_$1 = yes])
])
