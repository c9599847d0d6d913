#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Attacks on a job's TMPDIR: nobody can find it, create it in advance, or
# occupy a core by adding files to it without end.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
[ "$(id -u)" -eq 0 ] || skip_all "only root runs jobs of several users"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2 || skip_all "only root can make users"
cluster_munge

node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
home=$cluster/home/kilntest1
directory "$cluster/tmp" 1777
agent() {
    cluster_agent n1 --topology 'package:1 core:1 pu:1' \
        --heartbeat 500ms --tmp-dir "$cluster/tmp"
}
cluster_controller
agent
wait_for 20 node_is_ready || bail_out "no node"
admin taint node n1 kiln.hpc/virtual- >/dev/null

# Submits a job that writes the path of its TMPDIR and waits until it may end.
begin_job() {
    as kilntest1 rm -f go place
    job=$(as kilntest1 ksub --parsable --wrap "mkdir \$TMPDIR/sub; \
echo \$TMPDIR >part; mv part place; until [ -e $home/go ]; do sleep 0.2; done")
    wait_for 20 test -e "$home/place" || bail_out "the job does not begin"
    place=$(cat "$home/place")
}

# --- the name of TMPDIR -------------------------------------------------------
begin_job
uid=$(admin get pods -o json | jq -r '.items[0].metadata.uid')
like "the name of a TMPDIR has 128 bits" "$place" \
    "^$cluster/tmp/kiln-[0-9a-f]+/[0-9a-f]{32}\$"
unlike "its name is not the uid of the pod" \
    "$(printf '%s' "$place" | tr -d -)" \
    "$(printf '%s' "$uid" | tr -d -)"
not_ok "other users cannot list the directory that contains it" \
    as kilntest2 ls "${place%/*}"
not_ok "other users cannot create files there" \
    as kilntest2 mkdir "${place%/*}/mine"
not_ok "other users cannot list the TMPDIR" as kilntest2 ls "$place"
not_ok "its own user cannot list the directory that contains it either" \
    as kilntest1 ls "${place%/*}"

# --- a process adds files without end -----------------------------------------
# Two processes outside of the job add files: each in a directory that it has
# open, deeper and deeper, as fast as it can.
cat >"$home/adder" <<'EOF'
#!/bin/sh
cd "$1/sub" || exit 1
echo $$ >"$2"
n=0
while n=$((n + 1)) && [ ! -e "$3" ]; do
    mkdir "d$n" && : >"d$n/file" && cd "d$n"
    [ -d . ] || exit 0
done
EOF
chmod 755 "$home/adder"
as kilntest1 sh -c "'$home/adder' '$place' '$home/one' '$home/stop' \
    2>/dev/null & '$home/adder' '$place' '$home/two' '$home/stop' 2>/dev/null" &
adders=$!
wait_for 10 test -e "$home/two"
as kilntest1 touch go
ok "a job ends while other processes add files to its TMPDIR" \
    wait_for 20 state_is "$job" Completed
is_gone() { [ ! -e "$place" ]; }
ok "the TMPDIR no longer exists at its path" wait_for 10 is_gone
job=$(as kilntest2 ksub --parsable --wrap true)
ok "a job of another user can use the only core" \
    wait_for 20 state_is "$job" Completed
as kilntest1 touch stop
wait "$adders"
is_swept() {
    [ "$(find "$cluster/tmp" -mindepth 2 -maxdepth 3 ! -name .gone |
        wc -l)" -eq 0 ]
}
ok "nothing of the TMPDIR is left in the end" wait_for 20 is_swept

# --- another user creates the directory again ---------------------------------
stop n1 KILL
parent=$(cat "$cluster/n1/state/tmp-dirs")
rmdir "$parent/.gone" "$parent"
as kilntest2 mkdir "$parent"
as kilntest2 chmod 777 "$parent"
agent
begin_job
unlike "a parent directory that another user has made is not used" \
    "$place" "^$parent/"
as kilntest1 touch go
ok "jobs run all the same" wait_for 20 state_is "$job" Completed

# --- an agent that was killed -------------------------------------------------
begin_job
: >"${place%/*}/stray"
mkdir "${place%/*}/leftover"
stop n1 KILL
agent
is_collected() { [ ! -e "${place%/*}/leftover" ]; }
ok "the next agent removes what a killed agent left" wait_for 20 is_collected
ok "it does not remove the TMPDIR of a running job" test -d "$place/sub"
as kilntest1 touch go
ok "the running job completes" wait_for 20 state_is "$job" Completed
ok "the TMPDIR of that job is removed with it" wait_for 10 is_gone
finish
