# SPDX-License-Identifier: Apache-2.0
# KILN_DIRECTORIES: below /usr and /usr/local, what the machine's administrator
# owns is in /etc, /var and /run, where systemd's units put it too. Another
# prefix, or an option, has its own way.
AC_DEFUN([KILN_DIRECTORIES], [
  AS_CASE(["$prefix"], [NONE|/usr|/usr/local], [
    AS_IF([test "x$sysconfdir" = 'x${prefix}/etc'], [sysconfdir=/etc])
    AS_IF([test "x$localstatedir" = 'x${prefix}/var'], [localstatedir=/var])
    AS_IF([test "x$runstatedir" = 'x${localstatedir}/run'], [runstatedir=/run])
  ])
])
