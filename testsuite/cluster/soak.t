#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Minutes of testsuite/soak, with a seed that it prints: as many as $KILN_LONG
# says, which `testsuite/run --long` sets. What random faults find is not for
# every run.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
[ -n "$KILN_LONG" ] || skip_all "random faults for minutes: testsuite/run --long"

exec "$top_srcdir/testsuite/soak" "$KILN_LONG"
