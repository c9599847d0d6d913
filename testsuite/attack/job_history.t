#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Users can neither erase the job history, nor read more of it than they have
# rights for, nor send queries that make others wait.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller
socket=$cluster/state/socket
chmod 755 "$cluster/state"
root() { kctl --server "http+unix://$socket" "$@"; }
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 300ms
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
for account in ours theirs; do
    user=kilntest1
    [ "$account" = ours ] || user=kilntest2
    root create -f - >/dev/null <<TXT || bail_out "no account"
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$account",
 "annotations": {"kiln.hpc/members": "$user"}}}
TXT
done
root annotate namespace default kiln.hpc/members= >/dev/null

one() { as kilntest1 kctl "$@"; }
two() { as kilntest2 kctl "$@"; }
ask() { # USER PATH [CURL-OPTION...]
    asker=$1 asked=$2
    shift 2
    as "$asker" curl -s --unix-socket "$socket" "$@" "http://localhost$asked"
}
code() { ask "$@" -o /dev/null -w '%{http_code}'; }
has_row() { [ "$(root history --job "$1" -o json | jq '.items | length')" = 1 ]; }

as kilntest2 sh -c 'printf "#!/bin/sh\necho secret; exit 3\n" >job.sh'
id=$(as kilntest2 ksub --parsable -A theirs -J secret job.sh | grep -o '[0-9]*$')
wait_for 20 has_row "$id" || bail_out "no row"

# --- rows of other users ------------------------------------------------------

is "a user who does not belong to an account gets none of its rows" \
    "$(one history --all --since 7d -o json | jq '.items | length')" 0
is "...nor by the number of the job" \
    "$(ask kilntest1 "/kiln/v1/history?job=$id" | jq '.items | length')" 0
is "...nor by the name or uid of the user" \
    "$(ask kilntest1 "/kiln/v1/history?user=kilntest2" |
        jq '.items | length') $(ask kilntest1 \
        "/kiln/v1/history?uid=$(id -u kilntest2)" | jq '.items | length')" "0 0"
is "...nor by the name of the account" \
    "$(ask kilntest1 "/kiln/v1/history?account=theirs" |
        jq '.items | length')" 0
is "...nor in a report" \
    "$(ask kilntest1 "/kiln/v1/history/report?by=user" | jq -c .items)" "[]"
is "the owner of a row gets it with all fields" \
    "$(two history --job "$id" -o json |
        jq -r '.items[] | "\(.name) \(.exitCode) \(has("script"))"')" \
    "secret 3 true"
root annotate namespace theirs kiln.hpc/members=kilntest1,kilntest2 \
    --overwrite >/dev/null 2>&1 ||
    root annotate namespace theirs kiln.hpc/members=kilntest1,kilntest2 \
        >/dev/null
member_reads() {
    [ "$(one history --job "$id" -o json | jq '.items | length')" = 1 ]
}
ok "members of an account get its rows" wait_for 10 member_reads
is "...without the fields that only the owner may read" \
    "$(one history --job "$id" -o json |
        jq -c '.items[] | [has("script"), has("message")]')" "[false,false]"

# --- erasing ------------------------------------------------------------------

is "history refuses DELETE" "$(code kilntest2 /kiln/v1/history -X DELETE)" 405
is "...and POST, also from an administrator" \
    "$(curl -s -o /dev/null -w '%{http_code}' -X POST --unix-socket "$socket" \
        http://localhost/kiln/v1/history)" 405
two delete -n theirs job "$(two history --job "$id" -o json |
    jq -r '.items[0].object')" >/dev/null
ok "the row of a deleted job is kept" has_row "$id"

# --- SQL in parameters --------------------------------------------------------

for word in "x%27%3B%20DROP%20TABLE%20attempts%3B--" \
    "%27%20OR%20%271%27%3D%271" "%25"; do
    is "'$word' is treated like any other text" \
        "$(ask kilntest1 "/kiln/v1/history?user=$word" |
            jq -c '.items')" "[]"
done
name="a'); DROP TABLE attempts; --"
id=$(as kilntest2 ksub --parsable -A theirs -J "$name" --wrap true |
    grep -o '[0-9]*$')
wait_for 20 has_row "$id"
is "...and so is the name of a job" \
    "$(two history --job "$id" -o json | jq -r '.items[0].name')" "$name"

# --- what a terminal and a spreadsheet get ------------------------------------

sum=$(as kilntest1 ksub --parsable -A ours -J "$(printf '=1+2\033[31m\342\200\256x')" \
    --wrap true | grep -o '[0-9]*$')
wait_for 20 has_row "$sum"
is "CSV has no formula and no control or direction character" \
    "$(one history --job "$sum" -o csv=name | tail -1)" "\"'=1+2?[31m?x\""

# --- expensive queries --------------------------------------------------------

for question in limit=-1 limit=x continue=1 since=never by=user state=x \
    limit=99999999999999999999; do
    is "$question is refused" "$(code kilntest1 "/kiln/v1/history?$question")" \
        400
done
long=$(head -c 1000 /dev/zero | tr '\0' '*')
is "a pattern of a thousand stars is refused" \
    "$(code kilntest1 "/kiln/v1/history?name=$long")" 400
stars='*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b'
as kilntest1 ksub --parsable -A ours \
    -J "$(head -c 60 /dev/zero | tr '\0' 'a')" --wrap true >/dev/null
wait_for 20 sh -c "kctl --server http+unix://$socket history --all \
    -o json | jq -e '.items | length == 4' >/dev/null"
ok "a pattern with many stars is answered soon" \
    as kilntest1 curl -sf -m 10 -o /dev/null --unix-socket "$socket" \
    "http://localhost/kiln/v1/history?name=$stars"
is "...and queries of others are answered" \
    "$(two history --job "$id" -o json | jq '.items | length')" 1
finish
