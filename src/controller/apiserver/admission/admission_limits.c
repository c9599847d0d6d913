/* SPDX-License-Identifier: Apache-2.0 */
/* admission_limits.c - the site's `limits:` on objects: how many a user may
 * have, the most that a job may ask for, and the default of a job that asks for
 * nothing; also, that the parallelism of an array follows its throttle
 *
 * Administrators may exceed the limits on jobs. Existing objects keep their
 * values until somebody changes them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/site_limits.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US 1000000

/* A user at the limit may still release, cancel and annotate: changes that add
 * at most SMALL_CHANGE bytes are accepted up to SMALL_CHANGES over the limit
 * (the last object may be over it, too).
 */
#define SMALL_CHANGE  1024
#define SMALL_CHANGES (16u << 20)

static bool
refuse_objects(struct request *q, const struct json *tree, int64_t most)
{
    return admission_refuse(q, tree, "UserLimits",
                            arena_printf(q->arena,
                                         "user '%s' has %" PRId64 " unfinished jobs and other "
                                         "objects, which is the site's limit "
                                         "(limits.perUser.objects); wait until some have "
                                         "finished, or cancel or delete some",
                                         q->principal->name, most));
}

static bool
refuse_bytes(struct request *q, const struct json *tree, int64_t most)
{
    return admission_refuse(q, tree, "UserLimits",
                            arena_printf(q->arena,
                                         "the jobs and other objects of user '%s', with their "
                                         "scripts and environments, fill the %" PRId64
                                         " MiB that the site allows (limits.perUser.bytes); "
                                         "delete some, finished ones too ('kctl delete job ID')",
                                         q->principal->name, most >> 20));
}

static int64_t
growth(const struct json *tree, const struct object *old_object)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(tree, &text);
    return (int64_t)text.length - (int64_t)old_object->length;
}

static bool
may_change(const struct json *tree, const struct object *old_object, int64_t bytes, int64_t most)
{
    int64_t more;

    if (bytes < most)
        return true;
    more = growth(tree, old_object);
    return more <= 0 || (more <= SMALL_CHANGE && bytes < most + SMALL_CHANGES);
}

static int64_t
pods_at_once(const struct request *q, const struct json *tree)
{
    const struct kind_hooks *hooks = kind_hooks_of_route(q);

    return hooks->pods_at_once != NULL ? hooks->pods_at_once(tree) : 0;
}

/* Limits the pods that run at once: one small Job may ask for any number. */
static bool
check_pods(struct request *q, const struct json *tree, const struct object *old_object, int64_t has)
{
    int64_t most = q->server->policy->limits.per_user.pods;
    int64_t wanted = pods_at_once(q, tree);
    int64_t before = old_object != NULL ? pods_at_once(q, request_old_tree(q, old_object)) : 0;

    return most == 0 || wanted <= before || has - before + wanted <= most
           || admission_refuse(q, tree, "UserLimits",
                               arena_printf(q->arena,
                                            "this asks for %" PRId64 " pods at once, and other "
                                            "jobs of the user for %" PRId64 "; user '%s' may "
                                            "have at most %" PRId64 " (limits.perUser.pods); "
                                            "ask for fewer at a time (spec.parallelism)",
                                            wanted, has - before, q->principal->name, most));
}

bool
user_limits_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct limits *limits = &q->server->policy->limits;
    struct user_count has;
    uid_t owner;

    if (!user_limits_bind(q)
        || (old_object != NULL
            && (!object_owner(old_object, &owner) || owner != q->principal->uid)))
        return true;
    has = user_counts_get(q->server->counts, q->principal->uid);
    if (limits->per_user.objects > 0 && old_object == NULL
        && has.objects >= limits->per_user.objects)
        return refuse_objects(q, tree, limits->per_user.objects);
    if (!check_pods(q, tree, old_object, has.pods))
        return false;
    if (limits->per_user.bytes == 0)
        return true;
    if (old_object == NULL ? has.bytes + (int64_t)q->length <= limits->per_user.bytes
                           : may_change(tree, old_object, has.bytes, limits->per_user.bytes))
        return true;
    return refuse_bytes(q, tree, limits->per_user.bytes);
}

/* Checks a number of seconds in a pod's spec against the site's maximum. An
 * unchanged number is accepted.
 */
static bool
check_most(struct request *q, struct json *tree, const struct object *old_object, const char *rule,
           const char *field, const char *setting, int64_t most_s)
{
    int64_t wanted = json_get_int(admission_pod_spec(q, tree), field, 0);
    const struct json *old_spec = NULL;

    if (wanted <= most_s || q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    if (old_object != NULL)
        old_spec = admission_old_pod_spec(q, old_object);
    if (old_spec != NULL && json_get_int(old_spec, field, 0) == wanted)
        return true;
    return admission_refuse(q, tree, rule,
                            arena_printf(q->arena,
                                         "%s of %" PRId64 " seconds is more than the "
                                         "%" PRId64 " that the site allows (limits.%s); "
                                         "ask for less",
                                         field, wanted, most_s, setting));
}

static bool
binds_jobs(const struct request *q)
{
    return principal_is_person(q->principal) && q->route.subresource == SUBRESOURCE_NONE;
}

bool
maximum_time_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    static const char field[] = "activeDeadlineSeconds";
    int64_t most_s = q->server->policy->limits.maximum_time_us / SECOND_US;
    struct json *spec = admission_pod_spec(q, tree);
    const struct json *old_spec;

    if (most_s == 0 || !binds_jobs(q) || spec == NULL)
        return true;
    if (json_get(spec, field) != NULL)
        return check_most(q, tree, old_object, "MaximumTime", field, "maximumTime", most_s);
    old_spec = old_object != NULL ? admission_old_pod_spec(q, old_object) : NULL;
    /* An object that had no limit before may remain without one. */
    if (q->principal->type != PRINCIPAL_ADMINISTRATOR
        && (old_spec == NULL || json_get(old_spec, field) != NULL))
        json_set_int(q->arena, spec, field, most_s);
    return true;
}

bool
maximum_grace_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    int64_t most_s = q->server->policy->limits.maximum_grace_us / SECOND_US;

    return most_s == 0 || !binds_jobs(q)
           || check_most(q, tree, old_object, "MaximumGrace", "terminationGracePeriodSeconds",
                         "maximumGrace", most_s);
}

/* A pod's metadata is beside its spec, in a template as well. */
static const char *
pids_of(const struct request *q, const struct json *tree)
{
    const char *spec = q->route.kind->pod_spec;
    const int length = (int)(strlen(spec) - strlen("spec"));
    const struct json *annotations =
        json_get_path(tree, arena_printf(q->arena, "%.*smetadata.annotations", length, spec));
    const char *text = json_get_text(annotations, ANNOTATION_PIDS);

    return text != NULL ? text : "";
}

static void
set_pids(struct request *q, struct json *tree, const char *text)
{
    struct json *pod = admission_pod(q, tree);
    struct json *meta;

    if (pod == NULL)
        return;
    meta = json_make_object(q->arena, pod, "metadata");
    json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), ANNOTATION_PIDS,
                    text);
}

/* Refuses a number that an agent could not parse: it would be no limit at all.
 */
static bool
check_pids(struct request *q, const struct json *tree, const char *text, int64_t most)
{
    size_t digits = strspn(text, "0123456789");

    if (text[digits] != '\0' || strtoll(text, NULL, 10) < 1)
        return admission_refuse(q, tree, "PidsPerPod",
                                arena_printf(q->arena,
                                             "the annotation " ANNOTATION_PIDS
                                             ", '%.40s', is not a number of processes; ask for 1 "
                                             "to %" PRId64 " (limits.pidsPerPod), or leave it out",
                                             text, most));
    return strtoll(text, NULL, 10) <= most
           || admission_refuse(q, tree, "PidsPerPod",
                               arena_printf(q->arena,
                                            "%.40s processes (" ANNOTATION_PIDS
                                            ") is more than the %" PRId64 " that the site "
                                            "allows (limits.pidsPerPod); ask for less",
                                            text, most));
}

/* The agent reads the number from the pod's annotations. Only administrators
 * may ask for more than the site's number, or for no limit.
 */
bool
pids_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    int64_t most = q->server->policy->limits.pids_per_pod;
    const char *text = pids_of(q, tree);
    const char *before = old_object != NULL ? pids_of(q, request_old_tree(q, old_object)) : "";
    bool is_bound = q->principal->type != PRINCIPAL_ADMINISTRATOR;

    if (most == 0 || !binds_jobs(q))
        return true;
    if (text[0] != '\0')
        return !is_bound || strcmp(before, text) == 0 || check_pids(q, tree, text, most);
    if (old_object == NULL)
        set_pids(q, tree, arena_printf(q->arena, "%" PRId64, most));
    else if (is_bound && before[0] != '\0')
        set_pids(q, tree, before);
    return true;
}

static void
set_memory(struct request *q, struct json *resources, const char *map, const struct json *value)
{
    json_set(q->arena, json_make_object(q->arena, resources, map), "memory",
             json_dup(q->arena, value));
}

static const struct json *
memory_limit(const struct json *spec)
{
    return json_get_path(json_at(json_get(spec, "containers"), 0), "resources.limits.memory");
}

/* A job that requests memory gets a limit of that size, other jobs get the
 * default. Without a limit a job could take the memory of all jobs on the node.
 */
bool
default_memory_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    int64_t bytes = q->server->policy->limits.default_memory;
    struct json *containers = json_get(admission_pod_spec(q, tree), "containers");
    struct json *resources, *main, *limit;
    const struct json *asked;
    const char *text;

    main = json_is(containers, JSON_ARRAY) ? json_at(containers, 0) : NULL;
    if (bytes == 0 || main == NULL || !principal_is_person(q->principal)
        || memory_limit(admission_pod_spec(q, tree)) != NULL)
        return true;
    /* An object that had no limit before may remain without one. */
    if (old_object != NULL && memory_limit(admission_old_pod_spec(q, old_object)) == NULL)
        return true;
    resources = json_make_object(q->arena, main, "resources");
    asked = json_get(json_get(resources, "requests"), "memory");
    text = json_text(asked);
    limit = json_stringf(q->arena, "%" PRId64, bytes);
    if (asked == NULL)
        set_memory(q, resources, "requests", limit);
    set_memory(q, resources, "limits",
               text != NULL && quantity_text_value(text) > bytes ? asked : limit);
    return true;
}

/* A deletion may lengthen a pod's grace period and so keep its node busy: at
 * most as long as the site allows.
 */
bool
delete_grace_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    int64_t most_s = q->server->policy->limits.maximum_grace_us / SECOND_US;

    (void)tree;
    (void)old_object;
    if (most_s == 0 || !binds_jobs(q) || q->principal->type == PRINCIPAL_ADMINISTRATOR
        || !q->options.has_grace || q->options.grace_s <= most_s)
        return true;
    reply_warn(&q->reply,
               "gracePeriodSeconds of %" PRId64 " is more than the "
               "%" PRId64 " that the site allows (limits.maximumGrace); the "
               "pod gets that limit",
               q->options.grace_s, most_s);
    q->options.grace_s = most_s;
    return true;
}

/* ---- Arrays ---- */

static bool
check_array_size(struct request *q, const struct json *tree)
{
    int64_t most = q->server->policy->limits.maximum_array_size;
    int64_t last = job_array_last_task(q->arena, json_get(tree, "spec"));

    return most == 0 || last < most
           || admission_refuse(q, tree, "Array",
                               arena_printf(q->arena,
                                            "task %" PRId64 " is larger than the largest task "
                                            "id that the site allows, %" PRId64 " "
                                            "(limits.maximumArraySize minus one); use smaller "
                                            "ids, or several jobs",
                                            last, most - 1));
}

static int64_t
throttle_of(const struct json *spec)
{
    return json_get_int(json_get(spec, "array"), "throttle", -1);
}

/* A changed throttle changes the parallelism, unless the request changes that
 * itself.
 */
static void
follow_throttle(struct request *q, struct json *spec, const struct json *old)
{
    if (throttle_of(spec) != throttle_of(old)
        && json_get_int(spec, "parallelism", -1) == json_get_int(old, "parallelism", -1))
        json_set_int(q->arena, spec, "parallelism", job_array_parallelism(q->arena, spec));
}

/* Only the server changes this number, in the patch that requeues tasks: for
 * each new number the job controller and dependencies read the record of all
 * elements again. A request that leaves it out does not change it.
 */
static bool
keep_requeues(struct request *q, const struct json *tree, struct json *array, int64_t before)
{
    const int64_t given = json_get_int(array, "requeues", 0);

    if (q->requeued_tasks != NULL || given == before)
        return true;
    if (given != 0)
        return admission_refuse(q, tree, "Array",
                                arena_printf(q->arena,
                                             "spec.array.requeues, %" PRId64 ", is counted by the "
                                             "server (it is %" PRId64 "); use 'kctl requeue "
                                             "JOB_[LIST]' to run tasks again",
                                             given, before));
    json_set_int(q->arena, array, "requeues", before);
    return true;
}

bool
array_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *spec = json_get(tree, "spec");
    struct json *array;

    if (q->route.subresource != SUBRESOURCE_NONE || !job_array_is_asked(spec))
        return true;
    array = json_get(spec, "array");
    if (old_object == NULL) {
        json_remove(array, "requeues"); /* from a copy of another job's manifest
                                         */
        return check_array_size(q, tree);
    }
    follow_throttle(q, spec, json_get(request_old_tree(q, old_object), "spec"));
    return keep_requeues(q, tree, array, job_array_requeues(job_of(old_object)));
}
