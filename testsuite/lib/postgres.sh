# SPDX-License-Identifier: Apache-2.0
# postgres.sh - private PostgreSQL servers on loopback. Source it after
# cluster.sh, and call cluster_begin first.
#
#   postgres_primary pg1          a server with the database "kiln"
#   postgres_standby pg2 pg1      a copy that follows it
#   postgres_synchronous pg1 pg2  commits wait for the copy
#   postgres_follow pg1 pg2       after a promotion of pg2
#   cluster_store=$postgres_url   controllers of this test keep their store there
#
# The servers are daemons of the test: signal, stop and is_running know them. A
# server that is stopped with INT ends at once, with TERM when nobody uses it.

# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # cluster.sh

postgres_url=
postgres_hosts=

# Finds the programs, which Debian keeps out of $PATH; skips the test where there
# are none.
postgres_need() {
    need psql
    postgres_bin=$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V |
        tail -1)
    [ -n "$postgres_bin" ] || skip_all "PostgreSQL's server is missing (Debian package postgresql)"
    kiln-controller --state-dir "$cluster" --store postgresql://127.0.0.1:1/none --init 2>&1 |
        grep -q 'built without' && skip_all "the controller is built without PostgreSQL"
    postgres_user=$(id -un)
    [ "$(id -u)" -ne 0 ] || postgres_user=postgres
    install -d -m 755 -o "$postgres_user" "$cluster/postgres"
}

# The server refuses to run as root.
postgres_run() {
    if [ "$(id -u)" -eq 0 ]; then
        set -- setpriv --reuid "$postgres_user" --regid "$postgres_user" --clear-groups "$@"
    fi
    (cd / && exec "$@")
}

postgres_port_of() {
    cat "$cluster/postgres/$1.port"
}

# postgres_serve NAME: starts the server, or starts it again.
postgres_serve() {
    postgres_port=$(postgres_port_of "$1")
    # A function of the shell would be a process between the test and the server.
    if [ "$(id -u)" -eq 0 ]; then
        start "$1" setpriv --reuid "$postgres_user" --regid "$postgres_user" --clear-groups \
            "$postgres_bin/postgres" -D "$cluster/postgres/$1" -p "$postgres_port"
    else
        start "$1" "$postgres_bin/postgres" -D "$cluster/postgres/$1" -p "$postgres_port"
    fi
    wait_for 30 postgres_query "$1" 'SELECT 1' || bail_out "PostgreSQL '$1' does not start"
}

# Shared memory is in files of the server's folder, so a server that a test kills leaves
# none behind; of the segment that it has anyway, see postgres_end.
postgres_configure() {
    cat >>"$cluster/postgres/$1/postgresql.conf" <<EOF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
dynamic_shared_memory_type = mmap
fsync = off
wal_keep_size = 64MB
max_connections = 200
log_min_messages = warning
EOF
}

postgres_choose_port() {
    find_free_port
    echo "$free_port" >"$cluster/postgres/$1.port"
    postgres_hosts=$postgres_hosts${postgres_hosts:+,}127.0.0.1:$free_port
    postgres_url=postgresql://kiln@$postgres_hosts/kiln
}

# postgres_primary NAME: a server with the database "kiln", which its user "kiln"
# owns.
postgres_primary() {
    postgres_need
    postgres_run "$postgres_bin/initdb" -D "$cluster/postgres/$1" -A trust -E UTF8 --no-sync \
        >"$cluster/log/initdb" 2>&1 || bail_out "initdb: $(tail -1 "$cluster/log/initdb")"
    postgres_configure "$1"
    postgres_choose_port "$1"
    postgres_serve "$1"
    postgres_admin "$1" 'CREATE USER kiln' 'CREATE DATABASE kiln OWNER kiln'
}

# postgres_standby NAME PRIMARY: a server that follows the other.
postgres_standby() {
    postgres_choose_port "$1"
    postgres_follow "$1" "$2"
}

# postgres_follow NAME PRIMARY: the same for a server that has been the primary: its
# data are replaced.
postgres_follow() {
    rm -rf "$cluster/postgres/$1"
    postgres_run "$postgres_bin/pg_basebackup" -D "$cluster/postgres/$1" -R -X stream -c fast \
        -d "host=127.0.0.1 port=$(postgres_port_of "$2") user=$postgres_user application_name=$1" \
        >"$cluster/log/basebackup" 2>&1 || bail_out "$(tail -1 "$cluster/log/basebackup")"
    postgres_serve "$1"
}

# postgres_synchronous PRIMARY NAMES: commits wait until those have them; "":
# they wait for none.
postgres_synchronous() {
    postgres_admin "$1" "ALTER SYSTEM SET synchronous_standby_names = '$2'" \
        'SELECT pg_reload_conf()'
}

postgres_promote() {
    postgres_admin "$1" 'SELECT pg_promote()'
}

# postgres_admin NAME STATEMENT...: each statement, as the server's superuser.
postgres_admin() {
    postgres_name=$1
    shift
    for postgres_statement; do
        psql -qAtX -h 127.0.0.1 -p "$(postgres_port_of "$postgres_name")" -U "$postgres_user" \
            -d postgres -c "$postgres_statement" >>"$cluster/log/psql" 2>&1 ||
            bail_out "psql: $(tail -1 "$cluster/log/psql")"
    done
}

# postgres_query NAME QUERY: prints what the user "kiln" reads, or the superuser
# while there is no such database.
postgres_query() {
    psql -qAtX -h 127.0.0.1 -p "$(postgres_port_of "$1")" -U kiln -d kiln -c "$2" 2>/dev/null ||
        psql -qAtX -h 127.0.0.1 -p "$(postgres_port_of "$1")" -U "$postgres_user" -d postgres \
            -c "$2"
}

# A server that was killed leaves its pid file, whose seventh line has the key and the
# number of a segment of shared memory. Called by cluster_end.
postgres_end() {
    for postgres_pid_file in "$cluster"/postgres/*/postmaster.pid; do
        [ -f "$postgres_pid_file" ] || continue
        postgres_segment=$(sed -n '7s/^ *[0-9]* *//p' "$postgres_pid_file")
        [ -z "$postgres_segment" ] || ipcrm -m "$postgres_segment" 2>/dev/null
    done
}
