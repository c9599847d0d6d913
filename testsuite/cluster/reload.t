#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGHUP changes the settings of a running controller that can be changed, and
# names those that need a restart. If the file has an error, nothing is
# changed.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged curl
[ "$(id -u)" -eq 0 ] || skip_all "only root can act for other users"
cluster_begin
need kiln-controller kctl ksub
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge

configure() { printf '%b\n' "$1" >"$cluster/etc/controller.yaml"; }
log_says() { grep -Eq "$1" "$cluster/log/controller"; }
# Prints how often the log says it.
count_of() { grep -Ec "$1" "$cluster/log/controller"; }
says_once_more() { [ "$(count_of "$1")" -gt "$said_before" ]; }
reload() { # UNTIL-THE-LOG-SAYS
    said_before=$(count_of "$1")
    signal controller HUP
    wait_for 20 says_once_more "$1"
}
may_administer() { as kilntest1 kctl create namespace "$1"; }

configure 'logLevel: error'
cluster_controller --config "$cluster/etc/controller.yaml"
not_ok "an ordinary user cannot create namespaces" may_administer first

configure 'administrators: [kilntest1]\nlogLevel: info\nnodeGrace: 1m'
ok "the controller reloads on SIGHUP, and uses its new log level" \
    reload 'configuration was reloaded'
ok "the controller still runs" cluster_is_ready
ok "a new administrator has rights at once" may_administer second
ok "a setting that needs a restart is named" \
    log_says 'nodeGrace has changed.*is restarted'
is "no setting that has not changed is named" \
    "$(count_of ' has changed; the change takes effect')" 1

configure 'administrators: [nobody-there]'
ok "an error is reported with file, line and key" \
    reload 'controller.yaml:1: administrators: no user .nobody-there'
ok "the log says that nothing was changed" \
    wait_for 20 log_says 'reloading changed nothing'
ok "the administrator still has rights" may_administer third

configure 'bogus: 1'
ok "an unknown key is reported" reload 'controller.yaml:1: bogus: unknown key'
configure '{}'
for _ in 1 2 3 4 5; do signal controller HUP; done
ok "many reloads are done one after the other" \
    reload 'configuration was reloaded'
not_ok "a user who is no administrator any more has no rights" \
    may_administer fourth

# A node that no agent reports counts: nodes that are down come back.
kctl create -f - >/dev/null <<'TXT'
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi}}
TXT
large() { as kilntest1 ksub -c 1000 "$@" --wrap true 2>&1; }
words="no node has 1000 CPUs; the nearest, n1, has 4 CPUs"
like "a job that no node could run is accepted with a warning" "$(large)" \
    "^ksub: warning: the job can never run: $words$"
configure 'impossible: refuse'
reload 'configuration was reloaded'
like "after a reload with impossible: refuse, it is refused" "$(large)" \
    "Impossible: $words$"
configure 'impossible: accept'
reload 'configuration was reloaded'
is "with impossible: accept, nothing is said" "$(large --parsable)" 2

stop controller
is "a reloaded controller stops with exit status 0" "$stopped_with" 0
finish
