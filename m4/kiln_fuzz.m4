# SPDX-License-Identifier: Apache-2.0
# KILN_FUZZ: --enable-fuzz builds the libFuzzer programs; clang only.
AC_DEFUN([KILN_FUZZ], [
  AC_ARG_ENABLE([fuzz],
    [AS_HELP_STRING([--enable-fuzz], [build the fuzzers (clang only)])],
    [], [enable_fuzz=no])
  AS_IF([test "x$enable_fuzz" = xyes], [
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [
#ifndef __clang__
#error gcc
#endif
      ])], [], [AC_MSG_ERROR([--enable-fuzz needs clang: CC=clang ./configure (Debian packages clang libclang-rt-14-dev)])])])
  AS_IF([test "x$enable_fuzz" = xyes],
    [SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fsanitize=fuzzer-no-link"])
  AM_CONDITIONAL([ENABLE_FUZZ], [test "x$enable_fuzz" = xyes])
])
