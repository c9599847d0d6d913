#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Small requests that cause much work are refused with a message that names the
# limit, or cost about as much as their size suggests. The controller's memory
# stays small.

# shellcheck disable=SC2119,SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
namespace=/api/v1/namespaces/default
jobs=/apis/batch/v1/namespaces/default/jobs
body=$cluster/body

# root sends these requests, because this test is not about who may write
# ConfigMaps.
sender=
# send METHOD PATH [TYPE]: sends $body, prints the status code and the
# beginning of the answer on one line.
send() {
    rm -f "$cluster/shared/answer" "$cluster/shared/headers"
    # shellcheck disable=SC2016 # expanded by the inner shell
    $sender sh -c 'curl -s --max-time 60 -o "$5" -D "$6" \
        -w "%{http_code} " --unix-socket "$0" -X "$1" -H Expect: \
        -H "Content-Type: $3" --data-binary "@$4" "http://kiln$2"' \
        "$cluster/socket" "$1" "$2" "${3:-application/json}" "$body" \
        "$cluster/shared/answer" "$cluster/shared/headers"
    head -c 20000 "$cluster/shared/answer" | tr '\n' ' '
}
directory "$cluster/shared" 777
peak_mib() {
    awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$(controller_pid)/status"
}
controller_pid() { pid_of controller; }

# repeat N FORMAT: prints FORMAT N times with the number of each, separated by
# commas.
repeat() {
    awk -v n="$1" -v format="$2" 'BEGIN {
        for (i = 1; i <= n; i++)
            printf format (i < n ? "," : ""), i, i
    }'
}
# pod POD-MEMBERS CONTAINER-MEMBERS: prints a pod. Each list of members starts
# with a comma.
pod() {
    printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{'
    printf '"restartPolicy":"Never","containers":[{"name":"main",'
    printf '"image":"host","command":["true"]%s}]%s}}' "$2" "$1"
}

# --- small input that expands to much -----------------------------------------
{
    printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},'
    repeat 99000 '"u%d":%d'
    printf '}'
} >"$body"
like "an object with ninety-nine thousand unknown fields is accepted" \
    "$(send POST "$namespace/configmaps")" '^201 '
warnings=$(grep -ci '^warning:' "$cluster/shared/headers")
ok "it gets warnings" [ "$warnings" -gt 0 ]
ok "it gets at most two hundred" [ "$warnings" -le 200 ]
{
    printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},'
    printf '"x":['
    repeat 200000 '%d'
    printf ']}'
} >"$body"
like "an object with two hundred thousand values is refused" \
    "$(send POST "$namespace/configmaps")" '^413 .*100000 values'
{
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\nx:\n'
    awk 'BEGIN { for (i = 0; i < 200000; i++) print "- 1" }'
} >"$body"
like "such an object in YAML is refused" \
    "$(send POST "$namespace/configmaps" application/yaml)" \
    '^413 .*100000 values'
{
    echo 'a: &a [1,1,1,1,1,1,1,1,1,1]'
    echo 'b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]'
    echo 'c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]'
    echo 'd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]'
    echo 'e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]'
} >"$body"
like "YAML whose aliases expand to that many values is refused" \
    "$(send POST "$namespace/configmaps" application/yaml)" \
    '^4(00|13) .*(100000 values|expand to too much)'
{
    printf '[{"op":"add","path":"/data","value":{"a":"x"}}'
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
        printf ',{"op":"copy","from":"/data","path":"/data/k%d"}' "$n"
    done
    printf ']'
} >"$body"
like "a patch that copies a value into itself is refused when it exceeds 3 MiB" \
    "$(send PATCH "$namespace/configmaps/c" application/json-patch+json)" \
    '^413 .*copy.*exceeding the limit 3145728'
{
    printf '[{"op":"add","path":"/x","value":['
    repeat 40000 '%d'
    printf ']}'
    awk 'BEGIN { for (i = 0; i < 9000; i++)
        printf ",{\"op\":\"add\",\"path\":\"/x/0\",\"value\":0}" }'
    printf ']'
} >"$body"
like "a patch that shifts a long list again and again is refused" \
    "$(send PATCH "$namespace/configmaps/c" application/json-patch+json)" \
    '^413 .*moves more than [0-9]+ list items'
{
    printf '['
    repeat 10001 '{"op":"test","path":"/a%d","value":%d}'
    printf ']'
} >"$body"
like "a patch with more operations than upstream allows is refused" \
    "$(send PATCH "$namespace/configmaps/c" application/json-patch+json)" \
    '^413 .*maximum operations in a JSON patch is 10000, got 10001'

# --- sizes --------------------------------------------------------------------
{
    printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},'
    printf '"data":{"a":"'
    head -c 3145728 /dev/zero | tr '\0' x
    printf '"}}'
} >"$body"
like "a body above 3 MiB is refused" "$(send POST "$namespace/configmaps")" \
    '^413 .*limit is 3145728'
sender='as kilntest1'
job='{"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"x-"%s},
"spec":{"suspend":true%s,"template":{"spec":{"restartPolicy":"Never",
"containers":[{"name":"main","image":"host","command":["/bin/true"]}]}}}}'
large() { head -c 3500000 /dev/zero | tr '\0' "$1"; }
# shellcheck disable=SC2059 # the format is ours
printf "$job" "" "$(printf ',"script":{"text":"#!/bin/sh\\n%s"}' "$(large x)")" \
    >"$body"
like "the script of a new job does not count for that limit" \
    "$(send POST "$jobs")" '^201 '
# shellcheck disable=SC2059
printf "$job" "$(printf ',"annotations":{"a":"%s"}' "$(large x)")" "" >"$body"
like "the rest of the job counts for the limit" \
    "$(send POST "$jobs")" '^413 .*limit is 3145728'

# gang PODS BYTES: a Job whose attempts are whole, with a variable of so many bytes.
gang() {
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"x-"},"spec":{
"suspend":true,"parallelism":%s,"completions":%s,"completionMode":"Indexed","scheduling":{
"schedulingPolicy":{"gang":{}},"disruptionMode":{"all":{}}},"template":{"spec":{"execution":{
"runs":"Each"},"restartPolicy":"Never","containers":[{"name":"main","image":"host","command":
["true"],"env":[{"name":"X","value":"%s"}]}]}}}}' "$1" "$1" "$(head -c "$2" /dev/zero | tr '\0' x)"
}
gang 512 900000 >"$body"
like "half a gigabyte of pods in one attempt is refused" "$(send POST "$jobs")" \
    '^403 .*AttemptBytes: .* 512 copies of spec.template have 439 MiB, but the limit is 64'
gang 512 100000 >"$body"
like "...what 512 pods may have is accepted" "$(send POST "$jobs")" '^201 '
gang 4 900000 >"$body"
like "...and one large pod on each of four nodes" "$(send POST "$jobs")" '^201 '

# --- long lists ---------------------------------------------------------------
sender="as kilntest1"
# list NAME: passes if $body is refused with a message that names the limit.
list() {
    like "$1" "$(send POST "$namespace/pods")" \
        '^403 .*ListLengths: .* has [0-9]+ items, but the limit is [0-9]+'
}
pod '' ",\"env\":[$(repeat 40000 '{"name":"E%d"}')]" >"$body"
list "forty thousand environment variables are refused"
pod '' ",\"ports\":[$(repeat 20000 '{"name":"p%d","containerPort":%d}')]" \
    >"$body"
list "twenty thousand ports, some of them valid, are refused"
pod '' ",\"ports\":[$(repeat 20000 \
    '{"containerPort":1,"hostPort":2,"hostIP":"10.0.%d.1"}')]" >"$body"
list "twenty thousand host ports are refused"
pod ",\"volumes\":[$(repeat 10000 '{"name":"v%d","emptyDir":{}}')]" \
    ",\"volumeMounts\":[$(repeat 10000 '{"name":"v%d","mountPath":"/m%d"}')]" \
    >"$body"
list "ten thousand mounted volumes are refused"
pod ",\"schedulingGates\":[$(repeat 40000 '{"name":"g%d"}')]" '' >"$body"
list "forty thousand scheduling gates are refused"
pod '' ",\"resources\":{\"requests\":{$(repeat 20000 '"a.example/r%d":"1"')},
    \"limits\":{$(repeat 20000 '"a.example/r%d":"1"')}}" >"$body"
list "twenty thousand resources are refused"
pod ",\"tolerations\":[$(repeat 30000 '{"key":"k%d","operator":"Exists"}')]" \
    '' >"$body"
list "thirty thousand tolerations are refused"
pod ",\"topologySpreadConstraints\":[$(repeat 15000 '{"topologyKey":"k%d",
    "maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}')]" '' >"$body"
list "fifteen thousand topology spread constraints are refused"
sender=
{
    printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d",'
    printf '"ownerReferences":['
    repeat 15000 '{"apiVersion":"v1","kind":"Pod","name":"p%d","uid":"u%d",
        "controller":true}'
    printf ']}}'
} >"$body"
like "fifteen thousand controlling owners are refused" \
    "$(send POST "$namespace/configmaps")" '^4[0-9][0-9] '
answer=$(wc -c <"$cluster/shared/answer")
note "it has $answer bytes"
ok "that answer is short" [ "$answer" -lt 20000 ]
{
    printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e",'
    printf '"finalizers":['
    repeat 30000 '"a.example/f%d"'
    printf ']},"data":{'
    repeat 40000 '"k%d":"%d"'
    printf '}}'
} >"$body"
like "an object with forty thousand keys gets an answer" \
    "$(send POST "$namespace/configmaps")" \
    '^(201|4[0-9][0-9]) '
{
    printf '{"data":{'
    repeat 30000 '"k%d":null'
    printf '}}'
} >"$body"
like "a patch that removes thirty thousand keys gets an answer" \
    "$(send PATCH "$namespace/configmaps/e" \
    application/merge-patch+json)" '^(200|4[0-9][0-9]) '
{
    printf '{"metadata":{"$setElementOrder/finalizers":['
    repeat 20000 '"a.example/f%d"'
    printf '],"finalizers":['
    repeat 20000 '"a.example/f%d"'
    printf '],"$deleteFromPrimitiveList/finalizers":['
    repeat 20000 '"a.example/f%d"'
    printf ']}}'
} >"$body"
like "a patch that orders long lists gets an answer" \
    "$(send PATCH "$namespace/configmaps/c" \
    application/strategic-merge-patch+json)" '^(200|4[0-9][0-9]) '
like "a selector of a thousand values is refused" \
    "$(curl -s --unix-socket "$cluster/socket" \
        "http://kiln$namespace/pods?labelSelector=a%20in%20($(repeat 1000 v%d))")" \
    '500 requirements and values, and not more'

# --- what is done in several slices -------------------------------------------
# Work that takes more than one turn of the loop gives the same result as work
# in one turn.
sender=
awk 'BEGIN {
    for (i = 0; i < 260; i++) {
        print "next"
        print "url = \"http://kiln/api/v1/namespaces/default/configmaps\""
        printf "data = \"{\\\"metadata\\\":{\\\"name\\\":\\\"m%d\\\",", i
        print "\\\"labels\\\":{\\\"many\\\":\\\"yes\\\"}}}\""
        print "header = \"Content-Type: application/json\""
        print "output = /dev/null"
        print "silent"
        print "unix-socket = \"'"$cluster"'/socket\""
    }
}' | tail -n +2 >"$cluster/many"
curl -s -K "$cluster/many"
# ask QUERY [CURL-OPTION...]
ask() {
    query=$1
    shift
    curl -s --max-time 20 --unix-socket "$cluster/socket" "$@" \
        "http://kiln$namespace/configmaps?labelSelector=many%3Dyes$query"
}
is "a watch sends all objects, and then the bookmark that says so" \
    "$(ask '&watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=2' |
        jq -r '.type + (.object.metadata.annotations["k8s.io/initial-events-end"] // "")' |
        uniq -c | awk '{ print $1 $2 }' | head -n 2 | tr '\n' ' ')" \
    "260ADDED 1BOOKMARKtrue "
is "a pretty-printed list has the same content" \
    "$(ask '&pretty=true' | jq -S 'del(.metadata)' | cksum)" \
    "$(ask '' | jq -S 'del(.metadata)' | cksum)"
is "a list in YAML is complete" \
    "$(ask '' -H 'Accept: application/yaml' | grep -c '^    name: m')" 260
is "all objects of a collection are deleted" "$(ask '' -X DELETE |
    jq '.items | length') $(ask '' | jq '.items | length')" "260 0"
if is_sanitized; then
    skip "the controller never used much memory" "a sanitizer holds more"
else
    peak=$(peak_mib)
    note "the controller used $peak MiB at most"
    ok "the controller never used much memory" [ "$peak" -lt 400 ]
fi
finish
