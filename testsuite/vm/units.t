#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The systemd units on a machine with systemd, cgroup v2 and several NUMA
# nodes: what `make install` installs is copied into a virtual machine, where
# inside-units tests it.
#
# $KILN_NUMA_VM is a directory with a command `boot`, which runs another
# command in a temporary guest: boot -c CORES -n NODES -S SOCKETS -i systemd -d
# HOSTDIR:GUESTDIR -t SECONDS -- COMMAND. Sessions by ssh are tested if the guest has
# Debian's openssh-server.

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"

boot=${KILN_NUMA_VM:+$KILN_NUMA_VM/boot}
[ -n "$boot" ] ||
    skip_all "no virtual machine: \$KILN_NUMA_VM names no folder with one"
[ -x "$boot" ] || skip_all "no command $boot"
command -v qemu-system-x86_64 >/dev/null ||
    skip_all "qemu is missing (Debian package qemu-system-x86)"
for program in kiln-controller kiln-agent ksub kctl; do
    [ -x "$top_builddir/$program" ] || skip_all "$program is not built"
done
"$boot" -c 2 -n 1 -i direct -t 120 -- true >/dev/null 2>&1
[ $? -ne 125 ] || skip_all "the guest is not built, or does not boot"

carried=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$carried"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS # another make runs this test
make -s -C "$top_builddir" install DESTDIR="$carried/root" >&2 ||
    bail_out "make install failed"
cp "$top_srcdir/testsuite/lib/tap.sh" "$top_srcdir/testsuite/vm/inside-units" \
    "$top_srcdir/testsuite/vm/inside-steps" "$top_srcdir/testsuite/vm/inside-login" \
    "$top_srcdir/testsuite/vm/inside-verbs" "$carried/"

# Libraries that the guest may lack. For static programs ldd fails.
mkdir "$carried/lib"
for program in kiln-controller kiln-agent kiln-shepherd kiln-output kctl krun kiln-step pam_kiln.so; do
    ldd "$top_builddir/$program" 2>/dev/null
done | awk '$3 ~ /^\// && !/libc\.so|libm\.so/ { print $3 }' | sort -u |
    xargs -I {} cp {} "$carried/lib/"

"$boot" -c 16 -n 4 -S 2 -m 2048 -i systemd -t 1500 -d "$carried:/kiln" -- \
    /kiln/inside-units
status=$?
case $status in
124) bail_out "the guest took more than 1500 s" ;;
125) bail_out "the guest did not boot" ;;
esac
exit "$status"
