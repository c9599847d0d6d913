# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# tap.sh - the Test Anything Protocol for tests written in shell
#
#   . "$top_srcdir/testsuite/lib/tap.sh"
#   ok "a file can be listed" ls /etc/passwd
#   is "two and two" "$((2 + 2))" 4
#   finish
#
# Every call is one test point with one sentence as its name. `finish` comes
# last: it prints the plan, and the exit status says whether all passed; a
# script that ends before it has no plan, which counts as an error.

tap_count=0
tap_failed=0

# note TEXT...: for the reader of the log; with no argument, standard input.
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

# skip NAME REASON
skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# ok NAME COMMAND [ARG...]: passes when the command succeeds. What it printed
# is shown when it does not.
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

# not_ok NAME COMMAND [ARG...]: passes when the command fails.
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

# is NAME GOT WANTED
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

# like NAME TEXT PATTERN: an extended regular expression finds a line of it.
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

# unlike NAME TEXT PATTERN
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

# empty NAME TEXT: passes when there is none; each line of it is an offence.
empty() {
    if [ -z "$2" ]; then
        pass "$1"
        return 0
    fi
    fail "$1"
    note "$2"
    return 1
}

# skip_all REASON: the whole file, before its first test point.
skip_all() {
    printf '1..0 # SKIP %s\n' "$1"
    exit 0
}

# bail_out REASON: nothing that follows would mean anything.
bail_out() {
    printf 'Bail out! %s\n' "$1"
    exit 1
}

finish() {
    printf '1..%d\n' "$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}
