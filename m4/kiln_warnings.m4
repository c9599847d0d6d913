# SPDX-License-Identifier: Apache-2.0
# KILN_WARNINGS: the warnings of the house style, for gcc 12 and clang 14.
AC_DEFUN([KILN_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make compiler warnings errors])],
    [], [enable_werror=no])
  WARN_CFLAGS="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
-Wmissing-declarations -Wold-style-definition -Wpointer-arith -Wcast-qual \
-Wwrite-strings -Wformat=2 -Wundef -Wvla -Wnull-dereference \
-Wdouble-promotion -Wredundant-decls -Wdate-time -Wimplicit-fallthrough"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [
#ifdef __clang__
#error clang
#endif
    ])], [WARN_CFLAGS="$WARN_CFLAGS -Wduplicated-cond -Wlogical-op"])
  AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])
])
