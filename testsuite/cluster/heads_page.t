#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kiln-ha(7), typed literally: two heads and a third machine that votes, with Debian's
# etcd and Patroni. Then a head is lost with the leader and the primary, the primary
# alone, and the vote; each comes back. It takes minutes, so it runs only with
# `testsuite/run --long`, or by hand:
#
#   KILN_LONG=1 testsuite/one testsuite/cluster/heads_page.t

# shellcheck disable=SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/netns.sh"
. "$top_srcdir/testsuite/lib/machines.sh"
[ -n "$KILN_LONG" ] || skip_all "minutes of failovers: testsuite/run --long"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
need etcd patroni etcdctl patronictl psql openssl
/usr/bin/python3 -c "import etcd" 2>/dev/null || skip_all "python3-etcd is missing"
[ -d /usr/lib/postgresql/15/bin ] || skip_all "the page is about PostgreSQL 15, which is missing"
kiln-controller --state-dir "$cluster" --store postgresql://127.0.0.1:1/none --init 2>&1 |
    grep -q 'built without' && skip_all "the controller is built without PostgreSQL"
cluster_user kilntest1 || skip_all "only root can make users"
machines_begin
bin=$cluster/bin

# --- what the page takes for granted ------------------------------------------------
# unit NAME LINE...: a unit of Kiln, as it is installed.
install_unit() { # MACHINE NAME
    sed -E "s|/usr/local/s?bin/|$bin/|; s|--cgroup-base .*|--shepherd $bin/kiln-shepherd|" \
        "$top_builddir/etc/systemd/$2.service" >"$cluster/machines/$1/etc/systemd/system/$2.service"
}
number=0
for name in head1 head2 vote n1; do
    number=$((number + 1))
    machine "$name" "$number"
    files=$cluster/machines/$name
    chroot_of="$files/etc"
    cat >"$chroot_of/systemd/system/munge.service" <<UNIT
User=munge
ExecStart=/usr/sbin/munged --foreground --force
Restart=always
UNIT
    echo "kiln:x:987:987::/var/lib/kiln:/usr/sbin/nologin" >>"$chroot_of/passwd"
    echo "kiln:x:987:" >>"$chroot_of/group"
    mkdir -p "$chroot_of/kiln"
    cp "$top_srcdir"/etc/*.yaml "$chroot_of/kiln/"
    mkdir -p "$chroot_of/munge"
    [ -s "$cluster/munge.key" ] || head -c 128 /dev/urandom >"$cluster/munge.key"
    install -m 400 -o munge "$cluster/munge.key" "$chroot_of/munge/munge.key"
    install -d -o munge -m 700 "$files/var/lib/munge" "$files/var/log/munge"
    install -d -o etcd -m 700 "$files/var/lib/etcd"
    install -d -o postgres -m 755 "$files/var/lib/postgresql"
    install -d -o root -g postgres -m 1775 "$files/var/log/postgresql"
    install -d -o 987 -m 700 "$files/var/lib/kiln"
    install -d -m 711 "$files/var/lib/kiln-agent"
    for unit in kiln-controller kiln-agent; do install_unit "$name" "$unit"; done
    # Debian's package starts a server of its own.
    printf 'ExecStart=/bin/sleep infinity\n' >"$chroot_of/systemd/system/postgresql.service"
    # systemd makes these in /run for the units.
    cat >"$chroot_of/systemd/system/tmpfiles.service" <<'UNIT'
ExecStart=/bin/sh -c "install -d -o munge -m 755 /run/munge; install -d -o postgres -g postgres -m 2775 /run/postgresql; install -d -o 987 -m 755 /run/kiln; install -d -m 700 /run/kiln-agent"
UNIT
    mkdir -p "$chroot_of/systemd/enabled"
    touch "$chroot_of/systemd/enabled/munge" "$chroot_of/systemd/enabled/tmpfiles"
    machine_boot "$name"
    wait_for 20 on "$name" munge -n || bail_out "munge does not start on $name"
done

# --- the blocks of the page -------------------------------------------------------------
# A block whose first line names machines is typed there.
mkdir "$cluster/blocks"
awk -v folder="$cluster/blocks" '
    /^\.EX/ { on = 1; lines = 0; next }
    /^\.EE/ { if (file) close(file); on = 0; file = ""; next }
    on {
        gsub(/\\-/, "-"); gsub(/\\\(aq/, "\047"); gsub(/\\e/, "\\")
        if (++lines == 1 && sub(/^# on /, "")) {
            if ($0 ~ /each node/) $0 = "n1"
            gsub(/,|and/, " ")
            file = sprintf("%s/%02d", folder, ++n)
            print >(file ".on")
            close(file ".on")
        } else if (file) print >file
    }' "$top_srcdir/man/kiln-ha.7"
is "the page has blocks for each kind of machine" \
    "$(cat "$cluster"/blocks/*.on | tr -s ' ' '\n' | sort -u | tr '\n' ' ')" "head1 head2 n1 vote "

type_block() { # BLOCK
    typed=
    read -r typed_machines <"$1.on"
    for typed_on in $typed_machines; do
        on "$typed_on" timeout 200 sh -e "$1" >"$1.said.$typed_on" 2>&1 </dev/null &
        typed="$typed $!"
    done
    typed_status=0
    for typed_pid in $typed; do wait "$typed_pid" || typed_status=$?; done
    cat "$1".said.*
    return "$typed_status"
}
# A reader repeats this one.
has_copies() {
    on head1 patronictl -c /etc/patroni/config.yml list >"$cluster/list" 2>&1 &&
        grep -Eq 'Leader +\| running' "$cluster/list" &&
        grep -Eq 'Sync Standby +\| running' "$cluster/list"
}
for block in "$cluster"/blocks/[0-9][0-9]; do
    what="$(tail -n 1 "$block") (on $(cat "$block.on"))"
    case $what in
    *switchover* | *"handover head2"* | *"restart kiln-controller"*) continue ;; # below
    *"patronictl "*list*)
        ok "a database and its copy come up" wait_for 90 has_copies || bail_out "$(cat "$cluster/list")"
        continue
        ;;
    esac
    ok "typed: $what" type_block "$block" || bail_out "the page does not work"
done
here=head1
root() { on "$here" kctl "$@"; }
row_of() { root controllers --no-headers --no-wait | grep "^$1 "; }
leads() { row_of "$1" | grep -q Leading; }
waits() { row_of "$1" | grep -q Waiting; }
ok "the first head leads" wait_for 20 leads head1 || note "$(root controllers)"
ok "the second one waits" wait_for 20 waits head2 || note "$(root controllers)"
ok "the node is there" wait_for 60 root wait --for condition=Ready node n1 --timeout 1s
like "what is acknowledged is on two disks" "$(on head1 curl -s --unix-socket /run/kiln/socket \
    http://kiln/metrics)" '^kiln_store_copies 2$'

# --- a user who goes on all the time -------------------------------------------------------
home=$cluster/home/kilntest1
# shellcheck disable=SC2016 # for that shell
user() {
    on n1 setpriv --reuid kilntest1 --regid kilntest1 --init-groups env -i HOME="$home" \
        USER=kilntest1 LOGNAME=kilntest1 SHELL=/bin/sh PATH="$PATH" \
        sh -c 'cd "$HOME" && exec "$@"' _ "$@"
}
storm() {
    while [ -e "$cluster/storm" ]; do
        user ksub --parsable -J s --wrap "echo \$KILN_JOB_ID >>ran" >>"$cluster/ids" \
            2>>"$cluster/log/ksub" || echo "ksub: $?" >>"$cluster/failed"
        user kctl get jobs --no-headers >"$cluster/listed" 2>>"$cluster/log/kctl" ||
            echo "kctl: $?" >>"$cluster/failed"
        sleep 0.3
    done
}
: >"$cluster/ids"
touch "$cluster/storm"
storm &
storm_pid=$!
acknowledged() { wc -l <"$cluster/ids"; }
grows() { [ "$(acknowledged)" -gt "$((before + 2))" ]; }
goes_on() {
    before=$(acknowledged)
    wait_for 120 grows
}
ok "a user submits" goes_on

here=head2
ok "a head is lost, with the leader and the primary" machine_lose head1
ok "... and submissions go on" goes_on
ok "... the other head leads" wait_for 60 leads head2
machine_boot head1
copies_of() { # MACHINE
    on "$1" patronictl -c /etc/patroni/config.yml list >"$cluster/list" 2>&1
    grep -Eq 'Leader +\| running' "$cluster/list" &&
        grep -Eq 'Sync Standby +\| running' "$cluster/list"
}
ok "when it is back, the database has two copies" wait_for 120 copies_of head2 || note "$(cat "$cluster/list")"
ok "... and its controller waits" wait_for 60 waits head1

like "the controller of the first head leads again" \
    "$(root controllers handover head1 2>&1)" "handed over to .*head1"
here=head1
ok "... and the database is still on the other" wait_for 30 leads head1
ok "that one is lost with the primary" machine_lose head2
ok "... and submissions go on" goes_on
ok "... the leader is the same" leads head1
machine_boot head2
ok "when it is back, the database has two copies" wait_for 120 copies_of head1 || note "$(cat "$cluster/list")"
ok "... and its controller waits" wait_for 60 waits head2

ok "the third machine is lost" machine_lose vote
ok "... and submissions go on" goes_on
machine_boot vote

# Typed where the page says it.
block=$(grep -l switchover "$cluster"/blocks/[0-9][0-9])
ok "typed: $(tail -n 1 "$block") (on $(cat "$block.on"))" type_block "$block"
here=head2
ok "... and the other head leads" wait_for 60 leads head2
ok "... submissions go on" goes_on

# --- an update, head after head --------------------------------------------------------------
update=$(grep -l 'restart kiln-controller\|handover head2' "$cluster"/blocks/[0-9][0-9])
is "the page has three blocks for an update" "$(echo "$update" | wc -l)" 3
like "the first head leads before it" "$(root controllers handover head1 2>&1)" "handed over to .*head1"
here=head1
ok "... and the second one waits" wait_for 60 waits head2
# shellcheck disable=SC2086 # words
set -- $update
ok "typed: the head that waits is updated" type_block "$1"
ok "... it waits again" wait_for 60 waits head2
ok "typed: it gets the lead" type_block "$2"
here=head2
ok "... and leads" wait_for 60 leads head2
ok "typed: the other head is updated" type_block "$3"
ok "... and waits" wait_for 60 waits head1
ok "... submissions go on" goes_on

# --- what has become of it -------------------------------------------------------------------
rm "$cluster/storm"
wait "$storm_pid"
note "$(acknowledged) jobs were acknowledged"
all_ran() { [ "$(sort -u "$home/ran" | wc -l)" -ge "$(acknowledged)" ]; }
wait_for 120 all_ran
sort -u "$cluster/ids" >"$cluster/sorted"
empty "every acknowledged job has run" "$(sort -u "$home/ran" | comm -23 "$cluster/sorted" -)"
empty "no job has run that was not acknowledged" "$(sort -u "$home/ran" | comm -13 "$cluster/sorted" -)"
empty "no job has run twice" "$(sort "$home/ran" | uniq -d)"
empty "no id was given twice" "$(sort "$cluster/ids" | uniq -d)"
empty "no command of the user has failed" "$(cat "$cluster/failed" 2>/dev/null)"
finish
