#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who did what: each change and each refusal has its line, whoever asked; the
# log is rotated, and a disk that is full ends nothing.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
log=$cluster/state/audit.log
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
# line JQ: of all lines, those for which this is so, with what is then said.
line() {
    sleep 0.1 # it is written by a thread of its own
    jq -c "select($1)" "$log" 2>/dev/null
}
has_line() { [ -n "$(line "$1")" ]; }

# --- what is told -------------------------------------------------------------
id=$(as kilntest1 ksub --parsable -H --wrap true)
submitted='.verb == "create" and .resource == "jobs.batch" and .code == 201'
ok "a submission has its line" wait_for 5 has_line "$submitted"
is "with the name that the server gave, the user and how he proved it" \
    "$(line "$submitted" | jq -r '[.name, .user, .uid, .rank, .namespace,
        .proof] | map(tostring) | join(" ")')" \
    "job-$id kilntest1 $(id -u kilntest1) user default credential"
like "and from where it came" "$(line "$submitted" | jq -r .from)" \
    '^127[.]0[.]0[.]1:[0-9]+$'
not_ok "another user does not cancel it" as kilntest2 kctl cancel "$id"
refused='.user == "kilntest2" and .code == 403 and .reason == "Forbidden"'
ok "a refusal has its line" wait_for 5 has_line "$refused"
like "with the words" "$(line "$refused" | jq -r .message)" 'cannot'
root cancel "$id" >/dev/null
ok "so has what an administrator does to another's job" wait_for 5 has_line \
    '.rank == "administrator" and .name == "job-'"$id"'" and .code == 200'
as kilntest1 kctl get jobs >/dev/null
curl -s --unix-socket "$cluster/socket" http://kiln/api/v1/nodes >/dev/null
empty "reads have none" "$(line '.verb == "get" or .verb == "list"')"
empty "nor have dry runs" "$(as kilntest1 ksub --test-only --wrap true \
    >/dev/null 2>&1; line '.user == "kilntest1" and .verb == "create"
        and .name != "job-'"$id"'"')"
is "each line is JSON" "$(jq -c . "$log" | wc -l)" "$(wc -l <"$log")"
is "nobody else reads them" "$(stat -c '%U %a' "$log")" "root 600"

# --- strangers ----------------------------------------------------------------
for _ in $(seq 60); do
    echo "url = $cluster_url/api/v1/pods"
    echo 'output = /dev/null'
done >"$cluster/flood"
curl -s --config "$cluster/flood"
stranger='.code == 401 and (has("user") | not)'
ok "who does not prove who he is is noted, too" wait_for 5 has_line "$stranger"
ok "but cannot wash the log away" \
    test "$(line "$stranger" | wc -l)" -lt 50

# --- rotation -----------------------------------------------------------------
stop controller
printf 'audit:\n  maxBytes: 64Ki\n  keep: 2\n' >"$cluster/etc/controller.yaml"
audited() { cluster_controller --socket "$cluster/socket" --config \
    "$cluster/etc/controller.yaml" "$@"; }
audited
note_something() { # N: so many lines
    for _ in $(seq "$1"); do
        echo 'url = http://kiln/api/v1/namespaces/nowhere'
        echo 'request = DELETE'
        echo 'output = /dev/null'
        echo next
    done | sed '$d' | sed "s|^url|unix-socket = $cluster/socket\\nsilent\\nurl|" \
        >"$cluster/many"
    curl --config "$cluster/many"
}
note_something 900
ok "the log is rotated by its size" wait_for 5 test -s "$log.2"
not_ok "and only so many are kept" test -e "$log.3"
ok "none is much larger" test "$(stat -c %s "$log.1")" -lt 200000
mv "$log" "$cluster/moved"
note_something 1
ok "one that is moved away is made anew" wait_for 5 test -s "$log"

# --- a full disk --------------------------------------------------------------
stop controller
mkdir "$cluster/full"
if mount -t tmpfs -o size=64k,nr_inodes=8 tmpfs "$cluster/full" 2>/dev/null
then
    audited --audit-file "$cluster/full/audit.log"
    note_something 400
    dropped() {
        curl -s --unix-socket "$cluster/socket" http://kiln/metrics |
            grep -E '^kiln_audit_dropped_total [1-9]'
    }
    ok "lines that a full disk does not take are counted" wait_for 5 dropped
    ok "and nothing ends" root get nodes
    is "what is there is whole" \
        "$(jq -c . "$cluster/full/audit.log" | wc -l)" \
        "$(wc -l <"$cluster/full/audit.log")"
    like "it is said once" "$(grep -c 'audit log cannot be written' \
        "$cluster/log/controller")" '^1$'
    : >"$cluster/full/audit.log"
    note_something 1
    told() { grep -q '"dropped":' "$cluster/full/audit.log"; }
    ok "when there is room again, it says how many are missing" wait_for 5 told
    stop controller
    umount "$cluster/full"
else
    skip 5 "no tmpfs can be mounted"
fi

# --- /metrics -----------------------------------------------------------------
audited
root get namespaces >/dev/null
metrics=$(curl -s --unix-socket "$cluster/socket" http://kiln/metrics)
for name in apiserver_request_total apiserver_request_duration_seconds_bucket \
    process_resident_memory_bytes process_cpu_seconds_total process_open_fds \
    process_start_time_seconds kiln_build_info kiln_state_free_bytes; do
    like "/metrics has $name" "$metrics" "$name"
done
like "requests by verb, resource and code" "$metrics" \
    'apiserver_request_total[{]verb="LIST",resource="namespaces",subresource="",code="200"'
finish
