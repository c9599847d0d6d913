# SPDX-License-Identifier: Apache-2.0
# KILN_STATIC_CLIENTS: --disable-static-clients links ksub and kctl with shared
# libraries alone. Starting a process costs about as much as loading four
# libraries, and ksub is started for every job.
AC_DEFUN([KILN_STATIC_CLIENTS], [
  AC_ARG_ENABLE([static-clients],
    [AS_HELP_STRING([--disable-static-clients],
      [link ksub and kctl with shared libraries where there are static ones])],
    [], [enable_static_clients=yes])
  AM_CONDITIONAL([STATIC_CLIENTS], [test "x$enable_static_clients" != xno])
])
