#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pam_kiln admits to a node who has a running job there, tells the others why not, and puts
# the session into the job's cgroup, with which it ends.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
program=${top_builddir:-.}/testsuite/cluster/pam_session
module=${top_builddir:-.}/pam_kiln.so
if [ ! -x "$program" ] || [ ! -f "$module" ]; then
    skip_all "pam_kiln is not built (Debian package libpam0g-dev)"
fi
cp "$module" "$program" "$cluster/bin/"
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller
agent() { cluster_agent n1 --topology 'package:1 core:8 pu:1' --cgroup-base "/kiln-login-$$"; }
agent
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done

# service [OPTION...]: the login of this node, with these options of the module.
service() {
    mkdir -p "$cluster/pam"
    for type in account session; do
        echo "$type required $cluster/bin/pam_kiln.so socket=$cluster/n1/state/steps $*"
    done >"$cluster/pam/login"
}
login() { # USER COMMAND...
    pam_session "$cluster/pam" "$@" 2>&1 || echo "status $?"
}
refused="access denied: you have no running job on n1; see ksub(1)
status 3"

service
is "without a job there is no login, and the reason is told" "$(login kilntest1 true)" "$refused"
is "root is admitted" "$(login root echo here)" here
service exempt=kilntest1,@nosuchgroup
is "so is a user who is exempt" "$(login kilntest1 echo here)" here
is "... but no other" "$(login kilntest2 true)" "$refused"
service "exempt=@$(id -gn kilntest2)"
is "... and the members of a group" "$(login kilntest2 echo here)" here
service quiet
is "a module that shall be quiet says nothing" "$(login kilntest1 true)" "status 3"
service away=maybe
is "an argument that is none admits nobody" "$(login root true)" "status 3"
service

first=$(submit -o /dev/null --wrap 'sleep 1000')
wait_for 20 state_is "$first" Running || bail_out "the job does not run"
is "who has a job is admitted" "$(login kilntest1 id -un)" kilntest1
is "... and nobody else" "$(login kilntest2 true)" "$refused"

second=$(submit -o "$cluster/home/kilntest1/cgroup" --wrap 'cat /proc/self/cgroup; sleep 1000')
wait_for 20 state_is "$second" Running || bail_out "the job does not run"
wait_for 10 test -s "$cluster/home/kilntest1/cgroup"
kiln_only() { grep "kiln-login-$$" | sed 's/^[0-9]*://' | sort; }
is "the session is in the cgroup of the newest job" \
    "$(login kilntest1 cat /proc/self/cgroup | kiln_only)" "$(kiln_only <"$cluster/home/kilntest1/cgroup")"
if [ -n "$(kiln_only <"$cluster/home/kilntest1/cgroup")" ]; then
    login kilntest1 sleep 7654 >"$cluster/session" &
    session=$!
    sleeps() { pgrep -u kilntest1 -fx 'sleep 7654' >/dev/null; }
    ok "a session goes on" wait_for 10 sleeps
    as kilntest1 kctl cancel "$second" >/dev/null
    wait "$session"
    ok "... until its job ends" eval '! sleeps'
    wait_for 20 state_is "$second" Cancelled
else
    skip "a session goes on" "no cgroup can be used here"
    as kilntest1 kctl cancel "$second" >/dev/null
fi
is "another job of the user still admits" "$(login kilntest1 echo here)" here

ask_as() { # USER TEXT: what the agent answers to the question of the module
    as "$1" python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
t = sys.argv[2].encode()
s.sendall(bytes([0, 0, 0, len(t), int(sys.argv[3]), 0, 0, 0, 255, 255, 255, 255]) + t)
print(s.makefile("rb").read()[12:].decode())' "$cluster/n1/state/steps" "$2" "$enter"
}
enter=$(awk '/^enum step_frame_type/ { is_in = 1 } is_in && /STEP_FRAME_/ { n++ }
    /STEP_FRAME_ENTER,/ { print n; exit }' "$top_srcdir/src/lib/step/step_frames.h")
is "no user may ask who has jobs here" "$(ask_as kilntest2 "$(id -u kilntest1)")" \
    "only root of this node may ask who has jobs here"

stop n1
like "without an agent there is no login" "$(login kilntest1 true)" \
    "access denied: the agent of this node does not answer at '$cluster/n1/state/steps'"
service away=admit
is "... unless the site wants it" "$(login kilntest1 echo here)" here
ok "the job was not disturbed" wait_for 10 state_is "$first" Running
finish
