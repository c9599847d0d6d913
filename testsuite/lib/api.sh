# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of tests and of cluster.sh
# api.sh - requests to the API in one line each, for tests of what one user may
# do to another user
#
# Source it after tap.sh and cluster.sh. The controller must also listen on the
# socket $cluster/socket:
#
#   cluster_controller --socket "$cluster/socket"
#   like "a user can create a pod" "$(api kilntest1 POST "$pods" "$(pod_json p)")" '^201 '
#   forbidden "a user cannot delete a node" kilntest1 DELETE /api/v1/nodes/n1

jobs=/apis/batch/v1/namespaces/default/jobs
cron_jobs=/apis/batch/v1/namespaces/default/cronjobs
pods=/api/v1/namespaces/default/pods
claims=/api/v1/namespaces/default/persistentvolumeclaims
merge=application/merge-patch+json

root() { kctl --server "http+unix://$cluster/socket" "$@"; }

# api USER METHOD PATH [BODY [TYPE]]: prints the status code and the body of
# the answer on one line.
api() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    set -- "$1" "$2" "$3" "${4-}" "${5:-application/json}" \
        'curl -s --max-time 10 -w "\n%{http_code}" \
        --unix-socket "$0" -X "$1" -H "Content-Type: $4" -d "$3" \
        "http://kiln$2"'
    if [ "$1" = root ]; then
        sh -c "$6" "$cluster/socket" "$2" "$3" "$4" "$5"
    else
        as "$1" sh -c "$6" "$cluster/socket" "$2" "$3" "$4" "$5"
    fi | awk '{ text = text last; last = $0 } END { print last " " text }'
}

# forbidden NAME USER METHOD PATH...: passes if the answer is a 403 with the
# reason "Forbidden".
forbidden() {
    forbidden_name=$1
    shift
    like "$forbidden_name" "$(api "$@")" '^403 .*"reason": ?"Forbidden"'
}

# refused RULE NAME USER METHOD PATH...: passes if the admission rule RULE
# refuses the request with a 403.
refused() {
    refused_rule=$1
    refused_name=$2
    shift 2
    like "$refused_name" "$(api "$@")" "^403 .*($refused_rule): "
}

# pod_json NAME [SPEC-MEMBERS [METADATA-MEMBERS]]: prints a pod. Each list of
# members ends with a comma in the spec, and starts with one in the metadata.
pod_json() {
    printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"%s},
"spec":{"restartPolicy":"Never",%s"containers":[{"name":"main",
"command":["/bin/true"]}]}}' "$1" "${3-}" "${2-}"
}

# job_json NAME [SPEC-MEMBERS [POD-SPEC-MEMBERS]]: prints a Job. Each list of
# members ends with a comma.
job_json() {
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},
"spec":{%s"template":{"spec":{"restartPolicy":"Never",%s
"containers":[{"name":"main","command":["/bin/true"]}]}}}}' "$1" "${2-}" \
        "${3-}"
}

# cron_json NAME [POD-SPEC-MEMBERS]: a CronJob that is due every minute.
cron_json() {
    printf '{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":
"%s"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":
{"restartPolicy":"Never",%s"containers":[{"name":"main","image":"host",
"command":["/bin/true"]}]}}}}}}' "$1" "${2-}"
}

# cron_due NAME: makes the CronJob due now: its last Job appears to have been
# created long ago.
cron_due() {
    api root PATCH "$cron_jobs/$1/status" \
        '{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}' "$merge" |
        grep -q '^200'
}

# cron_told NAME TEXT: succeeds if an event about the CronJob says that
# creating a Job failed, and its message matches TEXT.
cron_told() {
    root get events -o json | jq -r --arg name "$1" '.items[] | select(
        .reason == "FailedCreate" and .involvedObject.name == $name) |
        .message' | grep -q "$2"
}

# field USER PATH JQ-FILTER: prints what the filter selects from the object at
# PATH.
field() {
    api "$1" GET "$2" | sed 's/^[0-9]* //' | jq -r "$3"
}
