#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is changed of a job and changed back before anybody has looked: it costs
# no job, and what stays of it is done.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

# patches ID BODY...: one after the other, over one connection.
patches() {
    patched=http://kiln$jobs/job-$1
    shift
    for body; do
        printf 'next\nunix-socket = "%s"\nrequest = PATCH\nurl = "%s"\n' \
            "$cluster/socket" "$patched"
        printf 'header = "Content-Type: application/merge-patch+json"\n'
        printf 'output = /dev/null\ndata = "%s"\n' \
            "$(printf '%s' "$body" | sed 's/"/\\"/g')"
    done | sed 1d | curl -s -K -
}
submit() { # COUNT OPTIONS
    count=$1
    shift
    ids=
    for _ in $(seq "$count"); do
        ids="$ids $(as kilntest1 ksub --parsable "$@")"
    done
}
hold='{"spec":{"suspend":true}}'
release='{"spec":{"suspend":false}}'
of_jobs() { # KIND FILTER: of each job in $ids
    root get "$1" -o json | jq -r --arg ids "$ids " ".items[] |
        select((.metadata.ownerReferences[0].name // .metadata.name) as \$job |
            \$ids | contains(\" \" + (\$job | sub(\"job-\"; \"\")) + \" \")) | $2"
}
count_running() {
    [ "$(of_jobs pods 'select(.status.phase == "Running") | .metadata.name' |
        wc -l)" -eq "$1" ]
}
ended() { of_jobs jobs 'select(.status.failed != null) | .metadata.name'; }

submit 4 --wrap 'exec sleep 1000'
ok "four jobs run" wait_for 20 count_running 4
for id in $ids; do
    patches "$id" "$hold" "$release" "$hold" "$release"
done
ok "held and released at once they run on, or again" wait_for 30 count_running 4
is "none has failed" "$(ended)" ""
for id in $ids; do
    patches "$id" '{"spec":{"suspend":true,"template":{"spec":{"priority":7}}}}' \
        "$release"
done
all_have_priority() { # of those that have not ended
    [ "$(of_jobs pods 'select(.status.phase == "Running") | .spec.priority' |
        tr '\n' ' ')" = "$1" ]
}
ok "changed meanwhile, they run as changed" \
    wait_for 30 all_have_priority '7 7 7 7 '
is "and none has failed" "$(ended)" ""
for id in $ids; do
    as kilntest1 kctl cancel "$id" >/dev/null
done

# Jobs that are so new that their pods are only being made.
ids=
for _ in 1 2 3 4 5 6; do
    id=$(as kilntest1 ksub --parsable -c 1000 --wrap true)
    patches "$id" '{"spec":{"suspend":true,"template":{"spec":{"priority":9}}}}' \
        "$release"
    ids="$ids $id"
done
all_wait() {
    [ "$(of_jobs pods 'select(.metadata.deletionTimestamp == null) |
        .spec.priority' | tr '\n' ' ')" = '9 9 9 9 9 9 ' ]
}
ok "new ones wait as changed" wait_for 30 all_wait
is "and have not failed either" "$(ended)" ""
finish
