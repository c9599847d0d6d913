#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job from its submission to its end: a script goes in, a process of the user
# runs on exact cores, its output and exit code come out.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller
cluster_agent n1

# Root is the administrator by the controller's own socket alone.
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
home=$cluster/home/kilntest1
node_is_ready() { admin get nodes | grep -qw Ready; }
ok "the node enrols itself" wait_for 10 node_is_ready

write() { # FILE: from standard input
    cat >"$home/$1" && chown kilntest1: "$home/$1"
}
id_of() { echo "${1##* }"; }
state_is() { # ID STATE
    admin get job "$1" --no-headers | grep -qw "$2"
}

# --- what a job is given ------------------------------------------------------
write pinned.sh <<'TXT'
#!/bin/sh
#KSUB --job-name=pinned -c 1 --mem=64M -t 5
echo "arguments: $*"
echo "user: $(id -un) umask: $(umask) directory: $(pwd)"
echo "id: $KILN_JOB_ID name: $KILN_JOB_NAME node: $KILN_NODE_NAME"
echo "threads: $OMP_NUM_THREADS"
echo "mine: $MINE"
echo "allowed: $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
echo "cpus: $KILN_CPUS"
test -d "$TMPDIR" && test -w "$TMPDIR" && echo "tmpdir: yes"
exit 0
TXT
submitted=$(as kilntest1 env MINE=kept ksub --wait pinned.sh one 'two words')
is "ksub --wait ends with the job's status" "$?" 0
like "and says the job's id" "$submitted" '^Submitted job [0-9]+$'
id=$(id_of "$submitted")
out=$(cat "$home/kiln-$id.out")
like "the script has its arguments" "$out" '^arguments: one two words$'
like "it runs as the user, in the directory of submission" "$out" \
    "^user: kilntest1 umask: [0-7]+ directory: $home\$"
like "it knows its id, name and node" "$out" "^id: $id name: pinned node: n1\$"
like "it is told how many threads to start" "$out" '^threads: 1$'
like "it has the environment of its submission" "$out" '^mine: kept$'
like "it has a TMPDIR of its own" "$out" '^tmpdir: yes$'
cpus=$(echo "$out" | sed -n 's/^cpus: //p')
like "it was given one CPU" "$cpus" '^[0-9]+$'
if [ "$(nproc)" -gt 1 ]; then
    is "and it is bound to that one" \
        "$(echo "$out" | sed -n 's/^allowed: //p')" "$cpus"
else
    skip "and it is bound to that one" "this machine has one CPU"
fi
is "kctl logs prints the same" "$(as kilntest1 kctl logs "$id")" "$out"
like "the job is complete" "$(as kilntest1 kctl get job "$id")" 'Completed'

# --- how jobs end -------------------------------------------------------------
as kilntest1 ksub --wait --wrap 'exit 3' >/dev/null
is "an exit code comes back" "$?" 3
as kilntest1 ksub --wait --wrap 'kill -TERM $$' >/dev/null
is "so does a signal" "$?" 143
as kilntest1 ksub --wait -D /nonexistent --wrap true >/dev/null 2>"$cluster/err"
not_ok "a missing directory is an error" test $? -eq 0
as kilntest1 ksub --wait -o /nonexistent/out --wrap true >/dev/null
not_ok "an output file that cannot be written fails the job" test $? -eq 0
ln -s /etc/kiln-not-yours "$home/trap" && chown -h kilntest1: "$home/trap"
as kilntest1 ksub --wait -o trap --wrap 'echo x' >/dev/null
not_ok "nor is one written through a link that the user may not follow" \
    test -e /etc/kiln-not-yours

id=$(as kilntest1 ksub --parsable -t 0:02 --wrap 'sleep 60')
ok "a job past its time limit is ended" wait_for 45 state_is "$id" TimedOut

id=$(as kilntest1 ksub --parsable --wrap 'sleep 60')
ok "a job runs" wait_for 10 state_is "$id" Running
ok "it can be cancelled" as kilntest1 kctl cancel "$id"
ok "and then it is gone from the node" \
    wait_for 40 sh -c "! pgrep -u kilntest1 sleep"

# --- waiting ------------------------------------------------------------------
id=$(as kilntest1 ksub --parsable -H --wrap true)
ok "a held job waits" wait_for 5 state_is "$id" Held
ok "it is released" as kilntest1 kctl release "$id"
ok "and runs" wait_for 10 state_is "$id" Completed
id=$(as kilntest1 ksub --parsable --begin now+2 --wrap true)
not_ok "a job does not start before its time" state_is "$id" Completed
ok "but then" wait_for 15 state_is "$id" Completed
is_short_of_cpus() { admin why "$1" | grep -q 'Insufficient cpu'; }
id=$(as kilntest1 ksub --parsable -c 9999 --wrap true)
ok "a job that fits nowhere waits" \
    wait_for 10 is_short_of_cpus "$id"
as kilntest1 kctl cancel "$id" >/dev/null

# --- before a job and after it --------------------------------------------------
# hook NAME: what it is told, into log/hooks; it fails while there is
# broken-NAME, and takes long while there is slow-NAME.
hook() {
    cat >"$cluster/$1" <<TXT
#!/bin/sh
[ ! -e "$cluster/broken-$1" ] || { echo "the fan has stopped" >&2; exit 3; }
[ ! -e "$cluster/slow-$1" ] || { echo \$\$ >"$cluster/waits-$1"; exec sleep 1000; }
echo "\$KILN_HOOK \$KILN_JOB_ID \$KILN_JOB_USER \$(id -u) \$KILN_JOB_EXIT_CODE" \
    >>"$cluster/log/hooks"
TXT
    chmod 755 "$cluster/$1"
}
hook prolog
hook epilog
agent_with_hooks() {
    cluster_agent n1 --prolog "$cluster/prolog" --epilog "$cluster/epilog"
}
is_drained() { admin get node n1 -o yaml | grep -q 'kiln.hpc/hook-failed'; }
is_mended() { ! is_drained; }
was_tried() { admin get pods | grep -q "^job-$1-0 .*PrologFailed"; }
stop n1
agent_with_hooks
id=$(as kilntest1 ksub --parsable --wait --wrap 'exit 6')
is "prolog and epilog run as root and know the job" \
    "$(cat "$cluster/log/hooks")" "prolog $id kilntest1 0 
epilog $id kilntest1 0 6"
touch "$cluster/broken-prolog"
id=$(as kilntest1 ksub --parsable --requeue --wrap 'echo ran >>ran')
ok "a job whose prolog fails has not run" wait_for 20 was_tried "$id" ||
    admin get pods | note
ok "its node gets no more" wait_for 20 is_drained
like "and says why" "$(admin get node n1 -o yaml)" 'the fan has stopped'
# Another try may have come before the taint.
all_have_ended() {
    admin get pods -o json | jq -e 'all(.items[]; .spec.nodeName == null or
        .status.phase == "Failed" or .status.phase == "Succeeded")'
}
wait_for 20 all_have_ended
rm "$cluster/broken-prolog"
stop n1
agent_with_hooks
ok "mended, and its agent restarted, it does" wait_for 20 is_mended
ok "and the job that was requeued runs" wait_for 30 state_is "$id" Completed
is "once" "$(cat "$home/ran")" ran
touch "$cluster/slow-prolog"
id=$(as kilntest1 ksub --parsable --wrap 'echo ran >>ran')
wait_for 20 test -s "$cluster/waits-prolog"
rm "$cluster/slow-prolog"
as kilntest1 kctl cancel "$id" >/dev/null
ok "a job that is cancelled during its prolog ends with it" \
    wait_for 20 state_is "$id" Cancelled
epilog_ran() { grep -q "^epilog $id " "$cluster/log/hooks"; }
ok "its epilog is run" wait_for 20 epilog_ran
is "it never was" "$(cat "$home/ran")" ran
ok "and its node is none the worse" is_mended
touch "$cluster/slow-prolog"
rm "$cluster/waits-prolog"
id=$(as kilntest1 ksub --parsable --wrap 'echo ran >>ran')
wait_for 20 test -s "$cluster/waits-prolog"
rm "$cluster/slow-prolog"
stop n1 KILL
kill -KILL "$(cat "$cluster/waits-prolog")"
wait_for 20 epilog_ran
agent_with_hooks
ok "a prolog that failed while the agent was away has failed" \
    wait_for 20 was_tried "$id"
is "without the job" "$(cat "$home/ran")" ran
ok "which is not held against the node" as kilntest1 ksub --wait --wrap true
ok "at all" is_mended
finish
