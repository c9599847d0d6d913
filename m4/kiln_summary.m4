# SPDX-License-Identifier: Apache-2.0
# KILN_SUMMARY: say what was found and what is off; stop when something that
# Kiln needs is missing.
AC_DEFUN([KILN_SUMMARY], [
  AS_IF([test -n "$kiln_missing"], [
    AC_MSG_ERROR([missing libraries. On Debian:
    apt-get install$kiln_missing])])
  AS_ECHO(["
  Kiln $PACKAGE_VERSION
    compiler: $CC $CFLAGS
    warnings are errors: $enable_werror
    hardening: $enable_hardening
    sanitizers: $enable_sanitize
    fuzzers: $enable_fuzz
    prefix: $prefix
    configuration: $sysconfdir/kiln
    state: $localstatedir/lib/kiln
  Found:$kiln_found
  Off:${kiln_off:- nothing}
"])
])
