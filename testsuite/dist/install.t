#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install installs everything below DESTDIR and the prefix, make uninstall
# removes it, and both keep a changed configuration.

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
cd "$top_builddir" || bail_out "no build directory"
place=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$place"' EXIT
# Another make runs this test, and its flags must not apply here.
unset MAKEFLAGS MAKELEVEL MFLAGS

installed() {
    (cd "$place" && find . -type f | sed 's|^\./||' | sort)
}

there() {
    if [ -e "$place/$1" ]; then
        pass "$1 is installed"
    else
        fail "$1 is installed"
    fi
}

here=$(sed -n 's|^prefix = /||p' Makefile)
case $(sed -n 's|^sysconfdir = ||p' Makefile) in
/*) etc=$(sed -n 's|^sysconfdir = /||p' Makefile) ;;
*) etc=$here/etc ;;
esac
ok "make install succeeds" make -s install DESTDIR="$place"
for program in ${KILN_PROGRAMS:-}; do
    name=${program##*/}
    case $name in
    kiln-agent | kiln-controller) there "$here/sbin/$name" ;;
    krsh | kiln-*) there "$here/libexec/kiln/$name" ;;
    *) there "$here/bin/$name" ;;
    esac
    ok "$name has its manual page" sh -c \
        "ls '$place/$here/share/man'/man[178]/$name.[178]"
done
there "$etc/kiln/agent.yaml"
there "$here/lib/systemd/system/kiln-agent.service"
there "$here/lib/systemd/system/kiln-jobs.service"
there "$here/lib/systemd/system/kiln-controller.service"
there "$here/lib/sysusers.d/kiln.conf"
there "$etc/needrestart/conf.d/kiln.conf"
there "$here/lib/tmpfiles.d/kiln.conf"
there "$here/libexec/kiln/kiln-jobs-holder"
there "$here/libexec/kiln/kiln-backup"
there "$here/lib/systemd/system/kiln-backup.service"
there "$here/lib/systemd/system/kiln-backup.timer"
. "$top_srcdir/testsuite/lib/cluster.sh" # slurm_commands
is "Slurm's commands are installed as links of their names" \
    "$(cd "$place/$here/libexec/kiln/slurm" && ls)" \
    "$(slurm_commands "$place/$here/libexec/kiln/kiln-slurm" | sort)"
like "the links lead to the program" "$("$place/$here/libexec/kiln/slurm/sbatch" --version)" \
    '^slurm 22\.05\.8 \(kiln '
empty "nothing is installed elsewhere" \
    "$(installed | grep -vE "^($here|$etc/kiln|$etc/needrestart)/")"
empty "no installed file has an unreplaced name" \
    "$(cd "$place" && grep -rnIE '@[a-z_]+(dir|uid)@' .)"

echo 'cluster: mine' >"$place/$etc/kiln/agent.yaml"
ok "make install again succeeds" make -s install DESTDIR="$place"
is "it keeps the changed configuration" "$(cat "$place/$etc/kiln/agent.yaml")" \
    'cluster: mine'
ok "make uninstall succeeds" make -s uninstall DESTDIR="$place"
is "it keeps that configuration" "$(installed)" \
    "$etc/kiln/agent.yaml"
finish
