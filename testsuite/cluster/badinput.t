#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Invalid requests and invalid scripts: each is refused with a helpful message
# or fails alone, and the controller continues to answer.

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

# post BODY-FILE [QUERY [TYPE]]: sends the file, prints the status code and the
# body of the answer on one line.
post() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    as kilntest1 sh -c 'curl -s --max-time 20 -w "\n%{http_code}" -D headers \
        --unix-socket "$0" -H "Content-Type: $3" -H Expect: \
        --data-binary "@$1" "http://kiln$2"' \
        "$cluster/socket" "$1" "$jobs${2-}" "${3:-application/json}" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
body=$cluster/body
# refused NAME PATTERN [QUERY]: passes if $body is refused with a message that
# matches PATTERN.
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

# --- bodies and fields --------------------------------------------------------
: >"$body"
refused "an empty body is refused" 'empty|EOF|no body|end of'
write a '' '' && head -c 100 "$body" >"$body.cut" && mv "$body.cut" "$body"
refused "a body that is cut off is refused" 'BadRequest'
echo '{"kind":"Job",}' >"$body"
refused "a body that is not JSON is refused" 'BadRequest'
write a '' '' && echo '{}' >>"$body"
refused "a body with more text after the object is refused" 'BadRequest'
write "$(printf 'a\377\376b')" '' ''
refused "invalid UTF-8 is refused" 'UTF-?8'
write 'a\u0000b' '' ''
refused "a NUL in a name is refused" 'metadata.name.*NUL'
{
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":'
    head -c 100000 /dev/zero | tr '\0' '['
} >"$body"
refused "a hundred thousand nested arrays are refused" 'nest|deep'
{
    printf '{"a":%s' ""
    head -c 200000 /dev/zero | sed 's/\x0/{"a":/g'
} >"$body"
refused "two hundred thousand nested objects are refused" 'nest|deep'
echo '[1,2,3]' >"$body"
refused "an array in place of an object is refused" 'BadRequest'
write a '' '' && sed 's/"kind":"Job"/"kind":"Pod"/' "$body" >"$body.x" &&
    mv "$body.x" "$body"
refused "an object of another kind than that of the path is refused" 'Pod'
write a '"completions":"three",' ''
refused "a string in place of a number is refused" 'completions'
write a '"completions":1.5,' ''
refused "a fraction in place of an integer is refused" 'completions'
write a '"completions":99999999999999999999,' ''
refused "a number that is too large is refused" 'completions'
write a '"completions":-1,' ''
refused "a negative count is refused" 'spec.completions'
write a '"selector":[],' ''
refused "an array as the value of an object field is refused" 'selector'
write a '"unheard":1,' ''
refused "an unknown field is refused with fieldValidation=Strict" \
    'unknown field .*unheard' \
    '?fieldValidation=Strict'
like "an unknown field is dropped with fieldValidation=Warn" \
    "$(post "$body" '?fieldValidation=Warn')" '^201 '
like "the answer then has a warning" \
    "$(cat "$home/headers")" '^Warning: 299 .*unknown field'
write b '"completions":1,"completions":1,' ''
refused "a field that is given twice is refused with fieldValidation=Strict" \
    'duplicate field .*completions' \
    '?fieldValidation=Strict'
refused "an unknown value of fieldValidation is refused" \
    'fieldValidation' '?fieldValidation=Perhaps'
write 'Not_A_Name' '' ''
refused "an invalid name is refused" 'metadata.name'
write c '' '' && sed 's/"name":"main",//' "$body" >"$body.x" && mv "$body.x" "$body"
refused "a missing field is reported with its path" \
    'spec.template.spec.containers\[0\].name'
write c '' '' && like "a content type that nobody reads is a 415" \
    "$(post "$body" '' text/plain)" '^415 '

# --- quantities ---------------------------------------------------------------
for quantity in -1 1e999 0x 0x10 '' 1Q 1.2.3 NaN --1 1KiB; do
    write q '' ",\"resources\":{\"requests\":{\"cpu\":\"$quantity\"}}"
    refused "cpu '$quantity' is refused with the path of the field" \
        'spec.template.spec.containers\[0\].resources.requests|[qQ]uantit'
done
write q '' ',"resources":{"requests":{"memory":"99999999999E"}}'
like "a size of memory that cannot exist is no internal error" \
    "$(post "$body")" '^(201|4[0-9][0-9]) '

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
# refuses NAME CODE CURL-OPTION...: passes if the request is refused with a
# Status object, before the caller is authenticated.
refuses() {
    refuses_name=$1
    refuses_code=$2
    shift 2
    like "$refuses_name" "$(as kilntest1 curl -s --max-time 10 "$@" \
        --unix-socket "$cluster/socket" http://kiln/version)" \
        "^\\{\"kind\":\"Status\".*\"code\":$refuses_code"
}
refuses "10,000 headers are refused with a Status" 400 -H "@$home/many"
refuses "an invalid request line is refused with a Status" \
    400 --request-target 'a b'
refuses "an invalid target is refused with a Status" 400 --request-target '/%zz'
refuses "an unknown method is refused with a Status" 501 -X BREW
like "a very long path is refused" "$(head -c 60000 /dev/zero | tr '\0' a |
    sed 's,^,http://kiln/,' >"$home/url" && as kilntest1 sh -c "curl -s \
    --unix-socket $cluster/socket -w '%{http_code}' -o /dev/null \
    \"\$(cat url)\"")" '^4[0-9][0-9]$'

# Two hundred clients open a connection, send a part of a request, and wait.
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
ok "other clients are served meanwhile" as kilntest1 timeout 5 kctl get nodes
stop slow KILL
ok "the controller answers after all these requests" as kilntest1 kctl get nodes
ok "the controller was not restarted" is_running controller

# --- scripts ------------------------------------------------------------------
script() { # NAME: writes the script from standard input
    cat >"$home/$1" && chown kilntest1: "$home/$1" && chmod 755 "$home/$1"
}
# ksub_fails NAME PATTERN OPTION...: passes if ksub refuses and its message
# matches PATTERN.
ksub_fails() {
    ksub_name=$1
    ksub_like=$2
    shift 2
    ksub_status=0
    ksub_said=$(as kilntest1 timeout 20 ksub "$@" 2>&1) || ksub_status=$?
    if [ "$ksub_status" -eq 0 ]; then
        fail "$ksub_name" && note "submitted: $ksub_said"
        return
    fi
    like "$ksub_name" "$ksub_said" "^ksub: .*$ksub_like"
}
echo 'echo no interpreter' | script plain
ksub_fails "a script without #! is refused" 'plain.*#!' plain
script empty </dev/null
ksub_fails "an empty script is refused" 'empty' ./empty
cp /bin/true "$home/binary" && chown kilntest1: "$home/binary"
ksub_fails "a binary is refused" 'binary.*(#!|--wrap)' binary
ksub_fails "a script that does not exist is refused" \
    'nothere.*No such file.*--wrap' nothere
ksub_fails "a directory is refused" 'directory' /tmp
{
    echo '#!/bin/sh'
    head -c 4300000 /dev/zero | tr '\0' '#'
} | script big
ksub_fails "a script of more than 4 MiB is refused" 'big: .*larger than 4 MiB' big
is "... with the exit status of wrong usage" "$ksub_status" 64
is "... from the standard input, too, and not cut" \
    "$(as kilntest1 sh -c 'ksub <big >said 2>&1; echo $?; grep -c "larger than 4 MiB" said')" \
    "64
1"
printf '#!/bin/sh\recho\r' | script mac
ksub_fails "a script with line breaks of old Macs is refused" 'mac: .*mac2unix' mac
printf '#!/bin/sh\n#PBS -l nodes=1:ppn=8\ntrue\n' | script pbs
ksub_fails "--strict refuses a script for another scheduler" \
    'pbs:2: #PBS lines are for PBS.*-l nodes=1:ppn=8.*without --strict' --strict pbs
is "... with the exit status of wrong usage" "$ksub_status" 64
like "otherwise it is submitted, and a line says that the job has the defaults" \
    "$(as kilntest1 ksub --wait -o /dev/null pbs 2>&1; echo $?)" \
    'pbs:2: 1 #PBS line for PBS is not read: the job has the defaults, .*-l nodes=1:ppn=8'
is "without the line with --ignore-directives" \
    "$(as kilntest1 ksub --quiet --wait --ignore-directives -o /dev/null pbs 2>&1; echo $?)" 0
printf '#!/bin/sh\n#KSUB --no-such-option\n' | script directive
ksub_fails "an unknown directive is reported with its line" \
    'directive.*2.*no-such-option' directive
ksub_fails "an invalid time is refused" "'soon'" -t soon --wrap true
ksub_fails "an invalid size is refused" "'lots'" --mem lots --wrap true
ksub_fails "an invalid number is refused" "'0x'" -c 0x --wrap true
ksub_fails "zero CPUs are refused" "'?0'?" -c 0 --wrap true
ksub_fails "a negative number of CPUs is refused" "'?-1'?" -c -1 --wrap true
ksub_fails "an account that does not exist is refused" \
    "account 'nowhere'" -A nowhere \
    --wrap true

# run OPTION...: runs a job. Its exit status is then in $status, its reason in
# $reason.
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
# ends NAME STATUS PATTERN: checks the job that run has run.
ends() {
    is "$1" "$status" "$2"
    like "... and it says why" "$reason" "$3"
}
printf '#!/no/such/interpreter\n' | script lost
run lost
like "a job whose interpreter does not exist fails" "$status" '^(126|127|1)$'
like "... and it says why" "$reason" "interpreter its '#!' line names"
is "an entry of the environment without a name does no harm" \
    "$(as kilntest1 env =x=1 timeout 60 ksub -Q --wait -o "$home/env.out" --wrap 'env' 2>&1
        echo $?; grep -c =x=1 "$home/env.out")" "0
0"
run --wrap no-such-command
ends "a command that is not found has exit status 127" 127 '127'
run --wrap 'kill -KILL $$'
ends "a job that is killed by a signal has exit status 128 plus its number" \
    137 '9'
run -D "$cluster/nowhere" --wrap true
like "a job whose working directory does not exist fails" "$status" '^[1-9]'
like "... and the message names the directory" \
    "$reason" "$cluster/nowhere.*No such file"
run -i "$cluster/nothing" --wrap true
like "a job whose input file does not exist is told that the file is missing" \
    "$reason" "$cluster/nothing.*there is no such file on this node"
run -o /proc/nowhere/out --wrap true
like "a job whose output path cannot be created fails" "$status" '^[1-9]'
like "... and the message names the path" \
    "$reason" '/proc/nowhere/out.*No such file'
run -o /etc/kiln-test-output --wrap true
like "a job whose output path the user may not write to fails" "$reason" \
    '/etc/kiln-test-output.*Permission denied'
not_ok "... and the file is not created" test -e /etc/kiln-test-output
echo precious >"$cluster/roots" && chmod 644 "$cluster/roots"
ln -s "$cluster/roots" "$home/link"
run -o link --wrap 'echo overwritten'
like "a link to a file of root is not written through" "$reason" \
    'Permission denied'
is "... and the file keeps its content" "$(cat "$cluster/roots")" precious
run --wrap 'setsid sleep 30071 & sleep 30071 & (sleep 30071 &); exit 0'
is "a job that leaves daemons behind completes" "$status" 0
no_sleep_runs() { ! pgrep -u kilntest1 -f '^sleep 30071'; }
ok "... and the daemons are killed when it ends" wait_for 15 no_sleep_runs
if root get node n1 -o json | jq -e '[.status.conditions[]? |
    select(.type == "MemoryEnforced" and .status == "False")] == []' \
    >/dev/null; then
    # shellcheck disable=SC2016 # expanded in the job
    run --mem 32M --wrap 'a=$(head -c 200000000 /dev/zero | tr "\0" a); echo ${#a}'
    like "a job that exceeds its memory is killed" "$status" '^[1-9]'
    like "... and the reason says so" "$reason" 'OOMKilled'
else
    skip "a job that exceeds its memory is killed" "this machine limits none"
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
ok "a pod with a uid that the node does not know fails" wait_for 20 has_failed
like "... and the message names the uid" \
    "$(stranger '.status | tostring')" '3999999'
run --wrap true
is "a valid job runs after all these jobs" "$status" 0
finish
