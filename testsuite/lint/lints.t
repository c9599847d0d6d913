#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1003 # a list in a Makefile continues with a backslash
# The lints themselves: each lint finds a violation of its rule in a small tree
# that is made for it.

top_srcdir=$(cd "${top_srcdir:-.}" && pwd)
export top_srcdir
. "$top_srcdir/testsuite/lib/tap.sh"
lint=$top_srcdir/testsuite/lint
tree=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$tree"' EXIT

# write FILE LINE...: writes these lines to the file in the tree.
write() {
    tree_file=$tree/$1
    mkdir -p "${tree_file%/*}"
    shift
    printf '%s\n' "$@" >"$tree_file"
}

fresh() {
    rm -rf "$tree"
    mkdir -p "$tree/testsuite"
    write src/lib/low/README.md '# lib/low' 'May include:' '- lib/low'
    write src/lib/high/README.md '# lib/high' 'May include:' '- lib/low'
    write src/lib/low/stone.h '/* SPDX-License-Identifier: Apache-2.0 */' \
        '/* stone.h - a stone' ' *' ' * Thread: any.' ' */' '#pragma once'
    write src/lib/high/tower.c '/* SPDX-License-Identifier: Apache-2.0 */' \
        '#include "lib/low/stone.h"'
    write src/lib/low/include.am '# SPDX-License-Identifier: Apache-2.0' \
        'A = \' '	%D%/stone.h'
    write src/lib/high/include.am '# SPDX-License-Identifier: Apache-2.0' \
        'A = \' '	%D%/tower.c'
}

# finds NAME LINT PATTERN: passes if the lint reports a violation that matches
# PATTERN.
finds() {
    found=$("$lint/$2" "$tree" 2>&1)
    like "$1" "$found" "^# .*$3"
}

fresh
for check in check-includes check-names check-spdx check-lists check-waits; do
    ok "$check accepts a good tree" "$lint/$check" "$tree"
done

fresh
write src/lib/low/stone.h '#include "lib/high/tower.h"'
finds "an include that the list does not allow is found" check-includes \
    'stone.h:1: lib/low may not include lib/high/tower.h'

fresh
write src/lib/low/stone.h '# include <sqlite3.h>'
finds "an outside library in the wrong room is found" check-includes \
    'sqlite3.h> belongs to controller/history controller/store'

fresh
write src/lib/low/stone.h '#include <hwloc/helper.h>'
finds "a header below an outside library's folder is found" check-includes \
    'hwloc/helper.h> belongs to agent/hardware'

fresh
write src/lib/high/tower.c '#include "tower.h"'
finds "an include that is not a full path below src is found" check-includes \
    'not a full address'

fresh
write src/lib/low/README.md '# lib/low' 'May include:' '- lib/high'
finds "a cycle between rooms is found" check-includes 'loop'

fresh
rm "$tree/src/lib/low/README.md"
finds "a room without a README is found" check-includes 'src/lib/low/README.md'

fresh
write src/lib/high/tower.c 'int x;'
finds "a source without its licence is found" check-spdx 'src/lib/high/tower.c'

fresh
write src/lib/low/stone.h '/* SPDX-License-Identifier: Apache-2.0 */' 'int x;'
finds "a header without its card is found" check-spdx 'stone.h:2'

fresh
write src/lib/low/pebble.c 'int x;'
finds "a source that no list names is found" check-lists 'pebble.c: in no include.am'

fresh
write src/lib/low/include.am 'A = \' '	%D%/stone.h \' '	%D%/pebble.c'
finds "an unsorted list is found" check-lists 'pebble.c should stand before'

fresh
write src/lib/high/stone.c 'int x;'
finds "two modules of the same name are found" check-lists 'stone: the noun of'

fresh
seq 251 >"$tree/NEWS"
finds "a NEWS that nobody reads is found" check-lists 'NEWS: 251 lines'

fresh
write src/lib/high/util.c 'int x;'
finds "a module called util is found" check-lists 'util.c'

fresh
write testsuite/lint/old-words '# old -> new' 'pebble -> stone' \
    'struct line -> mailbox'
write src/lib/high/tower.c '/* A line of PEBBLES_MAX stones. */'
finds "a word that was renamed is found" check-names 'tower.c:1:.*PEBBLES_MAX'
write src/lib/high/tower.c 'struct line *x; /* A line of stones. */'
finds "a renamed struct whose old name is an ordinary word is found" check-names \
    'tower.c:1:struct line'

fresh
write testsuite/unit/lib/high/test_tower.c 'START_TEST(so_is_one_of_stone)'
finds "a name of a test without a subject is found" check-names \
    'test_tower.c:1:START_TEST.so_is'

fresh
write src/lib/high/tower.c '/* Who waits is told. */'
finds "a comment without a subject is found" check-names 'tower.c:1:.*Who waits'
write testsuite/lint/names-allowed 'comments lib/high 2'
finds "an allowed number that is higher than the count is found" check-names \
    'src/lib/high: 1, and 2 are allowed'
"$lint/check-names" --lower "$tree"
ok "check-names --lower lowers the numbers to the counts" "$lint/check-names" "$tree"
write src/lib/high/roof.c '/* What keeps the rain out. */'
finds "an allowed number that is lower than the count is found" check-names \
    'src/lib/high: 2, and 1 are allowed'

fresh
write src/controller/apiserver/tower.c 'if (kind == &stone_kind)' 'if (&stone_kind != kind)'
finds "a comparison with a kind in the generic server is found" check-kinds \
    'apiserver/tower.c: 1 comparisons, and 0'
write testsuite/lint/kinds-allowed 'src/controller/apiserver/tower.c 2'
finds "an allowance for kinds that is too high is found" check-kinds '1 comparisons, and 2'
"$lint/check-kinds" --lower "$tree"
ok "check-kinds --lower lowers the numbers" "$lint/check-kinds" "$tree"
write src/controller/apiserver/kinds/tower.c 'if (kind == &stone_kind)'
ok "the hooks of kinds may name them" "$lint/check-kinds" "$tree"
write src/controller/apiserver/tower.c 'if (settings->is_conformance)'
finds "a question for conformance in the server is found" check-kinds 'tower.c:1:if .settings->is_conf'

fresh
write src/lib/api/node/gpu_vendor.c '    .variable = "CUDA_VISIBLE_DEVICES",'
write src/lib/high/tower.c '/* Sets CUDA_VISIBLE_DEVICES. */'
ok "a comment may name a vendor" "$lint/check-vendors" "$tree"
write src/lib/high/tower.c '    set("ROCR_VISIBLE_DEVICES", list);'
finds "a variable of a vendor outside the table is found" check-vendors \
    'tower.c:1:.*ROCR_VISIBLE_DEVICES.*gpu_vendor.c'

# A tower whose struct is declared in tower.h and defined in tower_inside.h, and as
# many files that include the latter as the argument says.
tower_of() {
    fresh
    write src/lib/high/tower.h 'struct tower;' 'void tower_free(struct tower *t);'
    write src/lib/high/tower_inside.h 'struct tower {' '    int height;' '};'
    write src/lib/high/tower_stairs.h '#include "lib/high/tower_inside.h"'
    for storey in $(seq "$1"); do
        write "src/lib/high/storey_$storey.c" '#include "lib/high/tower_stairs.h"'
    done
}
tower_of 3
ok "three files may know an opaque struct" "$lint/check-structs" "$tree"
tower_of 4
finds "a fourth file that knows it, also by way of another header, is found" check-structs \
    'tower_inside.h: 4 files know the struct, and 3 may'
write testsuite/lint/structs-allowed 'src/lib/high/tower_inside.h 4 # a reason'
ok "check-structs accepts an exception with a reason" "$lint/check-structs" "$tree"
write testsuite/lint/structs-allowed 'src/lib/high/tower_inside.h 4'
finds "an exception for a struct without a reason is found" check-structs 'tower_inside.h 4$'
write testsuite/lint/structs-allowed '# a comment' 'src/lib/high/tower_inside.h 9 # a reason'
finds "an allowance for a struct that is too high is found" check-structs \
    '4 files know the struct, and 9 are allowed'
"$lint/check-structs" --lower "$tree"
is "check-structs --lower keeps comments and reasons" \
    "$(cat "$tree/testsuite/lint/structs-allowed")" "# a comment
src/lib/high/tower_inside.h 4 # a reason"
rm "$tree/src/lib/high/storey_4.c"
"$lint/check-structs" --lower "$tree"
is "check-structs --lower drops an allowance that is not needed" \
    "$(cat "$tree/testsuite/lint/structs-allowed")" "# a comment"
tower_of 4
write src/lib/high/tower.c '#include "lib/high/tower_inside.h"'
write src/lib/low/stone.c '#include "lib/high/tower_inside.h"'
ok "a struct that other folders use is theirs, too, and is not opaque" \
    "$lint/check-structs" "$tree"

fresh
write src/lib/high/tower.c '    if (setresuid(uid, uid, uid) < 0)'
finds "a file that changes the user of a process is found" check-users 'high/tower.c'
write testsuite/lint/users-allowed 'src/lib/high/tower.c # a reason'
ok "check-users accepts an exception with a reason" "$lint/check-users" "$tree"

fresh
write src/lib/high/tower.c 'x(void)' '{' '    waitpid(pid, /* ; */ &status,' '            0);' '}'
finds "a wait for a process that may block is found" check-waits \
    'tower.c:3: waitpid[(]pid, &status, 0[)]'
write testsuite/lint/waits-allowed 'src/lib/high/tower.c 1 # a reason'
ok "check-waits accepts an exception with a reason" "$lint/check-waits" "$tree"
write testsuite/lint/waits-allowed 'src/lib/high/tower.c 1'
finds "an exception without a reason is found" check-waits 'tower.c 1$'
write src/lib/high/tower.c 'r = waitpid(pid, &status,' '            WNOHANG);'
finds "an exception that is not needed any more is found" check-waits \
    'tower.c: 0 calls can block, and 1 are allowed'

fresh
write src/lib/low/stone.h '/* stone.h - a stone */' '#pragma once'
finds "a header that names no thread is found" check-names 'stone.h'

fresh
seq -f 'int stair_%g;' 1001 >"$tree/src/lib/high/tower.c"
finds "a source that is too long is found" check-names 'src/lib/high/tower.c: 1001 lines'

fresh
seq -f 'int stair_%g;' 1001 >"$tree/src/lib/high/tower.h"
finds "a header that is too long is found" check-names 'src/lib/high/tower.h: 1001 lines'

fresh
for i in $(seq 26); do
    write "src/lib/high/stair_$i.c" 'int x;'
done
finds "a folder with too many modules is found" check-names 'src/lib/high: 2, and 0'

fresh
write README.md 'See [the map](doc/map.md).'
finds "a link to a file that does not exist is found" check-lists "links to 'doc/map.md'"

# walk FILE...: writes a page whose three walks name these files.
walk() {
    files=$(printf '\140%s\140 ' "$@")
    write doc/architecture.md '## Walk 1' "$files" '## Walk 2' "$files" \
        '## Walk 3' "$files"
}

fresh
tower=lib/high/tower.c
set -- $tower $tower $tower $tower $tower $tower $tower $tower $tower
walk "$@" lib/high/NAME.c
ok "check-walks accepts a good page" "$lint/check-walks" "$tree"
walk "$@" lib/high/spire.c
finds "a walk to a file that does not exist is found" check-walks \
    "architecture.md:2: 'lib/high/spire.c' is not there"
walk "$@" lib/deep/NAME.c
finds "a folder for a new file that does not exist is found" check-walks \
    "'lib/deep/NAME.c' is not there"
walk "$@" lib/high/NAME.c
write doc/notes.md "As \`high/tower.c\` does with \`low/pebble.h\`."
finds "a source that was renamed is found" check-walks \
    'doc/notes.md:1: no file is called low/pebble.h'
walk "$@"
finds "a walk that names too few files is found" check-walks \
    'Walk 1: 9 files, at least 10'

fresh
write etc/systemd/kiln-agent.service.in '[Service]' 'NoNewPrivileges=yes'
write etc/systemd/kiln-jobs.service.in '[Service]' 'Restart=always'
write etc/systemd/kiln-controller.service.in '[Service]'
finds "a sandbox that jobs would inherit is found" check-units \
    'kiln-agent.service.in:2:NoNewPrivileges=yes'

if command -v clang-format >/dev/null; then
    fresh
    cp "$top_srcdir/.clang-format" "$tree/"
    write src/lib/high/tower.c 'int  x;'
    if "$lint/check-format" "$tree" | grep -q SKIP; then
        skip "a badly formatted line is found" "no clang-format 14"
    else
        finds "a badly formatted line is found" check-format 'tower.c:1'
    fi
else
    skip "a badly formatted line is found" "clang-format is missing"
fi

# This needs built programs, which exist only in a build directory.
if [ -x "${top_builddir:-.}/testsuite/unit/lib/loop/tests" ]; then
    sed -e '/loop.tests$/d' -e '$a testsuite/unit/gone' \
        "$top_srcdir/testsuite/unit/threaded" >"$tree/threaded"
    found=$("$lint/check-threads" "$tree/threaded" 2>&1)
    case $found in
    *SKIP*) skip "a program with a thread that is not listed is found" "${found#*SKIP }" ;;
    *)
        like "a program with a thread that is not listed is found" "$found" \
            'loop/tests: can start a thread'
        like "a listed program that does not exist is found" "$found" 'gone: is listed'
        ;;
    esac
fi
fresh
write src/lib/high/tower.c '/* SPDX-License-Identifier: Apache-2.0 */' \
    'metric_gauge(registry, "kiln_tower_"' '    "bytes", "Its size.");'
write doc/admin.md 'kiln_stone_bytes'
write contrib/monitoring/kiln.rules.yaml 'expr: rate(kiln_tower_bytes_sum[5m]) + kiln_moat'
finds "a metric that the guide does not name" check-metrics 'kiln_tower_bytes'
finds "a metric of the guide that does not exist" check-metrics 'kiln_stone_bytes'
finds "a metric of an alert that does not exist" check-metrics 'kiln_moat'
not_ok "the name of a metric may be in two parts" \
    sh -c "'$lint/check-metrics' '$tree' 2>&1 | grep -A3 'rules.yaml exists' | grep tower"

fresh
write src/lib/high/tower.c '/* SPDX-License-Identifier: Apache-2.0 */' \
    'static bool' 'is_text(const char *text)' '{' \
    "    return text != NULL && text[0] != '\\0';" '}'
finds "another predicate for texts is found" check-names \
    'tower.c:5: lib/base/text.h has this'

fresh
write src/lib/high/tower.c '/* SPDX-License-Identifier: Apache-2.0 */' \
    '    t->again_ms = t->again_ms == 0 ? FIRST_MS : t->again_ms * 2;'
finds "a delay that doubles by hand is found" check-names 'tower.c:2'

fresh
write src/lib/api/job/job_reason.c '    [JOB_REASON_RESOURCES] = "Resources",'
write src/lib/api/cluster/event_reasons.h '#define EVENT_SCHEDULED "Scheduled"'
write src/lib/api/object/condition_reasons.h '#define REASON_UNSCHEDULABLE "Unschedulable"'
write src/lib/api/pod/refusals.c '    {"Insufficient cpu", "InsufficientCPU", false},'
write src/controller/scheduler/explain/refusal_meaning.c '    {"InsufficientCPU", {MEANS_ROOM}},'
write src/agent/tower.c '    json_set_string(arena, c, "reason", REASON_UNSCHEDULABLE);'
write man/kctl.1 '.BR InsufficientCPU ,'
write man/kiln-reasons.7 '.SH DESCRIPTION' '.TP' '.B Resources' '.SH EVENTS' '.TP' '.B Scheduled' \
    '.SH CONDITIONS' '.TP' '.B Unschedulable'
ok "check-reasons accepts a good tree" "$lint/check-reasons" "$tree"
write src/lib/high/tower.c '    event_recorder_record(r, tower, RECORD_WARNING,' \
    '                          is_low ? "TowerFell" : EVENT_SCHEDULED, "it fell");'
finds "a reason of an event without a constant is found" check-reasons 'tower.c:1: "TowerFell"'
write src/lib/api/cluster/event_reasons.h '#define EVENT_LATE "Late"'
finds "a reason of an event that the page does not explain is found" check-reasons 'Late'
write src/agent/tower.c '    add_condition(list, "Ready", "False",' '                  "TowerFell");'
finds "a reason of a condition without a constant is found" check-reasons \
    'agent/tower.c:2: "TowerFell" has no constant in lib/api/object'
write src/controller/scheduler/explain/refusal_meaning.c '    {"TooHigh", {MEANS_ROOM}},'
finds "a code of refusals that has no meaning is found" check-reasons 'InsufficientCPU'

# decisions INDEXED ARCHIVED REFERENCE: writes the two pages of decisions and a
# source that refers to one.
decisions() {
    fresh
    write doc/decisions.md '| Low: [src/lib/low](../src/lib/low/DESIGN.md) | '"$1"' |' '803. **New.**'
    write doc/decisions-archive.md "$2" '2. **Old.**'
    write src/lib/low/stone.c '/* See '"$3"' */'
}
decisions '1, 2' '1. **First.**' 'decisions 1, 2 and 803'
ok "check-decisions accepts a good tree" "$lint/check-decisions" "$tree"
decisions '1, 2' '1. **First.**' 'doc/decisions.md, 7.'
finds "a reference to a decision that does not exist is found" check-decisions \
    'stone.c:1: there is no decision 7'
decisions '1, 2' '1. **First.**' 'decision 2'
write src/lib/low/DESIGN.md 'Stones are cold (2, 9).'
finds "a number in a page of a room is a reference" check-decisions \
    'DESIGN.md:1: there is no decision 9'
decisions '2' '1. **First.**' 'decision 2'
finds "a decision without a row is found" check-decisions '1 has no row'
decisions '1 to 2' '803. **First.**' 'decision 2'
finds "a decision with two texts is found" check-decisions '803: '
finish
