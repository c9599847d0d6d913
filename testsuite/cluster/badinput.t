#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What no client should send and no script should be: each is refused in words
# that help, or fails alone, and the controller goes on answering.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
home=$cluster/home/kilntest1
jobs=/apis/batch/v1/namespaces/default/jobs
node_is_ready() { root get nodes | grep -qw Ready; }
ok "a node registers" wait_for 20 node_is_ready

# post BODY-FILE [QUERY [TYPE]]: one line, the code and the answer.
post() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    as kilntest1 sh -c 'curl -s --max-time 20 -w "\n%{http_code}" -D headers \
        --unix-socket "$0" -H "Content-Type: $3" -H Expect: \
        --data-binary "@$1" "http://kiln$2"' \
        "$cluster/socket" "$1" "$jobs${2-}" "${3:-application/json}" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
body=$cluster/body
# refused NAME PATTERN: what stands in $body.
refused() {
    like "$1" "$(post "$body" "${3-}")" "^4[0-9][0-9] .*$2"
}
whole='{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},
"spec":{"suspend":true,%s"template":{"spec":{"restartPolicy":"Never",
"containers":[{"name":"main","command":["/bin/true"]%s}]}}}}'
write() { # NAME SPEC-MEMBERS CONTAINER-MEMBERS
    # shellcheck disable=SC2059
    printf "$whole" "$@" >"$body"
}

# --- texts --------------------------------------------------------------------
: >"$body"
refused "an empty body is refused" 'empty|EOF|no body|end of'
write a '' '' && head -c 100 "$body" >"$body.cut" && mv "$body.cut" "$body"
refused "one that is cut off" 'BadRequest'
echo '{"kind":"Job",}' >"$body"
refused "one that is not JSON" 'BadRequest'
write a '' '' && echo '{}' >>"$body"
refused "one with more after it" 'BadRequest'
write "$(printf 'a\377\376b')" '' ''
refused "invalid UTF-8" 'UTF-?8'
write 'a\u0000b' '' ''
refused "a NUL in a name" 'metadata.name.*NUL'
{
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":'
    head -c 100000 /dev/zero | tr '\0' '['
} >"$body"
refused "a hundred thousand brackets" 'nest|deep'
{
    printf '{"a":%s' ""
    head -c 200000 /dev/zero | sed 's/\x0/{"a":/g'
} >"$body"
refused "as many braces" 'nest|deep'
echo '[1,2,3]' >"$body"
refused "an array" 'BadRequest'
write a '' '' && sed 's/"kind":"Job"/"kind":"Pod"/' "$body" >"$body.x" &&
    mv "$body.x" "$body"
refused "another kind than the path's" 'Pod'
write a '"completions":"three",' ''
refused "a text where a number belongs" 'completions'
write a '"completions":1.5,' ''
refused "a fraction where a whole number belongs" 'completions'
write a '"completions":99999999999999999999,' ''
refused "a number that is too large" 'completions'
write a '"completions":-1,' ''
refused "a negative count" 'spec.completions'
write a '"selector":[],' ''
refused "an array where an object belongs" 'selector'
write a '"unheard":1,' ''
refused "an unknown field, under Strict" 'unknown field .*unheard' \
    '?fieldValidation=Strict'
like "but under Warn it is dropped" "$(post "$body" '?fieldValidation=Warn')" '^201 '
like "with a warning" "$(cat "$home/headers")" '^Warning: 299 .*unknown field'
write b '"completions":1,"completions":1,' ''
refused "a field given twice, under Strict" 'duplicate field .*completions' \
    '?fieldValidation=Strict'
refused "no known way of validation" 'fieldValidation' '?fieldValidation=Perhaps'
write 'Not_A_Name' '' ''
refused "a name that is none" 'metadata.name'
write c '' '' && sed 's/"name":"main",//' "$body" >"$body.x" && mv "$body.x" "$body"
refused "a missing field, by its path" \
    'spec.template.spec.containers\[0\].name'
write c '' '' && like "a type nobody reads is a 415" \
    "$(post "$body" '' text/plain)" '^415 '

# --- quantities ---------------------------------------------------------------
for quantity in -1 1e999 0x 0x10 '' 1Q 1.2.3 NaN --1 1KiB; do
    write q '' ",\"resources\":{\"requests\":{\"cpu\":\"$quantity\"}}"
    refused "cpu '$quantity' is refused by its path" \
        'spec.template.spec.containers\[0\].resources.requests|[qQ]uantit'
done
write q '' ',"resources":{"requests":{"memory":"99999999999E"}}'
unlike "more memory than there can be is no internal error" \
    "$(post "$body")" '^5'

# --- sizes and speed ----------------------------------------------------------
{
    # shellcheck disable=SC2059
    printf "${whole%%\}\]*}" a '' ',"x":"'
    head -c 104857600 /dev/zero | tr '\0' a
} >"$body"
like "a body of 100 MiB is too large" "$(post "$body")" \
    '^413 .*"kind":"Status".*"reason":"RequestEntityTooLarge"'
rm -f "$body"
seq 1 10000 | sed 's/.*/X-Header-&: x/' >"$home/many"
# refuses NAME CODE CURL-OPTION...: before anybody is asked who calls.
refuses() {
    refuses_name=$1
    refuses_code=$2
    shift 2
    like "$refuses_name" "$(as kilntest1 curl -s --max-time 10 "$@" \
        --unix-socket "$cluster/socket" http://kiln/version)" \
        "^\\{\"kind\":\"Status\".*\"code\":$refuses_code"
}
refuses "so are 10,000 headers, and the answer is a Status" 400 -H "@$home/many"
refuses "a request line that is none gets one too" 400 --request-target 'a b'
refuses "and a target that is none" 400 --request-target '/%zz'
refuses "and a method that nobody has heard of" 501 -X BREW
like "and a very long path" "$(head -c 60000 /dev/zero | tr '\0' a |
    sed 's,^,http://kiln/,' >"$home/url" && as kilntest1 sh -c "curl -s \
    --unix-socket $cluster/socket -w '%{http_code}' -o /dev/null \
    \"\$(cat url)\"")" '^(4[0-9][0-9]|000)$'

# Two hundred that open a connection, say a little, and wait.
cat >"$cluster/bin/slow" <<'SLOW'
#!/bin/bash
for ((i = 0; i < 200; i++)); do
    exec {fd}<>"/dev/tcp/127.0.0.1/$1" || exit 1
    printf 'POST /api/v1/pods HTTP/1.1\r\nHost: a\r\nContent-Le' >&$fd
done
touch "$2"
sleep 60
SLOW
chmod 755 "$cluster/bin/slow"
start slow slow "${cluster_address##*:}" "$cluster/slow-are-there"
ok "two hundred slow clients connect" wait_for 10 test -e "$cluster/slow-are-there"
ok "and others are served meanwhile" as kilntest1 timeout 5 kctl get nodes
stop slow KILL
ok "the controller answers after all that" as kilntest1 kctl get nodes
ok "it is the one that was started" is_running controller

# --- scripts ------------------------------------------------------------------
script() { # NAME: from standard input
    cat >"$home/$1" && chown kilntest1: "$home/$1" && chmod 755 "$home/$1"
}
# ksub_fails NAME PATTERN OPTION...
ksub_fails() {
    ksub_name=$1
    ksub_like=$2
    shift 2
    ksub_said=$(as kilntest1 timeout 20 ksub "$@" 2>&1) && {
        fail "$ksub_name" && note "submitted: $ksub_said"
        return
    }
    like "$ksub_name" "$ksub_said" "^ksub: .*$ksub_like"
}
echo 'echo no interpreter' | script plain
ksub_fails "a script without #! is refused" 'plain.*#!' plain
script empty </dev/null
ksub_fails "so is an empty one" 'empty' ./empty
cp /bin/true "$home/binary" && chown kilntest1: "$home/binary"
ksub_fails "and a binary" 'binary.*(#!|--wrap)' binary
ksub_fails "one that is not there" 'nothere.*No such file' nothere
ksub_fails "a directory" 'directory' /tmp
{
    echo '#!/bin/sh'
    head -c 4300000 /dev/zero | tr '\0' '#'
} | script big
ksub_fails "one of more than 4 MiB" '4 MiB|too large|larger' big
printf '#!/bin/sh\n#KSUB --no-such-option\n' | script directive
ksub_fails "a directive nobody knows, by its line" \
    'directive.*2.*no-such-option' directive
ksub_fails "nonsense for a time" "'soon'" -t soon --wrap true
ksub_fails "nonsense for a size" "'lots'" --mem lots --wrap true
ksub_fails "nonsense for a number" "'0x'" -c 0x --wrap true
ksub_fails "no CPU at all" "'?0'?" -c 0 --wrap true
ksub_fails "less than none" "'?-1'?" -c -1 --wrap true
ksub_fails "an account that is not there" "account 'nowhere'" -A nowhere \
    --wrap true

# run OPTION...: the job's exit status in $status, its reason in $reason.
run() {
    run_id=$(as kilntest1 timeout 60 ksub --parsable --wait "$@" 2>"$cluster/said")
    status=$?
    run_id=$(printf '%s\n' "$run_id" | head -n 1)
    reason=$(root get pod "job-$run_id-0" -o json | jq -r \
        '[.status.reason, .status.message,
          (.status.containerStatuses[0].state.terminated |
              .reason, .message, .exitCode, .signal)] | join(" ")')
    reason="$reason $(cat "$cluster/said")"
}
# ends NAME STATUS PATTERN: what run has run.
ends() {
    is "$1" "$status" "$2"
    like "... and it says why" "$reason" "$3"
}
printf '#!/no/such/interpreter\n' | script lost
run lost
like "an interpreter that is not there fails the job" "$status" '^(126|127|1)$'
like "... and it says why" "$reason" "interpreter its '#!' line names"
run --wrap no-such-command
ends "a command not found is 127" 127 '127'
run --wrap 'kill -KILL $$'
ends "killed by a signal is 128 and its number" 137 '9'
run -D "$cluster/nowhere" --wrap true
like "a directory that is not there fails the job" "$status" '^[1-9]'
like "... by its name" "$reason" "$cluster/nowhere.*No such file"
run -o /proc/nowhere/out --wrap true
like "an output path that cannot be written fails the job" "$status" '^[1-9]'
like "... by its name" "$reason" '/proc/nowhere/out.*No such file'
run -o /etc/kiln-test-output --wrap true
like "so does one that the user may not write" "$reason" \
    '/etc/kiln-test-output.*Permission denied'
not_ok "... and it is not made" test -e /etc/kiln-test-output
echo precious >"$cluster/roots" && chmod 644 "$cluster/roots"
ln -s "$cluster/roots" "$home/link"
run -o link --wrap 'echo overwritten'
like "a link to root's file is not written through" "$reason" \
    'Permission denied'
is "... and what is there is kept" "$(cat "$cluster/roots")" precious
run --wrap 'setsid sleep 30071 & sleep 30071 & (sleep 30071 &); exit 0'
is "a job that leaves daemons behind is complete" "$status" 0
no_sleep_runs() { ! pgrep -u kilntest1 -f '^sleep 30071'; }
ok "... and they are ended with it" wait_for 15 no_sleep_runs
if root get node n1 -o json | jq -e '[.status.conditions[]? |
    select(.type == "MemoryEnforced" and .status == "False")] == []' \
    >/dev/null; then
    # shellcheck disable=SC2016 # expanded in the job
    run --mem 32M --wrap 'a=$(head -c 200000000 /dev/zero | tr "\0" a); echo ${#a}'
    like "a job that exceeds its memory is ended" "$status" '^[1-9]'
    like "... and it says so" "$reason" 'OOMKilled'
else
    skip "a job that exceeds its memory is ended" "this machine limits none"
fi
cat >"$body" <<'TXT'
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"stranger"},
"spec":{"restartPolicy":"Never","securityContext":{"runAsUser":3999999,
"runAsGroup":3999999},"containers":[{"name":"main","command":["/bin/true"]}]}}
TXT
curl -s -o /dev/null --unix-socket "$cluster/socket" -d "@$body" \
    -H 'Content-Type: application/json' \
    http://kiln/api/v1/namespaces/default/pods
stranger() { root get pod stranger -o json | jq -r "$1"; }
has_failed() { [ "$(stranger .status.phase)" = Failed ]; }
ok "a pod of a uid that the node does not know fails" wait_for 20 has_failed
like "... by that uid" "$(stranger '.status | tostring')" '3999999'
run --wrap true
is "and the next good job runs" "$status" 0
finish
