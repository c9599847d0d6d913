#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGHUP changes what may change in a running controller, says what has to wait
# for a restart, and with a mistake in the file changes nothing.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged curl
[ "$(id -u)" -eq 0 ] || skip_all "only root can act for other users"
cluster_begin
need kiln-controller kctl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge

configure() { printf '%b\n' "$1" >"$cluster/etc/controller.yaml"; }
log_says() { grep -Eq "$1" "$cluster/log/controller"; }
# How often the log says it.
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
not_ok "an ordinary user makes no namespaces" may_administer first

configure 'administrators: [kilntest1]\nlogLevel: info\nnodeGrace: 1m'
ok "the controller reloads on SIGHUP, its new log level holds" \
    reload 'configuration was reloaded'
ok "and goes on running" cluster_is_ready
ok "a new administrator is one at once" may_administer second
ok "what waits for a restart is named" log_says 'nodeGrace has changed.*started again'

configure 'administrators: [nobody-there]'
ok "a mistake is told with file, line and key" \
    reload 'controller.yaml:1: administrators: no user .nobody-there'
ok "and that nothing changed" wait_for 20 log_says 'reloading changed nothing'
ok "and nothing did" may_administer third

configure 'bogus: 1'
ok "so is an unknown key" reload 'controller.yaml:1: bogus: unknown key'
configure '{}'
for _ in 1 2 3 4 5; do signal controller HUP; done
ok "many reloads are one after the other" reload 'configuration was reloaded'
not_ok "who administers no longer is refused" may_administer fourth
stop controller
is "a reloaded controller stops in order" "$stopped_with" 0
finish
