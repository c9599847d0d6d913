#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job from its submission to its end: ksub submits a script, a process of the
# user runs on allocated cores, and the job's output and exit code are
# returned.

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

# Root is administrator only through the controller's own socket.
home=$cluster/home/kilntest1
node_is_ready() { admin get nodes | grep -qw Ready; }
ok "the node registers" wait_for 10 node_is_ready

write() { # FILE: writes standard input to the file
    cat >"$home/$1" && chown kilntest1: "$home/$1"
}
id_of() { echo "${1##* }"; }
state_is() { # ID STATE
    admin get job "$1" --no-headers | grep -qw "$2"
}

# --- what a job gets ----------------------------------------------------------
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
is "ksub --wait exits with the job's exit status" "$?" 0
like "ksub prints the job's ID" "$submitted" '^Submitted job [0-9]+$'
id=$(id_of "$submitted")
out=$(cat "$home/kiln-$id.out")
like "the script has its arguments" "$out" '^arguments: one two words$'
like "it runs as the user, in the directory of submission" "$out" \
    "^user: kilntest1 umask: [0-7]+ directory: $home\$"
like "it has variables with its ID, name and node" \
    "$out" "^id: $id name: pinned node: n1\$"
like "it has a variable with the number of threads" "$out" '^threads: 1$'
like "it has the environment of its submission" "$out" '^mine: kept$'
like "it has a TMPDIR of its own" "$out" '^tmpdir: yes$'
cpus=$(echo "$out" | sed -n 's/^cpus: //p')
like "it has a variable with one CPU" "$cpus" '^[0-9]+$'
if [ "$(nproc)" -gt 1 ]; then
    is "the process is bound to that CPU" \
        "$(echo "$out" | sed -n 's/^allowed: //p')" "$cpus"
else
    skip "the process is bound to that CPU" "this machine has one CPU"
fi
is "kctl logs prints the same output" "$(as kilntest1 kctl logs "$id")" "$out"
like "the job is complete" "$(as kilntest1 kctl get job "$id")" 'Completed'

# --- how jobs end -------------------------------------------------------------
as kilntest1 ksub --wait --wrap 'exit 3' >/dev/null
is "an exit code is returned" "$?" 3
as kilntest1 ksub --wait --wrap 'kill -TERM $$' >/dev/null
is "the signal is returned as 128 plus its number" "$?" 143
as kilntest1 ksub --wait -D /nonexistent --wrap true >/dev/null 2>"$cluster/err"
not_ok "a missing directory is an error" test $? -eq 0
as kilntest1 ksub --wait -o /nonexistent/out --wrap true >/dev/null
not_ok "a job with an output file that cannot be written fails" test $? -eq 0
ln -s /etc/kiln-not-yours "$home/trap" && chown -h kilntest1: "$home/trap"
as kilntest1 ksub --wait -o trap --wrap 'echo x' >/dev/null
not_ok "a link that the user may not follow is not written through" \
    test -e /etc/kiln-not-yours

id=$(as kilntest1 ksub --parsable -t 0:02 --wrap 'sleep 60')
ok "a job is ended at its time limit" wait_for 45 state_is "$id" TimedOut

# Another test on this machine may have jobs of this user, too.
id=$(as kilntest1 ksub --parsable --wrap "sleep 60.0$$")
ok "a job runs" wait_for 10 state_is "$id" Running
ok "the running job can be cancelled" as kilntest1 kctl cancel "$id"
ok "its processes are then gone from the node" \
    wait_for 40 sh -c "! pgrep -u kilntest1 -fx 'sleep 60.0$$'"

# --- waiting ------------------------------------------------------------------
id=$(as kilntest1 ksub --parsable -H --wrap true)
ok "a job that is submitted with -H is held" wait_for 5 state_is "$id" Held
ok "the held job can be released" as kilntest1 kctl release "$id"
ok "the released job runs" wait_for 10 state_is "$id" Completed
begin=$(($(date +%s) + 3))
id=$(as kilntest1 ksub --parsable --begin "$(date -u -d "@$begin" +%FT%TZ)" \
    -o "$cluster/home/kilntest1/began" --wrap 'date +%s')
ok "a job with a begin time runs" wait_for 15 state_is "$id" Completed
ok "it has not started before its time" \
    [ "$(cat "$cluster/home/kilntest1/began")" -ge "$begin" ]
is_short_of_cpus() { admin why "$1" | grep -q 'Insufficient cpu'; }
id=$(as kilntest1 ksub --parsable -c 9999 --wrap true)
ok "a job that fits nowhere waits" \
    wait_for 10 is_short_of_cpus "$id"
as kilntest1 kctl cancel "$id" >/dev/null

# --- prolog and epilog --------------------------------------------------------
# hook NAME: makes a hook that writes its variables into log/hooks. The hook
# fails while the file broken-NAME exists, and takes long while slow-NAME
# exists.
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
is "prolog and epilog run as root with variables about the job" \
    "$(cat "$cluster/log/hooks")" "prolog $id kilntest1 0 
epilog $id kilntest1 0 6"
touch "$cluster/broken-prolog"
id=$(as kilntest1 ksub --parsable --requeue --wrap 'echo ran >>ran')
ok "a job whose prolog fails has not run" wait_for 20 was_tried "$id" ||
    admin get pods | note
ok "its node is drained" wait_for 20 is_drained
like "the node says why" "$(admin get node n1 -o yaml)" 'the fan has stopped'
# The job may have been tried again before the node had its taint.
all_have_ended() {
    admin get pods -o json | jq -e 'all(.items[]; .spec.nodeName == null or
        .status.phase == "Failed" or .status.phase == "Succeeded")'
}
wait_for 20 all_have_ended
rm "$cluster/broken-prolog"
stop n1
agent_with_hooks
ok "the taint is removed after the prolog is repaired and the agent restarted" \
    wait_for 20 is_mended
ok "the requeued job completes" wait_for 30 state_is "$id" Completed
is "the script has run once" "$(cat "$home/ran")" ran
touch "$cluster/slow-prolog"
id=$(as kilntest1 ksub --parsable --wrap 'echo ran >>ran')
wait_for 20 test -s "$cluster/waits-prolog"
rm "$cluster/slow-prolog"
as kilntest1 kctl cancel "$id" >/dev/null
ok "a job can be cancelled while its prolog runs" \
    wait_for 20 state_is "$id" Cancelled
epilog_ran() { grep -q "^epilog $id " "$cluster/log/hooks"; }
ok "its epilog is run" wait_for 20 epilog_ran
is "its script has not run" "$(cat "$home/ran")" ran
ok "its node is not drained" is_mended
touch "$cluster/slow-prolog"
rm "$cluster/waits-prolog"
id=$(as kilntest1 ksub --parsable --wrap 'echo ran >>ran')
wait_for 20 test -s "$cluster/waits-prolog"
rm "$cluster/slow-prolog"
stop n1 KILL
kill -KILL "$(cat "$cluster/waits-prolog")"
wait_for 20 epilog_ran
agent_with_hooks
ok "a prolog that was killed while no agent ran has failed" \
    wait_for 20 was_tried "$id"
is "the job's script has not run" "$(cat "$home/ran")" ran
ok "the node still runs jobs" as kilntest1 ksub --wait --wrap true
ok "the node is not drained" is_mended
finish
