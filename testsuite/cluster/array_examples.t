#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples of kiln-arrays(7) work as printed there, one after the other,
# with the number of the array that the first example submits.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:10 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

# Of a hundred steps, the first nine are short, and the others wait for a file.
mkdir -m 0777 "$cluster/here" "$cluster/here/out"
cat >"$cluster/here/step" <<END
#!/bin/sh
case \${1#data/} in ?) exit 0 ;; esac
until [ -e "$cluster/here/go" ]; do sleep 0.2; done
END
printf '#!/bin/sh\n' >"$cluster/here/summary"
chmod 755 "$cluster/here/step" "$cluster/here/summary"

# The command lines after the prompts, with roff's escapes replaced.
examples=$(awk '/^\.EX/ { on = 1 } /^\.EE/ { on = 0 } on && /^\$ /' \
    "$top_srcdir/man/kiln-arrays.7" |
    sed 's/^\$ //; s/\\-/-/g; s/\\(aq/'"'"'/g')
like "the manual page has examples" \
    "$(printf '%s\n' "$examples" | wc -l)" '^ *1[2-9]$'

id=1042
run_example() {
    as kilntest1 sh -c "cd '$cluster/here' && $1" >"$cluster/said" 2>&1
}
printf '%s\n' "$examples" >"$cluster/examples"
first_nine() {
    root get job "job-$id" -o json | jq -e '.status.succeeded >= 9' >/dev/null
}
while read -r line; do
    command=$(printf '%s\n' "$line" | sed "s/1042/$id/g")
    ok "$line" run_example "$command" || sed 's/^/# /' "$cluster/said"
    case $line in
    ksub*-a*)
        id=$(sed -n 's/^Submitted job \([0-9]*\).*/\1/p' "$cluster/said")
        wait_for 30 first_nine || bail_out "the short steps do not end"
        ;;
    esac
done <"$cluster/examples"
: >"$cluster/here/go"
held() { root get job "job-$id" -o json | jq -r '.spec.array | "\(.held) \(.cancelled) \(.throttle)"'; }
is "the array is held, cancelled and throttled as the examples say" \
    "$(held)" "61-100 61-99:2,100 20"
last=$(sed -n 's/^Submitted job \([0-9]*\).*/\1/p' "$cluster/said")
has_run() { [ "$(root get job "job-$last" -o json | jq -r .status.state)" = Completed ]; }
ok "the job that waits for one of the tasks runs" wait_for 30 has_run
finish
