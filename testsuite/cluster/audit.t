#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The audit log: each change and each refusal has a line that says who sent the
# request. The log is rotated, and a full disk stops nothing.

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
# line JQ: prints the lines of the log that match the expression.
line() {
    sleep 0.1 # another thread writes the log
    jq -c "select($1)" "$log" 2>/dev/null
}
has_line() { [ -n "$(line "$1")" ]; }

# --- what the log contains ----------------------------------------------------
id=$(as kilntest1 ksub --parsable -H --wrap true)
submitted='.verb == "create" and .resource == "jobs.batch" and .code == 201'
ok "a submission has a line" wait_for 5 has_line "$submitted"
is "it has the name that the server gave, the user, and the kind of proof of identity" \
    "$(line "$submitted" | jq -r '[.name, .user, .uid, .rank, .namespace,
        .proof] | map(tostring) | join(" ")')" \
    "job-$id kilntest1 $(id -u kilntest1) user default credential"
like "it has the address of the client" "$(line "$submitted" | jq -r .from)" \
    '^127[.]0[.]0[.]1:[0-9]+$'
not_ok "another user cannot cancel the job" as kilntest2 kctl cancel "$id"
refused='.user == "kilntest2" and .code == 403 and .reason == "Forbidden"'
ok "the refusal has a line" wait_for 5 has_line "$refused"
like "that line has the message of the refusal" \
    "$(line "$refused" | jq -r .message)" 'cannot'
root cancel "$id" >/dev/null
ok "a change to another user's job by an administrator has a line" \
    wait_for 5 has_line \
    '.rank == "administrator" and .name == "job-'"$id"'" and .code == 200'
as kilntest1 kctl get jobs >/dev/null
curl -s --unix-socket "$cluster/socket" http://kiln/api/v1/nodes >/dev/null
empty "reads have no line" "$(line '.verb == "get" or .verb == "list"')"
empty "dry runs have no line" "$(as kilntest1 ksub --test-only --wrap true \
    >/dev/null 2>&1; line '.user == "kilntest1" and .verb == "create"
        and .name != "job-'"$id"'"')"
is "each line is JSON" "$(jq -c . "$log" | wc -l)" "$(wc -l <"$log")"
is "only root can read the log" "$(stat -c '%U %a' "$log")" "root 600"

bind() { # BODY
    curl -s -o /dev/null --unix-socket "$cluster/socket" -X POST \
        -H 'Content-Type: application/json' -d "$1" \
        http://kiln/api/v1/namespaces/default/bindings
}
for pod in bound-1 bound-2 bound-3; do
    curl -s -o /dev/null --unix-socket "$cluster/socket" -X POST \
        -H 'Content-Type: application/json' -d '{"metadata":{"name":"'$pod'"},
            "spec":{"schedulerName":"none","securityContext":{"runAsUser":'"$(
            id -u kilntest1)"',"runAsGroup":'"$(id -g kilntest1)"'},
            "containers":[{"name":"c","command":["true"]}]}}' http://kiln/api/v1/namespaces/default/pods
done
bind '{"metadata":{"name":"bound-1"},"target":{"name":"n7"}}'
ok "the line of a binding has the pod's name from the body" \
    wait_for 5 has_line \
    '.subresource == "binding" and .name == "bound-1" and .code == 201'
bind '{"kind":"BindingList","items":[
    {"metadata":{"name":"bound-2"},"target":{"name":"n7"}},
    {"metadata":{"name":"bound-3"},"target":{"name":"n7"}}]}'
ok "the line of a group's binding has the names of all pods" \
    wait_for 5 has_line \
    '.subresource == "binding" and .name == "bound-2,bound-3" and .code == 201'
for pod in bound-1 bound-2 bound-3; do
    curl -s -o /dev/null --unix-socket "$cluster/socket" -X DELETE \
        "http://kiln/api/v1/namespaces/default/pods/$pod?gracePeriodSeconds=0"
done

# --- annotations on the object, and the controller's log ----------------------
cluster_agent n1 --topology 'package:1 core:4 pu:1' \
    --metrics-file "$cluster/agent.prom"
is_ready() { root get node n1 --no-headers | grep -qw Ready; }
wait_for 20 is_ready || bail_out "no node"
annotation() { # KIND NAME KEY
    root get "$1" "$2" -o json |
        jq -r ".metadata.annotations[\"kiln.hpc/$3\"] // \"\""
}
is "a new node has no annotation that says who cordoned it" \
    "$(annotation node n1 cordoned-by)" ""
root cordon n1 >/dev/null
is "a cordoned node says who cordoned it" \
    "$(annotation node n1 cordoned-by)" root
like "it says when it was cordoned" \
    "$(annotation node n1 cordoned-at)" '^20[0-9-]+T[0-9:]+Z$'
root label node n1 rack=7 >/dev/null
is "another change keeps the annotation" \
    "$(annotation node n1 cordoned-by)" root
curl -s -o /dev/null --unix-socket "$cluster/socket" -X PATCH \
    -H 'Content-Type: application/merge-patch+json' \
    -d '{"metadata":{"annotations":{"kiln.hpc/cordoned-by":"somebody",
        "kiln.hpc/fenced-by":"somebody"}}}' http://kiln/api/v1/nodes/n1
is "a client cannot write the annotation" \
    "$(annotation node n1 cordoned-by)" root
is "a client cannot write such an annotation for something that was not done" \
    "$(annotation node n1 fenced-by)" ""
root uncordon n1 >/dev/null
is "the annotation is removed when the node is uncordoned" \
    "$(annotation node n1 cordoned-by)" ""
root taint node n1 site/broken=yes:NoSchedule >/dev/null
is "a tainted node says who tainted it" "$(annotation node n1 tainted-by)" root
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
is "that annotation is removed with the taints" \
    "$(annotation node n1 tainted-by)" ""
held=$(as kilntest1 ksub --parsable -H --wrap true)
is "a held job says who holds it" "$(annotation job "job-$held" hold)" \
    kilntest1
as kilntest1 kctl release "$held" >/dev/null
is "that annotation is removed when the job is released" \
    "$(annotation job "job-$held" hold)" ""
run=$(as kilntest1 ksub --parsable --wrap 'exit 3')
logged() { grep -qE "$1" "$cluster/log/controller"; }
ok "the controller's log says that a pod has ended, and how" \
    wait_for 20 logged \
    "pod 'default/job-$run-0' of user 'kilntest1' has ended on node 'n1': .*exit code 3"
ok "the log says what became of its job" wait_for 20 logged \
    "job 'default/job-$run' of user 'kilntest1' has failed: BackoffLimitExceeded"
sleeper=$(as kilntest1 ksub --parsable --wrap 'sleep 1000')
ok "the log says that a pod runs, and where" wait_for 20 logged \
    "pod 'default/job-$sleeper-0' of user 'kilntest1' runs on node 'n1', CPUs [0-9]"
is "a deleted pod says who deleted it while it ends" "$(
    curl -s --unix-socket "$cluster/socket" -X DELETE \
        "http://kiln/api/v1/namespaces/default/pods/job-$sleeper-0" |
        jq -r '.metadata.annotations["kiln.hpc/deleted-by"]')" root
ok "the audit log says that, too" wait_for 5 has_line '.user == "root"
    and .verb == "delete" and .name == "job-'"$sleeper"'-0"'
cluster_agent n2 --topology 'package:1 core:4 pu:1' --node-name n1
ok "the log says that a second machine uses the name of a node" \
    wait_for 20 logged \
    "node 'n1' is already enrolled.*another machine with the same name"
heard() { grep -qE '^kiln_agent_heard_timestamp_seconds' "$cluster/agent.prom"; }
ok "an agent writes its own metrics to a file" wait_for 20 heard
like "they include the agent's memory" "$(cat "$cluster/agent.prom")" \
    'process_resident_memory_bytes [1-9]'
stop n2
stop n1
not_ok "the file is removed when the agent ends" test -e "$cluster/agent.prom"

# --- callers without credentials ----------------------------------------------
for _ in $(seq 60); do
    echo "url = $cluster_url/api/v1/pods"
    echo 'output = /dev/null'
done >"$cluster/flood"
curl -s --config "$cluster/flood"
stranger='.code == 401 and (has("user") | not)'
ok "a request without credentials has a line" wait_for 5 has_line "$stranger"
ok "many such requests do not have a line each" \
    test "$(line "$stranger" | wc -l)" -lt 50

# --- rotation -----------------------------------------------------------------
stop controller
printf 'audit:\n  maxBytes: 64Ki\n  keep: 2\n' >"$cluster/etc/controller.yaml"
audited() { cluster_controller --socket "$cluster/socket" --config \
    "$cluster/etc/controller.yaml" "$@"; }
audited
note_something() { # N: makes requests that write N lines
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
ok "the log is rotated when it reaches its size" wait_for 5 test -s "$log.2"
not_ok "only the configured number of old logs is kept" test -e "$log.3"
ok "no log is much larger than the limit" \
    test "$(stat -c %s "$log.1")" -lt 200000
mv "$log" "$cluster/moved"
note_something 1
ok "a log that was moved away is created again" wait_for 5 test -s "$log"

# --- a log that cannot be written any more ------------------------------------
stop controller
mkdir "$cluster/gone"
audited --audit-file "$cluster/gone/audit.log"
readyz() { curl -s --unix-socket "$cluster/socket" "http://kiln/readyz$1"; }
says_broken() { readyz '' | grep -q "audit failed: "; }
ok "/readyz is ok while the log can be written" [ "$(readyz '')" = ok ]
like "and says so about the log" "$(readyz '?verbose')" '\[\+\]audit ok'
rm -r "$cluster/gone"
note_something 3
ok "/readyz fails once it cannot be written any more" wait_for 5 says_broken
unlike "it does not tell strangers the name of the file" "$(readyz '')" gone
like "kctl status says why, and how many lines are missing" "$(root status)" \
    'Warning: +the audit log cannot be written, and [1-9][0-9]* lines? w.*dropped: .*No such file'
mkdir "$cluster/gone"
note_something 1
is_well() { [ "$(readyz '')" = ok ]; }
ok "/readyz is ok again once the log can be written" wait_for 5 is_well
like "kctl status still says how many lines are missing" "$(root status)" \
    'Warning: +[1-9][0-9]* lines? of the audit log could not be written'

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
    ok "lines that cannot be written to a full disk are counted" \
        wait_for 5 dropped
    ok "the controller still answers" root get nodes
    is "the lines on the full disk are complete" \
        "$(jq -c . "$cluster/full/audit.log" | wc -l)" \
        "$(wc -l <"$cluster/full/audit.log")"
    like "the error is logged once" "$(grep -c 'cannot write the audit log.*full.audit' \
        "$cluster/log/controller")" '^1$'
    cp "$cluster/full/audit.log" "$cluster/before"
    : >"$cluster/full/audit.log"
    note_something 1
    missing() {
        curl -s --unix-socket "$cluster/socket" http://kiln/metrics |
            awk '$1 == "kiln_audit_dropped_total" { print $2 }'
    }
    told() {
        jq -es --argjson all "$(missing)" 'map(.dropped // 0) | add == $all' \
            "$cluster/before" "$cluster/full/audit.log"
    }
    ok "when there is room again, a line says how many lines are missing" \
        wait_for 5 told
    stop controller
    mount -o remount,ro "$cluster/full"
    said=$(kiln-controller --state-dir "$cluster/state" ${cluster_store:+--store "$cluster_store"} --socket "$cluster/socket" \
        --munge-socket "$munge_socket" --audit-file "$cluster/full/audit.log" 2>&1)
    is "an audit log on a read-only file system prevents the start" "$?" 74
    like "the message names the file and the error" "$said" 'audit.log.*Read-only'
    umount "$cluster/full"
else
    skip "lines that a full disk does not take are counted" "no tmpfs can be mounted"
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
like "/metrics counts requests by verb, resource and code" "$metrics" \
    'apiserver_request_total[{]verb="LIST",resource="namespaces",subresource="",code="200"'
metric() { curl -s --unix-socket "$cluster/socket" http://kiln/metrics; }
has_metric() { metric | grep -qE "$1"; }
ok "/metrics counts nodes by state" \
    wait_for 20 has_metric '^kiln_nodes[{]state="[A-Za-z]+"[}] 1$'
ok "/metrics counts jobs by account, state and reason" wait_for 5 has_metric \
    '^kiln_jobs[{]namespace="default",state="Cancelled",reason="Cancelled"[}] 1$'
stop munged
not_ready() { curl -s "$cluster_url/readyz" | grep 'munged does not answer'; }
ok "/readyz reports that munged does not answer" wait_for 20 not_ready
munge_up() { curl -s --unix-socket "$cluster/socket" http://kiln/metrics | sed -n 's/^kiln_munge_up //p'; }
is "so does a metric" "$(munge_up)" 0
cluster_munge
ok "/readyz reports success when munged answers again" \
    wait_for 20 cluster_is_ready
finish
