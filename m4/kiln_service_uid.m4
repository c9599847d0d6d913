# SPDX-License-Identifier: Apache-2.0
# KILN_SERVICE_UID: the uid that systemd-sysusers gives to the service user,
# --with-service-uid. It must be the same on all machines of a cluster. Without
# it, each machine takes its next free one.
AC_DEFUN([KILN_SERVICE_UID], [
  AC_ARG_WITH([service-uid],
    [AS_HELP_STRING([--with-service-uid=N],
      [uid of the user kiln, the same on all machines])],
    [], [with_service_uid=-])
  AS_CASE([$with_service_uid],
    [-], [],
    [''|0|*@<:@!0-9@:>@*],
      [AC_MSG_ERROR([--with-service-uid needs a number, not '$with_service_uid'])])
  AC_SUBST([service_uid], [$with_service_uid])
])
