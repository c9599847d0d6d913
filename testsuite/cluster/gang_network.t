#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Four nodes with networks of their own: a job reaches every host of its host
# file by its name.

# shellcheck disable=SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/netns.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl ksub jq python3
cluster_user kilntest1 || skip_all "only root can make users"
python=$(PATH=/usr/bin:/bin command -v python3) || skip_all "users cannot run python3 here"
netns_begin
cluster_munge
cluster_controller --socket "$cluster/socket"
for number in 1 2 3 4; do
    netns_agent "n$number" "$number" --topology "package:1 core:4 pu:1"
done
ready() { root wait --for condition=Ready node n1 n2 n3 n4 --timeout 1s; }
ok "four agents with networks of their own register" wait_for 40 ready ||
    bail_out "not all nodes register"
for number in 1 2 3 4; do
    for key in $(root get node "n$number" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "n$number" "$key-" >/dev/null
    done
done

home=$cluster/home/kilntest1
cat >"$home/listen.py" <<'P'
import os, socket
s = socket.create_server(('', 7000))
while True:
    c, _ = s.accept()
    c.sendall(f"{socket.gethostname()} is node {os.environ['KILN_NODEID']}\n".encode())
    c.close()
P
cat >"$home/reach.py" <<'P'
import socket, sys
for host in sys.argv[1:]:
    with socket.create_connection((host, 7000), timeout=20) as c:
        print(host, 'says', c.makefile().readline().strip())
P
chmod 644 "$home"/*.py
id=$(as kilntest1 ksub -D "$home" --parsable -N 4 --per-node -t 5 \
    --wrap "exec $python $home/listen.py")
is_running() { as kilntest1 kctl jobs --no-headers | grep -w "^ *$1" | grep -q Running; }
ok "a job that listens on four nodes runs" wait_for 40 is_running "$id" ||
    note "$(as kilntest1 kctl why "$id"; as kilntest1 kctl logs "$id"; as kilntest1 kctl jobs)"
sleep 1
cat >"$home/reach.sh" <<S
#!/bin/sh
#KSUB -N 4 -n 8 -t 5 -o reached
hostname
exec $python $home/reach.py \$(cut -d ' ' -f 1 "\$KILN_HOSTFILE")
S
ok "the script of a job of four nodes ends" as kilntest1 ksub -D "$home" --wait --quiet "$home/reach.sh"
is "... having reached every host of its host file by its name" "$(cat "$home/reached")" "n1
n1 says n1 is node 0
n2 says n2 is node 1
n3 says n3 is node 2
n4 says n4 is node 3"
as kilntest1 kctl cancel "$id" >/dev/null

finish
