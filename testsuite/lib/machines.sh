# SPDX-License-Identifier: Apache-2.0
# machines.sh - machines that share a kernel: each has its own network, name,
# processes, /etc, /var/lib, /var/log and /run, and a systemctl (systemctl.py). Source
# it after cluster.sh and netns.sh.
#
#   machines_begin
#   machine head1 1             its number is that of its address
#   machine_boot head1          starts the units that are enabled there
#   on head1 COMMAND...
#   machine_lose head1          its power fails: nobody hears another word
#
# Clients and agents find all machines by their names, in /etc/hosts.

# shellcheck shell=sh
# shellcheck disable=SC2154 # cluster.sh, netns.sh

machines=

machines_begin() {
    need nsenter unshare ip python3
    netns_begin
    trap 'machines_status=$?; machines_end; netns_end; (exit "$machines_status"); cluster_end' EXIT
    mkdir "$cluster/machines" "$cluster/machines/bin"
    cp "$top_srcdir/testsuite/lib/systemctl.py" "$cluster/machines/bin/systemctl"
    chmod 755 "$cluster/machines/bin/systemctl"
    # Packages are there already.
    printf '#!/bin/sh\n' >"$cluster/machines/bin/apt-get"
    # Copies FILE to MACHINE:FILE; as with scp -p, the user does not follow.
    cat >"$cluster/machines/bin/scp" <<SH
#!/bin/sh
[ "\$1" = -p ] && shift
to=$cluster/machines/\${2%%:*}\${2#*:}
cp -p "\$1" "\$to" && chown root: "\$to"
SH
    chmod 755 "$cluster/machines/bin/apt-get" "$cluster/machines/bin/scp"
    cat >"$cluster/machines/init" <<'SH'
set -e
mount --bind "$1/etc" /etc
mount --bind "$2" /etc/hosts
mount --bind "$1/var/lib" /var/lib
mount --bind "$1/var/log" /var/log
mount -t tmpfs -o mode=755 tmpfs /run
install -d -m 755 /run/units /run/munge /run/lock
hostname "${1##*/}"
touch /run/booted
set +e
while :; do
    sleep 1 &
    wait # for whoever has no parent any more, too
done
SH
}

# machine NAME NUMBER: a machine that is off, with the files of this one in /etc.
machine() {
    machine_files=$cluster/machines/$1
    mkdir -p "$machine_files/var/lib" "$machine_files/var/log"
    chmod 755 "$machine_files" "$machine_files/var" "$machine_files/var/lib" "$machine_files/var/log"
    cp -a /etc "$machine_files/etc"
    rm -rf "$machine_files/etc/systemd/system"
    mkdir -p "$machine_files/etc/systemd/system"
    echo "$1" >"$machine_files/etc/hostname"
    netns_add "$1" "$2"
    echo "$2" >"$machine_files/number"
    machines="$machines $1"
}

machine_boot() {
    machine_space=$netns_bridge-$(cat "$cluster/machines/$1/number")
    ip -n "$machine_space" link set eth0 up
    start "$1" ip netns exec "$machine_space" unshare --mount --uts --pid --fork --kill-child \
        --mount-proc sh "$cluster/machines/init" "$cluster/machines/$1" "$cluster/hosts"
    wait_for 20 on "$1" test -e /run/booted || bail_out "the machine $1 does not start"
    on "$1" systemctl boot
}

# on NAME COMMAND...: runs the command there, as root.
on() {
    on_pid=$(pid_of "$1")
    on_init=$(cat "/proc/$on_pid/task/$on_pid/children") && [ -n "$on_init" ] || return
    # shellcheck disable=SC2086 # one word, with a space
    set -- $on_init "$@"
    on_init=$1
    shift 2
    (
        unset KILN_CONFIG KILN_ABORT_ON_FAULT
        PATH=$cluster/machines/bin:$PATH HOME=/root exec nsenter --target "$on_init" \
            --mount --uts --pid --net --wd=/ "$@"
    )
}

# The line goes first: processes that end would close their connections.
machine_lose() {
    ip -n "$netns_bridge-$(cat "$cluster/machines/$1/number")" link set eth0 down
    stop "$1" KILL
}

machines_end() {
    for machine in $machines; do
        [ "$tap_failed" -eq 0 ] || for machine_log in "$cluster/machines/$machine"/var/log/*.log; do
            cp "$machine_log" "$cluster/log/$machine-${machine_log##*/}" 2>/dev/null
        done
        is_running "$machine" && stop "$machine" KILL
    done
}
