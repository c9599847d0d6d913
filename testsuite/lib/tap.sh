# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# tap.sh - the Test Anything Protocol for tests written in shell
#
#   . "$top_srcdir/testsuite/lib/tap.sh"
#   ok "a file can be listed" ls /etc/passwd
#   is "two and two are four" "$((2 + 2))" 4
#   finish
#
# Every call is one test point, and the name of a test point is a sentence.
# `finish` is the last call: it prints the plan, and its exit status says
# whether all test points passed. A script that ends before `finish` prints no
# plan, which counts as an error.

tap_count=0
tap_failed=0

# note TEXT...: prints a comment for the reader of the log. Without an
# argument, prints standard input as comments.
note() {
    if [ $# -gt 0 ]; then
        printf '%s\n' "$*" | sed 's/^/# /'
    else
        sed 's/^/# /'
    fi
}

pass() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s\n' "$tap_count" "$1"
}

fail() {
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$1"
}

# skip NAME REASON: reports one test point as skipped. If several are left out,
# NAME is the name of the first.
skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# ok NAME COMMAND [ARG...]: passes if the command succeeds. Otherwise prints
# the output of the command.
ok() {
    tap_name=$1
    shift
    tap_status=0
    tap_output=$("$@" 2>&1) || tap_status=$?
    if [ "$tap_status" -eq 0 ]; then
        pass "$tap_name"
        return 0
    fi
    fail "$tap_name"
    note "exit status $tap_status of: $*"
    [ -z "$tap_output" ] || note "$tap_output"
    return 1
}

# not_ok NAME COMMAND [ARG...]: passes if the command fails.
not_ok() {
    tap_name=$1
    shift
    if tap_output=$("$@" 2>&1); then
        fail "$tap_name"
        note "succeeded, and should not have: $*"
        [ -z "$tap_output" ] || note "$tap_output"
        return 1
    fi
    pass "$tap_name"
}

# is NAME GOT WANTED: passes if both texts are equal.
is() {
    if [ "$2" = "$3" ]; then
        pass "$1"
        return 0
    fi
    fail "$1"
    note "     got: $2"
    note "expected: $3"
    return 1
}

# like NAME TEXT PATTERN: passes if a line of TEXT matches the extended regular
# expression.
like() {
    if printf '%s\n' "$2" | grep -Eq -- "$3"; then
        pass "$1"
        return 0
    fi
    fail "$1"
    note "    text: $2"
    note "is not like: $3"
    return 1
}

# unlike NAME TEXT PATTERN: passes if no line of TEXT matches.
unlike() {
    if ! printf '%s\n' "$2" | grep -Eq -- "$3"; then
        pass "$1"
        return 0
    fi
    fail "$1"
    note "    text: $2"
    note "is like: $3"
    return 1
}

# empty NAME TEXT: passes if TEXT is empty. Each line of TEXT is a violation.
empty() {
    if [ -z "$2" ]; then
        pass "$1"
        return 0
    fi
    fail "$1"
    note "$2"
    return 1
}

# skip_all REASON: skips the whole file. Call it before the first test point.
skip_all() {
    printf '1..0 # SKIP %s\n' "$1"
    exit 0
}

# bail_out REASON: ends the test, because its further test points would mean
# nothing.
bail_out() {
    printf 'Bail out! %s\n' "$1"
    exit 1
}

finish() {
    printf '1..%d\n' "$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}
