#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many submissions while the controller is killed (-9) again and again: each
# acknowledged job exists afterwards, once, with an ID of its own.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged curl jq
kills=6
cluster_begin
cluster_munge
cluster_controller --socket "$cluster/socket"
if cluster_user kilntest1; then
    user="as kilntest1"
else
    user=
fi
acks=$cluster/acks
directory "$acks" 777

# post KEY BODY: prints the status code, a space and the ID of the job. It
# repeats the request with the same key until there is an answer, also across
# crashes.
cat >"$cluster/bin/post" <<'POST'
#!/bin/sh
while
    answer=$(curl -s --max-time 5 --unix-socket "$1" -X POST \
        -H 'Content-Type: application/json' -H "Idempotency-Key: $2" \
        -d "$3" -w '\n%{http_code}' \
        "http://kiln/apis/batch/v1/namespaces/default/jobs")
    code=$(printf '%s\n' "$answer" | tail -n 1)
    [ "$code" = 000 ] || [ "$code" = 503 ] || [ "$code" = 429 ]
do
    [ ! -e "$4/over" ] || exit 1
    sleep 0.02
done
printf '%s %s\n' "$code" "$(printf '%s\n' "$answer" | head -n 1 |
    jq -r '"\(.status.id) \(.metadata.name)"' 2>/dev/null)"
POST

# Submits under the keys $1-1, $1-2, ... until the file stop exists.
cat >"$cluster/bin/poster" <<'POSTER'
#!/bin/sh
number=0
while [ ! -e "$2/stop" ]; do
    number=$((number + 1))
    answer=$(post "$3" "$1-$number" "$(body "$1-$number")" "$2") || exit 1
    echo "$1-$number $answer"
done >"$2/$1"
POSTER

cat >"$cluster/bin/body" <<'BODY'
#!/bin/sh
cat <<JSON
{"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"job-",
"annotations":{"kiln.hpc/job-name":"$1"}},"spec":{"backoffLimit":0,
"script":{"text":"#!/bin/sh\necho $1\n"},"template":{"spec":{
"restartPolicy":"Never","containers":[{"name":"main","resources":{
"requests":{"cpu":"1"}}}]}}}}
JSON
BODY

# Submits with ksub under the names $1-1, $1-2, .... The ID that ksub prints is
# the acknowledgement.
cat >"$cluster/bin/ksubber" <<'KSUBBER'
#!/bin/sh
number=0
while [ ! -e "$2/stop" ]; do
    number=$((number + 1))
    id=$(timeout 30 ksub --parsable -J "$1-$number" --wrap true 2>>"$2/ksub-errors") ||
        id=unknown
    echo "$1-$number 201 $id job-$id"
done >"$2/$1"
KSUBBER
chmod 755 "$cluster"/bin/*

for worker in a b c; do
    # shellcheck disable=SC2086 # the user is two words, or none
    $user poster "$worker" "$acks" "$cluster/socket" &
    cluster_adopt "$worker" $!
done
# shellcheck disable=SC2086
$user ksubber k "$acks" &
cluster_adopt k $!

restarts=0
while [ "$restarts" -lt "$kills" ]; do
    sleep "0.$(awk -v seed="$$$restarts" \
        'BEGIN { srand(seed); printf "%03d", 100 + rand() * 700 }')"
    stop controller KILL
    cluster_controller --socket "$cluster/socket"
    restarts=$((restarts + 1))
done
# Waits until there are enough submissions, also on a slow machine.
enough() {
    [ "$(cat "$acks/a" "$acks/b" "$acks/c" "$acks/k" | wc -l)" -gt \
        $((kills * 10)) ]
}
wait_for 120 enough
touch "$acks/stop"
for worker in a b c k; do
    wait_for 20 has_ended "$(pid_of "$worker")"
done
touch "$acks/over"
for worker in a b c k; do
    await_end "$worker"
done
cat "$acks/a" "$acks/b" "$acks/c" "$acks/k" >"$acks/all"
note "$(wc -l <"$acks/all") submissions, $(grep -c unknown "$acks/all") \
without an answer, over $restarts crashes"

ok "submissions succeeded between the crashes" \
    test "$(wc -l <"$acks/all")" -gt $((kills * 10))
empty "every submission with a key was answered with a job" \
    "$(grep -v '^k-' "$acks/all" | awk '$2 != 200 && $2 != 201 || $3 !~ /^[0-9]+$/')"

curl -s --unix-socket "$cluster/socket" \
    http://kiln/apis/batch/v1/jobs >"$cluster/jobs.json"
jq -r '.items[] | "\(.metadata.annotations["kiln.hpc/job-name"]) \(.status.id) \(.metadata.name)"' \
    "$cluster/jobs.json" | sort >"$cluster/there"
cut -d ' ' -f 1 "$cluster/there" >"$cluster/names"
awk '$3 != "unknown" { print $1, $3, $4 }' "$acks/all" | sort >"$cluster/acked"
empty "no acknowledged job is lost, and each has the acknowledged ID" \
    "$(comm -23 "$cluster/acked" "$cluster/there")"
empty "no submission created two jobs" \
    "$(cut -d ' ' -f 1 "$cluster/there" | uniq -d)"
empty "no ID was given to two jobs" \
    "$(cut -d ' ' -f 2 "$cluster/there" | sort | uniq -d)"
empty "no acknowledged ID was given twice" \
    "$(awk '$3 != "unknown" { print $3 }' "$acks/all" | sort | uniq -d)"
empty "no job exists that was not submitted" \
    "$(cut -d ' ' -f 1 "$cluster/there" | while read -r name; do
        grep -q "^$name " "$acks/all" || echo "$name"
    done)"
empty "a ksub that failed created no job" \
    "$(awk '$3 == "unknown" { print $1 }' "$acks/k" | sort |
        comm -12 - "$cluster/names")"
empty "such a ksub said so, and its connection was refused" \
    "$(grep -vE '^ksub: no answer yet|Connection refused; is kiln-controller' \
        "$acks/ksub-errors")"

# Some of the submissions once more, as a client does that missed the answers.
tail -n 1 -q "$acks/a" "$acks/b" "$acks/c" >"$cluster/again"
head -n 3 -q "$acks/a" "$acks/b" "$acks/c" >>"$cluster/again"
empty "a submission that is repeated after the crashes gets the job that it created" \
    "$(while read -r key code id name; do
        # shellcheck disable=SC2086
        got=$($user post "$cluster/socket" "$key" "$(body "$key")" "$acks")
        [ "$got" = "200 $id $name" ] ||
            echo "$key: $got instead of 200 $id $name ($code at first)"
    done <"$cluster/again")"
like "the same key with another body is refused" \
    "$($user post "$cluster/socket" a-1 "$(body other)" "$acks")" '^409 '

pods_are_there() {
    curl -s --unix-socket "$cluster/socket" http://kiln/api/v1/pods |
        jq -r '.items[] | .metadata.ownerReferences[0].name' |
        sort >"$cluster/owners"
    [ "$(uniq "$cluster/owners" | wc -l)" -eq "$(wc -l <"$cluster/there")" ]
}
ok "every job gets its pod" wait_for 20 pods_are_there
empty "no job gets two pods" "$(uniq -d "$cluster/owners")"
finish
