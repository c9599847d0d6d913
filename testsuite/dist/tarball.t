#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The release tarball has every tracked file except those about the repository
# itself.

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
source=$(cd "$top_srcdir" && pwd) || bail_out "no source directory"
tracked=$(git -c safe.directory='*' -C "$source" ls-files 2>/dev/null | grep -vE '^\.(git|ci/)')
[ -n "$tracked" ] || skip_all "the source is in no repository of git"
place=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$place"' EXIT
# Another make runs this test, and its flags must not apply here.
unset MAKEFLAGS MAKELEVEL MFLAGS

ok "make distdir succeeds" make -C "$top_builddir" -s distdir distdir="$place/kiln"
empty "the tarball has every tracked file" \
    "$(printf '%s\n' "$tracked" | while read -r file; do
    [ ! -e "$source/$file" ] || [ -e "$place/kiln/$file" ] ||
        echo "$file: name it in EXTRA_DIST of the include.am beside it"
done)"
is "its programs have the version of the repository's" \
    "$("$source/src/lib/base/version/version-of-tree" "$place/kiln" 1.2)" \
    "$(printf '%s\n' '/* Made by version-of-tree. */' \
        'extern const char build_version[];' "const char build_version[] = \"1.2+g$(
            git -c safe.directory='*' -C "$source" rev-parse HEAD | cut -c 1-10)\";")"
finish
