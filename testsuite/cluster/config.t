#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An error in a configuration is reported with file, line and key, both by
# --check-config and at the start, before anything else is done.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need kiln-controller kiln-agent kctl
cd "$cluster" || bail_out "no directory"

# wrong PROGRAM WORDS: checks that PROGRAM refuses c.yaml with a message that
# matches WORDS.
wrong() {
    wrong_said=$("$1" --check-config --config c.yaml 2>&1)
    is "$1 refuses $(tr '\n' ' ' <c.yaml)" "$?" 78
    like "... and says where and why" "$wrong_said" "^$1: c.yaml:$2"
}
# each PROGRAM: reads lines "WORDS<tab>CONFIGURATION", where
#  stands for a new line.
each() {
    while IFS='	' read -r words text; do
        printf '%b\n' "$text" >c.yaml
        wrong "$1" "$words"
    done
}

each kiln-controller <<'TXT'
1: bogus: unknown key	bogus: 1
3: finished.maxCout: .*maxCount	cluster: a\nfinished:\n  maxCout: 3
1: listen: must be a list	listen: 127.0.0.1:6820
2: listen: .*'6820' is not HOST:PORT	listen:\n- "6820"
3: listen: .*'99999'	listen:\n- 127.0.0.1:0\n- 127.0.0.1:99999
1: administrators: no user 'nobody-there'	administrators: [root, nobody-there]
1: operators: no group 'nobody-there'	operators: ["@nobody-there"]
1: cluster: must not be empty	cluster: ""
1: stateDir: must not be empty	stateDir: ""
1: nodeGrace: .*'soon'	nodeGrace: soon
1: scheduler.config: reading '/nowhere'	scheduler: {config: /nowhere}
3: scheduler.featureGates: .*'Foo'	scheduler:\n  featureGates:\n    Foo: "true"
1: watchLog.bytes: .*not a size	watchLog: {bytes: lots}
1: minUid: .*not a number	minUid: few
1: allowRootJobs: must be true or false	allowRootJobs: perhaps
1: logLevel: .*not one of	logLevel: loud
TXT
each kiln-agent <<'TXT'
1: controller: .*unknown scheme	controller: head
1: controller: .*port	controller: http://head:99999
1: serviceUser: no user 'nobody-there'	serviceUser: nobody-there
1: nodeName: 'Bad_Name'	nodeName: Bad_Name
3: labels: 'bad key=x'	labels:\n  a: b\n  bad key: x
1: tmpDir: .*does not begin with	tmpDir: tmp
1: cgroupBase: .*does not begin with	cgroupBase: jobs
1: topology: 	topology: "package:x"
1: reserved.cpus: 	reserved: {cpus: "0-"}
2: reserved.memory: 'lots'	reserved:\n  memory: lots
1: shepherd: '/nowhere'	shepherd: /nowhere
1: maxPods: .*not a number	maxPods: -1
1: heartbeat: .*not a time	heartbeat: -1s
TXT
echo 'listen: [x]' >c.yaml
like "a start reports the error in the same way" \
    "$(kiln-controller --state-dir state --config c.yaml 2>&1)" \
    '^kiln-controller: c.yaml:1: listen: '
not_ok "nothing is created" test -e state
like "an error in an option is reported with the option's name" \
    "$(kiln-controller --state-dir state --listen x 2>&1)" '--listen: .*HOST:PORT'
ok "--init creates a state directory" kiln-controller --state-dir state --init
echo precious >file
not_ok "a file in the place of the socket is refused" \
    kiln-controller --state-dir state --socket "$cluster/file"
is "the file is kept" "$(cat file)" precious

printf 'cluster: a\nservr: x\n' >client.yaml
like "clients report file, line and key, too" \
    "$(KILN_CONFIG=$cluster/client.yaml kctl get nodes 2>&1)" \
    "client.yaml:2: servr: .*did you mean 'server'"

# --- --conformance, for recorded exchanges only -------------------------------
said=$(timeout 20 kiln-controller --conformance --state-dir "$cluster/tried" \
    --listen 0.0.0.0:0 2>&1)
is "--conformance is refused on an address that other machines can reach" \
    "$?" 78
like "the message says why" \
    "$said" "listen: '0.0.0.0:0' .*from other machines.*127.0.0.1"
said=$(timeout 20 kiln-controller --conformance --state-dir "$cluster/tried" \
    --listen-tls '[::]:0' 2>&1)
is "--conformance is refused for TLS on such an address, too" "$?" 78
find_free_port
start conforming kiln-controller --conformance --state-dir "$cluster/tried" \
    --listen "127.0.0.1:$free_port"
warns() { grep -q 'EVERYBODY .* IS AN ADMINISTRATOR' "$cluster/log/conforming"; }
ok "on another address, the log warns that everybody is an administrator" \
    wait_for 20 warns
code_of() {
    curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer conformance' \
        "http://127.0.0.1:$free_port/apis/$1"
}
is "a kind of Kubernetes is served" "$(code_of batch/v1/jobs)" 200
is "a kind that kube-apiserver does not have is absent" \
    "$(code_of metrics.k8s.io/v1beta1/nodes)" 404
stop conforming

# --- what a unit would refuse -------------------------------------------------
printf 'serviceUser: root\n' >c.yaml
said=$(kiln-agent --check-config --config c.yaml 2>&1)
is "an agent's configuration without a controller is refused" "$?" 78
like "the message says what is missing" "$said" \
    '^kiln-agent: controller: is required'
printf 'serviceUser: root\ncontroller: http://h:1\ncgroupBase: /mine\n' >c.yaml
like "a unit does not override cgroupBase in silence" "$(kiln-agent \
    --check-config --config c.yaml --cgroup-base /kiln.slice/x 2>&1)" \
    'cgroupBase in the configuration file has no effect: .*--cgroup-base /kiln'

# --- the name of a node -------------------------------------------------------
if [ "$(id -u)" -ne 0 ] || ! unshare --uts true 2>/dev/null; then
    skip "a host name with capitals becomes a node name in lower case" \
        "only root can change it"
    finish
    exit
fi
need munged
rm -r "$cluster/state"
cluster_munge
# shellcheck disable=SC2119 # no arguments of ours
cluster_controller
cat >"$cluster/bin/elsewhere" <<'SH'
#!/bin/sh
echo Node01 >/proc/sys/kernel/hostname && exec "$@"
SH
chmod 755 "$cluster/bin/elsewhere"
start agent unshare --uts elsewhere kiln-agent --controller "$cluster_url" \
    --cluster test --service-user "$(id -un)" --munge-socket "$munge_socket" \
    --state-dir "$cluster/agent" --run-dir "$cluster/run" \
    --topology 'package:1 core:2 pu:1' \
    --shepherd "$cluster/bin/kiln-shepherd"
is_there() { kctl --server "http+unix://$cluster/state/socket" get node node01; }
ok "a host name with capitals becomes a node name in lower case" \
    wait_for 20 is_there
finish
