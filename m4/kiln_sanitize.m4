# SPDX-License-Identifier: Apache-2.0
# KILN_SANITIZE: --enable-sanitize=address,undefined or =thread
AC_DEFUN([KILN_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST],
      [build with sanitizers, such as address,undefined or thread])],
    [], [enable_sanitize=no])
  AS_IF([test "x$enable_sanitize" = xyes],
    [enable_sanitize=address,undefined])
  SANITIZE_CFLAGS=
  AS_IF([test "x$enable_sanitize" != xno], [
    SANITIZE_CFLAGS="-fsanitize=$enable_sanitize -fno-omit-frame-pointer -fno-sanitize-recover=all"])
  AC_SUBST([SANITIZE_CFLAGS])
])
