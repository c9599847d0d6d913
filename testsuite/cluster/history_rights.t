#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# History shows users their own rows, and the rows of accounts that they are
# members of now. No filter, count, sum, continue token or error discloses
# more.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"

# hist USER QUERY: prints the answer as JSON. report does the same for reports.
answer() {
    as "$1" curl -s --max-time 10 --unix-socket "$cluster/socket" "http://kiln$2"
}
hist() { answer "$1" "/kiln/v1/history?$2"; }
report() { answer "$1" "/kiln/v1/history/report?$2"; }
names() { hist "$1" "$2" | jq -r '[.items[].name] | sort | join(" ")'; }
# ended USER ACCOUNT NAME: submits and cancels a job, so that it has a row. Its
# number is $id.
ended() {
    wait_for 20 submits "$@" || bail_out "$1 cannot submit to $2"
    id=$(grep -o '[0-9]*$' "$cluster/id")
    as "$1" kctl cancel -n "$2" "$id" >/dev/null 2>&1
    wait_for 20 has_row "$id" || bail_out "no row of $3"
}
# A new member is known only after a moment, so submissions are repeated.
submits() {
    as "$1" ksub --parsable --hold -A "$2" -J "$3" --wrap true >"$cluster/id"
}
has_row() { [ "$(root history "$1" -o json | jq '.items | length')" = 1 ]; }
members() { # ACCOUNT USER,USER
    root annotate namespace "$1" "kiln.hpc/members=$2" --overwrite >/dev/null
}
sees() { [ "$(names "$1" "$2")" = "$3" ]; }

for account in chem phys; do root create namespace $account >/dev/null; done
members chem kilntest1,kilntest2
members phys kilntest1
ended kilntest2 chem merger-plans
ended kilntest1 chem open
open=$id
ended kilntest1 phys merger-plans
hidden=$id
ended kilntest1 phys merger-two

# --- members of one account and of two ----------------------------------------

is "a member of two accounts can read the rows of both" \
    "$(names kilntest1 '')" \
    "merger-plans merger-plans merger-two open"
is "a member of one account can read its rows and the member's own" \
    "$(names kilntest2 '')" \
    "merger-plans open"
is "...without the scripts and messages of other users" \
    "$(hist kilntest2 "job=$open" | jq -c '[.items[] | has("script", "message")]')" \
    "[false,false]"
is "an administrator can read all rows" \
    "$(root history --all -o json | jq '.items | length')" 4

# --- no filter finds more -----------------------------------------------------

nothing='{"apiVersion":"kiln.hpc/v1","kind":"HistoryList","items":[]}'
for query in account=phys "job=$hidden" "job=$hidden&task=0" 'name=merger-t*' \
    'account=phys&user=kilntest1' 'account=phys&state=Cancelled' \
    'name=merger-t*&limit=1' 'account=none' 'name=none' 'job=4711'; do
    is "a user without rights gets an empty answer for $query" \
        "$(hist kilntest2 "$query")" "$nothing"
done
is "a filter by the name of another user finds only rows of shared accounts" \
    "$(names kilntest2 user=kilntest1)" open
is "...and so does a filter by the uid" \
    "$(names kilntest2 "uid=$(id -u kilntest1)")" open
hist kilntest2 'name=merger-plans&limit=1' >"$cluster/answer"
is "a full page has no continue token if only rows of others would follow" \
    "$(jq -c '[.items[].user, .metadata]' "$cluster/answer")" \
    '["kilntest2",null]'
next=$(hist kilntest1 'account=phys&limit=1' | jq -r .metadata.continue)
like "a continue token is given to a user who can read further rows" \
    "$next" '^[0-9]+\.[0-9]+$'
is "...and gives another user nothing" \
    "$(hist kilntest2 "account=phys&continue=$next")" "$nothing"
is "with any continue token a user gets only readable rows" \
    "$(names kilntest2 'continue=1.1')" "merger-plans open"
is "sums count only rows that the user can read" \
    "$(report kilntest2 by=account |
        jq -c '[.items[] | [.account, .ended]]')" '[["chem",2]]'
is "...and none of another account" \
    "$(report kilntest2 'by=user&account=phys' | jq -c .items)" '[]'
is "the sums of another user are those of shared accounts" \
    "$(report kilntest2 'by=account&user=kilntest1' |
        jq -c '[.items[] | [.account, .ended]]')" '[["chem",1]]'
is "kctl prints the same for another user's job as for one that does not exist" \
    "$(as kilntest2 kctl history "$hidden" 2>&1)" \
    "$(as kilntest2 kctl history 4711 2>&1)"
is "...also with --all" "$(as kilntest2 kctl history --all --no-headers \
    -o user,account --name 'merger*' | tr -s ' ')" "kilntest2 chem"

# --- two users query at the same time -----------------------------------------

for try in 1 2 3 4 5 6; do
    names kilntest1 "limit=1000&since=2020-01-01T00:00:0${try}Z" \
        >>"$cluster/one" &
    names kilntest2 "limit=1000&since=2020-01-01T00:00:0${try}Z" \
        >>"$cluster/two" &
    names_one=$!
    wait "$names_one"
    wait_for 10 [ "$(wc -l <"$cluster/one")" -ge "$try" ]
done
is "each of two users who query at the same time gets the own rows" \
    "$(sort -u "$cluster/one"); $(sort -u "$cluster/two")" \
    "merger-plans merger-plans merger-two open; merger-plans open"

# --- members leave and join ---------------------------------------------------

members chem kilntest1
ok "a user who left an account can read only the own rows of that account" \
    wait_for 20 sees kilntest2 '' merger-plans
is "...also with a filter for the account" "$(names kilntest2 account=chem)" \
    merger-plans
is "...and no sums of the other rows" \
    "$(report kilntest2 by=account | jq -c '[.items[] | .ended]')" '[1]'
members phys kilntest1,kilntest2
ok "a user who joins an account can read its earlier rows" \
    wait_for 20 sees kilntest2 account=phys "merger-plans merger-two"
signal controller KILL
await_end controller
cluster_controller --socket "$cluster/socket"
ok "the rights are the same after the controller was killed" \
    wait_for 20 sees kilntest2 '' "merger-plans merger-plans merger-two"
root delete namespace phys >/dev/null 2>&1
ok "a deleted account has no members" \
    wait_for 30 sees kilntest2 '' merger-plans
is "...and its rows are kept for administrators" \
    "$(root history --all --account phys -o json | jq '.items | length')" 2
is "...and for the users whose jobs they are" \
    "$(names kilntest1 'user=kilntest1')" \
    "merger-plans merger-two open"
finish
