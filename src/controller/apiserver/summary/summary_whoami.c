/* SPDX-License-Identifier: Apache-2.0 */
/* summary_whoami.c - who the principal is, the accounts where the principal may
 * work, and the use of the site's limits:
 *
 *   {"user": "alice", "uid": 1000, "gids": [1000, 2000], "rank": "user",
 *    "accounts": [{"name": "chem", "quotas": [{"name": "q", "hard": {...},
 *      "used": {...}}]}],
 *    "limits": [{"name": "objects", "used": 3, "most": 1000}, ...],
 *    "jobs": {"Running": 2}}
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/quota.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

/* The most accounts of an answer; further ones are left out. */
#define MOST_ACCOUNTS 1000

struct whoami_jobs {
    struct request *q;
    struct json *into;
    int64_t count[JOB_STATE_COUNT];
};

static bool
add_quota(const struct object *object, void *context)
{
    struct whoami_jobs *j = context;
    struct arena *arena = j->q->arena;
    const struct json *tree = object_tree(object, arena);
    struct json *quota = json_object(arena);
    struct json *hard = json_get_path(tree, "status.hard");
    struct json *used = json_get_path(tree, "status.used");

    if (hard == NULL)
        hard = json_get_path(tree, "spec.hard");
    json_set_string(arena, quota, "name", object->meta->name);
    if (hard != NULL)
        json_set(arena, quota, "hard", hard);
    if (used != NULL)
        json_set(arena, quota, "used", used);
    json_append(arena, j->into, quota);
    return true;
}

static bool
add_account(const struct object *object, void *context)
{
    struct whoami_jobs *j = context;
    struct request *q = j->q;
    struct whoami_jobs quotas = {.q = q, .into = json_array(q->arena)};
    const char *spelling = string_map_find(&object->meta->annotations, ANNOTATION_ACCOUNT);
    struct json *account;

    /* The cluster's own namespaces are nobody's account. */
    if (strncmp(object->meta->name, "kube-", strlen("kube-")) == 0)
        return true;
    if (q->principal->type != PRINCIPAL_ADMINISTRATOR
        && !membership_has(q->server->membership, object->meta->name, q->principal))
        return true;
    account = json_object(q->arena);
    json_set_string(q->arena, account, "name", spelling != NULL ? spelling : object->meta->name);
    if (spelling != NULL)
        json_set_string(q->arena, account, "namespace", object->meta->name);
    store_visit_index(q->server->store, &resource_quota_kind, RESOURCE_QUOTA_BY_NAMESPACE,
                      STORE_PUBLISHED, object->meta->name, add_quota, &quotas);
    if (json_count(quotas.into) > 0)
        json_set(q->arena, account, "quotas", quotas.into);
    json_append(q->arena, j->into, account);
    return json_count(j->into) < MOST_ACCOUNTS;
}

static bool
count_job(const struct object *object, void *context)
{
    struct whoami_jobs *j = context;

    j->count[job_find_state(job_of(object))]++;
    return true;
}

static void
add_jobs(struct request *q, struct json *tree)
{
    struct whoami_jobs j = {.q = q};
    struct json *jobs = json_make_object(q->arena, tree, "jobs");
    char value[64];

    store_visit_index(q->server->store, &job_kind, JOB_BY_RECENCY, STORE_PUBLISHED,
                      job_recency(q->principal->name, JOB_HOUR_ACTIVE, value), count_job, &j);
    for (enum job_state s = JOB_STATE_PENDING; s < JOB_STATE_COUNT; s++)
        if (j.count[s] > 0)
            json_set_int(q->arena, jobs, job_state_words(s)->name, j.count[s]);
}

static void
add_limit(struct request *q, struct json *limits, const char *name, int64_t used, int64_t most)
{
    struct json *limit = json_object(q->arena);

    json_set_string(q->arena, limit, "name", name);
    json_set_int(q->arena, limit, "used", used);
    if (most > 0)
        json_set_int(q->arena, limit, "most", most);
    json_append(q->arena, limits, limit);
}

static void
add_limits(struct request *q, struct json *tree)
{
    const struct limits *l = &q->server->policy->limits;
    const struct user_count c = user_counts_get(q->server->counts, q->principal->uid);
    struct json *limits = json_array(q->arena);

    add_limit(q, limits, "objects", c.objects, l->per_user.objects);
    add_limit(q, limits, "pods", c.pods, l->per_user.pods);
    add_limit(q, limits, "bytes", c.bytes, l->per_user.bytes);
    add_limit(q, limits, "watches", c.streams[USER_WATCH], l->per_user.watches);
    add_limit(q, limits, "logReaders", c.streams[USER_LOG_READER], l->per_user.log_readers);
    json_set(q->arena, tree, "limits", limits);
    if (l->maximum_time_us > 0)
        json_set_int(q->arena, tree, "maximumTimeSeconds", l->maximum_time_us / 1000000);
}

void
summary_whoami(struct request *q)
{
    static const char *const ranks[] = {
        [PRINCIPAL_USER] = "user",
        [PRINCIPAL_OPERATOR] = "operator",
        [PRINCIPAL_ADMINISTRATOR] = "administrator",
    };
    const struct principal *principal = q->principal;
    struct json *tree = json_object(q->arena);
    struct json *gids = json_array(q->arena);
    struct whoami_jobs accounts = {.q = q, .into = json_array(q->arena)};

    json_set_string(q->arena, tree, "user", principal->name);
    json_set_int(q->arena, tree, "uid", principal->uid);
    for (size_t i = 0; i < principal->n_groups; i++)
        json_append(q->arena, gids, json_int(q->arena, principal->groups[i]));
    json_set(q->arena, tree, "gids", gids);
    json_set_string(q->arena, tree, "rank", ranks[principal->type]);
    if (principal->impersonator != NULL)
        json_set_string(q->arena, tree, "askedBy", principal->impersonator->name);
    (void)store_list(q->server->store, &namespace_kind, NULL, NULL, 0, add_account, &accounts);
    json_set(q->arena, tree, "accounts", accounts.into);
    add_jobs(q, tree);
    add_limits(q, tree);
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
}
