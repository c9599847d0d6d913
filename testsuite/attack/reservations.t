#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Users whom a reservation does not name cannot use it: not by its name, not by
# the names of its nodes, not by a later change, and not by a short time limit
# that is extended later.

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

# --- who may use the reservation ----------------------------------------------

is_allowed() {
    api kilntest1 POST "$pods" "$(pod_json mine "$limit$name")" | grep -q '^201 '
}
ok "a user whom the reservation names can create a pod in it" \
    wait_for 10 is_allowed
placed() { [ "$(field root "$pods/$1" '.spec.nodeName // ""')" = n1 ]; }
ok "... and the pod is placed on its node" wait_for 20 placed mine
refused Reservation "another user cannot create a pod that names the reservation" \
    kilntest2 POST "$pods" "$(pod_json other "$limit$name")"
refused Reservation "... or a job that names it" \
    kilntest2 POST "$jobs" "$(job_json other '' "$limit$name")"
refused Reservation "no user can use a reservation for maintenance" \
    kilntest1 POST "$pods" \
    "$(pod_json other "$limit"'"placement":{"reservation":"work"},')"
refused Reservation "a reservation that does not exist is refused" \
    kilntest1 POST "$pods" \
    "$(pod_json other "$limit"'"placement":{"reservation":"none"},')"

api kilntest2 POST "$cron_jobs" "$(cron_json other "$limit$name")" >/dev/null
ok "a CronJob can name the reservation" cron_due other
ok "no Job is created from the CronJob of another user, and an event says why" \
    wait_for 20 cron_told other 'reservation mine is not for user kilntest2'
is "... so there is no Job" "$(root get jobs -o name)" ""
root delete cronjobs other >/dev/null

# --- the nodes of the reservation ---------------------------------------------

api kilntest2 POST "$pods" "$(pod_json any "$limit")" >/dev/null
api kilntest2 POST "$pods" "$(pod_json short '"activeDeadlineSeconds":1,')" >/dev/null
api kilntest2 POST "$pods" "$(pod_json selects \
    "$limit"'"nodeSelector":{"kubernetes.io/hostname":"n1"},')" >/dev/null
keeps_off() { # POD
    field root "$pods/$1" '.status.cause.code // ""' | grep -qx ReservedNodes
}
for pod in any short selects; do
    ok "the pod '$pod' of another user waits for reserved nodes" \
        wait_for 20 keeps_off $pod
done
is "a pod with a short time limit is not placed" \
    "$(field root "$pods/short" '.spec.nodeName // "none"')" none

# --- a later change -----------------------------------------------------------

api kilntest2 POST "$jobs" "$(job_json later '"suspend":true,' "$limit")" >/dev/null
api kilntest2 PATCH "$jobs/later" \
    '{"spec":{"template":{"spec":{"placement":{"reservation":"mine"}}}}}' \
    "$merge" >/dev/null
is "a held job of another user cannot be moved into the reservation later" \
    "$(field root "$jobs/later" \
    '.spec.template.spec.placement.reservation // "none"')" none
api kilntest2 PATCH "$pods/any" '{"spec":{"placement":{"reservation":"mine"}}}' \
    "$merge" >/dev/null
is "a pod of another user cannot be moved into it either" \
    "$(field root "$pods/any" \
    '.spec.placement.reservation // "none"')" none

# --- the reservation objects --------------------------------------------------

own='{"apiVersion":"kiln.hpc/v1","kind":"Reservation","metadata":{"name":"own"},
"spec":{"nodes":["n1"],"users":["kilntest2"],"start":"2026-01-01T00:00:00Z"}}'
forbidden "a user cannot create a reservation" \
    kilntest2 POST $reservations "$own"
forbidden "a user cannot change a reservation" \
    kilntest2 PATCH $reservations/mine \
    '{"spec":{"users":["kilntest2"]}}' "$merge"
forbidden "a user cannot change the status of a reservation" \
    kilntest2 PATCH $reservations/mine/status \
    '{"status":{"state":"Ended"}}' "$merge"
forbidden "a user cannot delete a reservation" \
    kilntest2 DELETE $reservations/mine
forbidden "a user cannot delete all reservations" kilntest2 DELETE $reservations
like "every user can read reservations" \
    "$(api kilntest2 GET $reservations/mine)" '^200 '
forbidden "a user cannot end the maintenance of a node" \
    kilntest2 PATCH /api/v1/nodes/n1 \
    '{"metadata":{"annotations":{"kiln.hpc/maintenance":null}}}' "$merge"

# --- invalid reservations -----------------------------------------------------

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
    is "this reservation is refused: $spec" "$(odd "$spec")" 422
done
finish
