# SPDX-License-Identifier: Apache-2.0
# KILN_STATIC_CLIENTS: --disable-static-clients links ksub and kctl with shared
# libraries alone. Starting a process costs about as much as loading four
# libraries, and ksub is started for every job. So kctl takes what libraries
# there are in static form, and ksub is static as a whole where there are all
# of them, the C library too: that starts in half the time.
AC_DEFUN([KILN_STATIC_CLIENTS], [
  AC_ARG_ENABLE([static-clients],
    [AS_HELP_STRING([--disable-static-clients],
      [link ksub and kctl with shared libraries where there are static ones])],
    [], [enable_static_clients=yes])
  AM_CONDITIONAL([STATIC_CLIENTS], [test "x$enable_static_clients" != xno])

  AC_CHECK_TOOL([OBJCOPY], [objcopy])
  kiln_static_ksub=no
  AS_IF([test "x$enable_static_clients" = xyes && test "x$enable_sanitize" = xno \
         && test "x$enable_fuzz" = xno && test -n "$OBJCOPY"], [
    kiln_static_ksub=yes
    for kiln_name in event_core event_extra lz4 munge nettle yajl_s yaml; do
      kiln_path=`$CC -print-file-name=lib$kiln_name.a`
      test -f "$kiln_path" || kiln_static_ksub=no
    done])
  AC_MSG_CHECKING([whether ksub can be linked statically])
  # ksub looks up no names itself (getent does), and libevent's functions for that
  # are never called. Without the C library's they give no warnings; the linker's
  # --no-warnings hides errors too, and a program with calls of address 0 results.
  # It runs for its user alone, and starts faster at a fixed address.
  KSUB_STATIC="-static"
  for kiln_name in getaddrinfo freeaddrinfo getservbyname getprotobynumber; do
    KSUB_STATIC="$KSUB_STATIC -Wl,--defsym=$kiln_name=abort"
  done
  AS_IF([test "$kiln_static_ksub" = yes], [
    kiln_saved_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS $KSUB_STATIC"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [], [kiln_static_ksub=no])
    LDFLAGS=$kiln_saved_LDFLAGS])
  AC_MSG_RESULT([$kiln_static_ksub])
  AC_SUBST([KSUB_STATIC])
  AM_CONDITIONAL([STATIC_KSUB], [test "$kiln_static_ksub" = yes])
])
