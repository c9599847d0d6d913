# SPDX-License-Identifier: Apache-2.0
# KILN_HARDENING: what makes a mistake in memory an end of the program and not
# a way into it: guarded stacks, checked copies, addresses that differ from run
# to run, and tables of the linker that cannot be written. What compiler or
# linker do not know is left out. --disable-hardening leaves out all of it.
# After KILN_SANITIZE; sanitizers check copies themselves.
AC_DEFUN([KILN_HARDENING], [
  AC_ARG_ENABLE([hardening],
    [AS_HELP_STRING([--disable-hardening],
      [build without stack protector, checked copies, PIE and RELRO])],
    [], [enable_hardening=yes])
  HARDENING_CFLAGS=
  HARDENING_LDFLAGS=
  PIE_LDFLAGS=
  kiln_fortify=0
  kiln_saved_CFLAGS=$CFLAGS
  kiln_saved_LDFLAGS=$LDFLAGS
  AS_IF([test "x$enable_hardening" != xno], [
    for kiln_flag in -fstack-protector-strong -fPIE; do
      CFLAGS="$kiln_saved_CFLAGS -Werror $kiln_flag"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
        [HARDENING_CFLAGS="$HARDENING_CFLAGS $kiln_flag"])
    done
    CFLAGS="$kiln_saved_CFLAGS $HARDENING_CFLAGS"
    LDFLAGS="$kiln_saved_LDFLAGS -pie"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [PIE_LDFLAGS=-pie])
    for kiln_flag in -Wl,-z,relro -Wl,-z,now; do
      LDFLAGS="$kiln_saved_LDFLAGS $kiln_flag"
      AC_LINK_IFELSE([AC_LANG_PROGRAM()],
        [HARDENING_LDFLAGS="$HARDENING_LDFLAGS $kiln_flag"])
    done
    LDFLAGS=$kiln_saved_LDFLAGS
    AS_IF([test "x$enable_sanitize" = xno && test "x$enable_fuzz" != xyes], [
      for kiln_level in 2 3; do
        CFLAGS="$kiln_saved_CFLAGS -O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$kiln_level"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]])],
          [kiln_fortify=$kiln_level])
      done])
  ])
  CFLAGS=$kiln_saved_CFLAGS
  LDFLAGS=$kiln_saved_LDFLAGS
  AC_DEFINE_UNQUOTED([KILN_FORTIFY], [$kiln_fortify],
    [How strictly copies are checked where code is optimized; 0: not at all.])
  dnl Here, and not among the flags: it clashes with -O0.
  AH_BOTTOM([#if KILN_FORTIFY > 0 && defined __OPTIMIZE__ && !defined _FORTIFY_SOURCE
#define _FORTIFY_SOURCE KILN_FORTIFY
#endif])
  AC_SUBST([HARDENING_CFLAGS])
  AC_SUBST([HARDENING_LDFLAGS])
  AC_SUBST([PIE_LDFLAGS])
])
