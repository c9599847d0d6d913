#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs testsuite/soak for $KILN_LONG minutes, with a seed that it prints.
# `testsuite/run --long` sets the variable. Other runs skip this test because
# random faults do not belong in every run.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
[ -n "$KILN_LONG" ] || skip_all "random faults for minutes: testsuite/run --long"

exec "$top_srcdir/testsuite/soak" "$KILN_LONG"
