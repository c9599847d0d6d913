#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of doc/admin.md, from the installation to the upgrade, followed to
# the letter in a virtual machine with systemd that is both head and node.
#
# $KILN_NUMA_VM: see units.t.

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
tar -C "$carried/root" -czf "$carried/kiln.tar.gz" . || bail_out "no archive"
rm -rf "$carried/root"
cp "$top_srcdir/testsuite/lib/tap.sh" "$top_srcdir/testsuite/vm/inside-guide" \
    "$top_srcdir/doc/admin.md" "$carried/"

# Libraries of the packages that the guide installs.
mkdir "$carried/lib"
for program in kiln-controller kiln-agent kiln-shepherd kiln-output kiln-pause kctl; do
    ldd "$top_builddir/$program" 2>/dev/null
done | awk '$3 ~ /^\// && !/libc\.so|libm\.so/ { print $3 }' | sort -u |
    xargs -I {} cp {} "$carried/lib/"

"$boot" -c 2 -n 1 -m 2048 -i systemd -t 1500 -d "$carried:/kiln" -- \
    /kiln/inside-guide
status=$?
case $status in
124) bail_out "the guest took more than 1500 s" ;;
125) bail_out "the guest did not boot" ;;
esac
exit "$status"
