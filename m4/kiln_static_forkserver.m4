# SPDX-License-Identifier: Apache-2.0
# KILN_STATIC_FORKSERVER: --disable-static-forkserver has shepherds forked from
# the program with shared libraries. Most of what a fork costs is the list of
# mappings and the pages of libraries, which a static program has fewer of.
AC_DEFUN([KILN_STATIC_FORKSERVER], [
  AC_ARG_ENABLE([static-forkserver],
    [AS_HELP_STRING([--disable-static-forkserver],
      [fork shepherds from a program with shared libraries])],
    [], [enable_static_forkserver=yes])
  kiln_static_forkserver=no
  AS_IF([test "x$enable_static_forkserver" = xyes \
         && test "x$enable_sanitize" = xno && test "x$enable_fuzz" = xno], [
    kiln_static_forkserver=yes
    kiln_path=`$CC -print-file-name=libnuma.a`
    test -f "$kiln_path" || kiln_static_forkserver=no])
  AC_MSG_CHECKING([whether the fork server can be linked statically])
  # What looks up users warns of itself; the static program does not use it.
  FORKSERVER_STATIC="-static-pie -Wl,--no-warnings"
  AS_IF([test "$kiln_static_forkserver" = yes], [
    kiln_saved_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS $FORKSERVER_STATIC"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [], [kiln_static_forkserver=no])
    LDFLAGS=$kiln_saved_LDFLAGS])
  AC_MSG_RESULT([$kiln_static_forkserver])
  AC_SUBST([FORKSERVER_STATIC])
  AM_CONDITIONAL([STATIC_FORKSERVER], [test "$kiln_static_forkserver" = yes])
])
