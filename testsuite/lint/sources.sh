# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# sources.sh - the files that lints read, in a checkout or a release
#
# sources KIND, called at the top of the tree: c, build (automake and m4) or
# script (every file that begins with #!, and *.sh). The output is sorted, one
# path per line.

sources() {
    case $1 in
    c) find src testsuite -name '*.[ch]' ;;
    build)
        find configure.ac Makefile.am m4 src testsuite man etc contrib \
            -name '*.am' -o -name '*.m4' -o -name '*.ac' 2>/dev/null
        ;;
    script)
        find .ci contrib etc src testsuite -name '*.sh' 2>/dev/null
        find .ci contrib etc src testsuite -type f -perm -u+x -print0 \
            2>/dev/null | xargs -0r grep -lE -m 1 '^#!' | while read -r file; do
            head -c 2 "$file" | grep -q '^#!' && echo "$file"
        done
        ;;
    esac | sort -u
}
