#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A minute of testsuite/soak, with a seed that it prints.

exec "${top_srcdir:-.}/testsuite/soak" 1
