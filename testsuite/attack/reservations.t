#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A reservation that is for some is for nobody else: not by its name, not by the
# names of its nodes, not by a change afterwards, and not by a short time that
# grows.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
are_ready() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 1 ]; }
wait_for 20 are_ready || bail_out "no node"
root taint nodes n1 kiln.hpc/virtual- >/dev/null
reservations=/apis/kiln.hpc/v1/reservations
root reserve mine --nodes n1 --duration 2h --users kilntest1 >/dev/null
root reserve work --nodes n1 --start now+5hours --duration 1h --maintenance >/dev/null
name='"placement":{"reservation":"mine"},'
limit='"activeDeadlineSeconds":3600,'

# --- whose it is ---------------------------------------------------------------

is_allowed() {
    api kilntest1 POST "$pods" "$(pod_json mine "$limit$name")" | grep -q '^201 '
}
ok "a user that it names may use it" wait_for 10 is_allowed
placed() { [ "$(field root "$pods/$1" '.spec.nodeName // ""')" = n1 ]; }
ok "... and has its node" wait_for 20 placed mine
refused Reservation "a pod of another user that names it" \
    kilntest2 POST "$pods" "$(pod_json other "$limit$name")"
refused Reservation "... or a job" \
    kilntest2 POST "$jobs" "$(job_json other '' "$limit$name")"
refused Reservation "a maintenance is nobody's" kilntest1 POST "$pods" \
    "$(pod_json other "$limit"'"placement":{"reservation":"work"},')"
refused Reservation "one that is not there" kilntest1 POST "$pods" \
    "$(pod_json other "$limit"'"placement":{"reservation":"none"},')"

api kilntest2 POST "$cron_jobs" "$(cron_json other "$limit$name")" >/dev/null
ok "a CronJob may name it" cron_due other
ok "no Job is made of another user's CronJob that names it; an event says why" \
    wait_for 20 cron_told other 'reservation mine is for other users than kilntest2'
is "... so there is none" "$(root get jobs -o name)" ""
root delete cronjobs other >/dev/null

# --- its nodes -------------------------------------------------------------------

api kilntest2 POST "$pods" "$(pod_json any "$limit")" >/dev/null
api kilntest2 POST "$pods" "$(pod_json short '"activeDeadlineSeconds":1,')" >/dev/null
api kilntest2 POST "$pods" "$(pod_json selects \
    "$limit"'"nodeSelector":{"kubernetes.io/hostname":"n1"},')" >/dev/null
keeps_off() { # POD
    field root "$pods/$1" '.status.cause.code // ""' | grep -qx ReservedNodes
}
for pod in any short selects; do
    ok "the pod '$pod' of another user waits" wait_for 20 keeps_off $pod
done
is "and has no node" "$(field root "$pods/short" '.spec.nodeName // "none"')" none

# --- a change afterwards -------------------------------------------------------------

api kilntest2 POST "$jobs" "$(job_json later '"suspend":true,' "$limit")" >/dev/null
api kilntest2 PATCH "$jobs/later" \
    '{"spec":{"template":{"spec":{"placement":{"reservation":"mine"}}}}}' \
    "$merge" >/dev/null
is "a job is not moved into it afterwards" "$(field root "$jobs/later" \
    '.spec.template.spec.placement.reservation // "none"')" none
api kilntest2 PATCH "$pods/any" '{"spec":{"placement":{"reservation":"mine"}}}' \
    "$merge" >/dev/null
is "nor is a pod" "$(field root "$pods/any" \
    '.spec.placement.reservation // "none"')" none

# --- the reservations themselves ---------------------------------------------------------

own='{"apiVersion":"kiln.hpc/v1","kind":"Reservation","metadata":{"name":"own"},
"spec":{"nodes":["n1"],"users":["kilntest2"],"start":"2026-01-01T00:00:00Z"}}'
forbidden "a user makes none" kilntest2 POST $reservations "$own"
forbidden "changes none" kilntest2 PATCH $reservations/mine \
    '{"spec":{"users":["kilntest2"]}}' "$merge"
forbidden "nor its status" kilntest2 PATCH $reservations/mine/status \
    '{"status":{"state":"Ended"}}' "$merge"
forbidden "deletes none" kilntest2 DELETE $reservations/mine
forbidden "and not all of them" kilntest2 DELETE $reservations
like "everybody may read them" "$(api kilntest2 GET $reservations/mine)" '^200 '
forbidden "a user ends no maintenance" kilntest2 PATCH /api/v1/nodes/n1 \
    '{"metadata":{"annotations":{"kiln.hpc/maintenance":null}}}' "$merge"

# --- large and odd ones ------------------------------------------------------------------

odd() { # SPEC
    api root POST $reservations "{\"apiVersion\":\"kiln.hpc/v1\",
\"kind\":\"Reservation\",\"metadata\":{\"name\":\"odd\"},
\"spec\":$(printf %s "$1" | jq -c '. + {overlap: true}')}" | head -c 3
}
for spec in '{}' '{"nodes":["n1"],"users":["a"]}' \
    '{"nodes":["n1"],"nodeCount":1,"users":["a"],"start":"2026-01-01T00:00:00Z"}' \
    '{"nodeCount":-1,"users":["a"],"start":"2026-01-01T00:00:00Z"}' \
    '{"nodes":["n1"],"users":["a"],"start":"2026-01-01T00:00:00Z","duration":"9999999999999d"}' \
    '{"nodes":["n1"],"users":["a"],"start":"9999-01-01T00:00:00Z"}' \
    '{"nodes":["n1"],"users":["a"],"start":"2026-01-01T00:00:00Z","duration":"1h","recurrence":"Hourly"}' \
    '{"nodes":["n1"],"users":["a"],"start":"2026-01-01T00:00:00Z","duration":"1h","recurrence":"Daily","timeZone":"../../etc/passwd"}' \
    '{"nodes":["n1"],"users":["a","a"],"start":"2026-01-01T00:00:00Z"}' \
    '{"nodes":["n1"],"users":["a"],"start":"2026-01-02T00:00:00Z","end":"2026-01-01T00:00:00Z"}'; do
    is "refused: $spec" "$(odd "$spec")" 422
done
finish
