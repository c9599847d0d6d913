/* SPDX-License-Identifier: Apache-2.0 */
/* admission_partition.c - a job asks for no more than its partitions allow
 *
 * Every partition that the job names must exist, accept jobs, be allowed for
 * this user and account, and allow the job's time, memory, CPUs and nodes. An
 * update is checked only when it changes one of these. So existing jobs remain
 * as they are, and the scheduler reports jobs that cannot start any more after
 * a change of the partition. Administrators may exceed amounts and lists of
 * users, but not a partition's state.
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The amounts that are compared with the limits: those of all pods of a job
 * that may run at once. Each element of an array counts as a job.
 */
struct asked_amounts {
    const char *partitions; /* "": none */
    int64_t time_s;         /* 0: no limit */
    int64_t cpu_milli, memory, nodes;
};

/* ---- The job's amounts ---- */

static const char *
amount(const struct json *container, const char *resource)
{
    const struct json *resources = json_get(container, "resources");
    const char *text = json_get_text(json_get(resources, "requests"), resource);

    return text != NULL ? text : json_get_text(json_get(resources, "limits"), resource);
}

/* Whether each pod is a job of its own, as the tasks of an array are. */
static bool
is_of_single_pods(const struct json *spec)
{
    const char *mode = json_get_text(spec, "completionMode");

    return mode != NULL && strcmp(mode, "Indexed") == 0
           && json_get_path(spec, "scheduling.schedulingPolicy.gang") == NULL;
}

static int64_t
pods_at_once(const struct request *q, const struct json *tree)
{
    int64_t most = kind_hooks_of_route(q)->pods_at_once(tree);

    return most > 1 && !is_of_single_pods(json_get(tree, "spec")) ? most : 1;
}

/* Adds so much of each pod, at most INT64_MAX: a sum that overflowed would be
 * within each limit.
 */
static void
add_of_pods(int64_t *sum, int64_t amount_of_pod, int64_t n_pods)
{
    int64_t more;

    if (__builtin_mul_overflow(amount_of_pod, n_pods, &more)
        || __builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static struct asked_amounts
read_asked(const struct request *q, const struct json *tree,
           const struct json *spec) /* of its pods */
{
    const struct json *containers = json_get(spec, "containers");
    const char *partitions = json_get_text(json_get(spec, "placement"), "partition");
    struct asked_amounts a = {
        .partitions = partitions != NULL ? partitions : "",
        .time_s = json_get_int(spec, "activeDeadlineSeconds", 0),
        .nodes = pods_at_once(q, tree),
    };

    for (uint32_t i = 0; i < json_count(containers); i++) {
        add_of_pods(&a.cpu_milli, quantity_text_milli(amount(json_at(containers, i), "cpu")),
                    a.nodes);
        add_of_pods(&a.memory, quantity_text_value(amount(json_at(containers, i), "memory")),
                    a.nodes);
    }
    return a;
}

static bool
is_the_same(const struct asked_amounts *a, const struct asked_amounts *b)
{
    return strcmp(a->partitions, b->partitions) == 0 && a->time_s == b->time_s
           && a->cpu_milli == b->cpu_milli && a->memory == b->memory && a->nodes == b->nodes;
}

/* ---- Refusals ---- */

static bool
refuse(struct request *q, const struct json *tree, const char *why)
{
    return admission_refuse(q, tree, "Partition", why);
}

static bool
refuse_amount(struct request *q, const struct json *tree, const struct partition *p,
              const char *asked, const char *what, const char *limit)
{
    return refuse(q, tree,
                  arena_printf(q->arena,
                               "%s%s is more than partition %s's limit of %s; "
                               "ask for less",
                               asked, what, p->meta.name, limit));
}

/* ---- One partition ---- */

static bool
check_state(struct request *q, const struct json *tree, const struct partition *p)
{
    CLEANUP_STRBUF struct strbuf state = STRBUF_INIT;

    if (partition_takes_jobs(p))
        return true;
    partition_format_state(p, &state);
    return refuse(q, tree,
                  arena_printf(q->arena,
                               "partition %s %s and takes no new jobs; 'kctl "
                               "partitions' lists the others",
                               p->meta.name, state.text));
}

static bool
check_rights(struct request *q, const struct json *tree, const struct partition *p)
{
    if ((p->spec.allowed_users.count > 0 || p->spec.allowed_groups.count > 0)
        && !membership_has(q->server->partition_users, p->meta.name, q->principal))
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "partition %s is not for user %s (see its "
                                   "allowedUsers and allowedGroups); 'kctl partitions' "
                                   "shows who may use which partition",
                                   p->meta.name, q->principal->name));
    if (!admission_allows_account(p->spec.allowed_accounts.items, p->spec.allowed_accounts.count,
                                  q->route.namespace))
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "partition %s is not for account %s (see "
                                   "its allowedAccounts); 'kctl partitions' "
                                   "shows who may use which partition",
                                   p->meta.name, q->route.namespace));
    return true;
}

static bool
check_time(struct request *q, const struct json *tree, const struct partition *p, int64_t asked_s)
{
    int64_t most_s = partition_time_s(p->spec.maximum_time);
    CLEANUP_STRBUF struct strbuf asked = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf most = STRBUF_INIT;

    if (most_s <= 0 || (asked_s > 0 && asked_s <= most_s))
        return true;
    duration_format(asked_s, &asked);
    duration_format(most_s, &most);
    if (asked_s == 0)
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "partition %s takes no job without a time "
                                   "limit; its limit is %s; ask for a time "
                                   "(-t)",
                                   p->meta.name, most.text));
    return refuse_amount(q, tree, p, asked.text, "", most.text);
}

static const char *
format_memory(struct request *q, int64_t bytes)
{
    struct quantity amount = quantity_of(bytes, QUANTITY_BINARY_SI);
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(&amount, text);
    return arena_strdup(q->arena, text);
}

static bool
check_amounts(struct request *q, const struct json *tree, const struct partition *p,
              const struct asked_amounts *a)
{
    const struct partition_spec *s = &p->spec;
    int64_t cpus = quantity_text_milli(s->maximum_cpus);
    int64_t memory = quantity_text_value(s->maximum_memory);

    if (cpus > 0 && a->cpu_milli > cpus)
        return refuse_amount(q, tree, p,
                             a->cpu_milli % 1000 == 0
                                 ? arena_printf(q->arena, "%" PRId64, a->cpu_milli / 1000)
                                 : arena_printf(q->arena, "%" PRId64 "m", a->cpu_milli),
                             " CPUs", s->maximum_cpus);
    if (memory > 0 && a->memory > memory)
        return refuse_amount(q, tree, p, format_memory(q, a->memory), " of memory",
                             s->maximum_memory);
    if (s->maximum_nodes > 0 && a->nodes > s->maximum_nodes)
        return refuse_amount(q, tree, p, arena_printf(q->arena, "%" PRId64, a->nodes), " nodes",
                             arena_printf(q->arena, "%" PRId64, s->maximum_nodes));
    return true;
}

static bool
check_partition(struct request *q, const struct json *tree, const char *name,
                const struct asked_amounts *a, bool is_new)
{
    const struct object *object =
        store_find(q->server->store, STORE_PENDING, &partition_kind, NULL, name);
    const struct partition *p;

    if (object == NULL)
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "there is no partition '%s'; the "
                                   "partitions are: %s",
                                   name, admission_list_names(q, &partition_kind)));
    p = partition_of(object);
    if (is_new && !check_state(q, tree, p))
        return false;
    if (q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    return (!is_new || check_rights(q, tree, p)) && check_time(q, tree, p, a->time_s)
           && check_amounts(q, tree, p, a);
}

/* Notes the uids of the partitions that the job is admitted to. */
static void
note_partitions(struct request *q, struct json *tree, const char *names)
{
    CLEANUP_STRBUF struct strbuf uids = STRBUF_INIT;
    size_t n;

    for (const char *at = names; (n = partition_next_name(&at)) > 0; at += n) {
        const struct object *object = store_find(q->server->store, STORE_PENDING, &partition_kind,
                                                 NULL, arena_strndup(q->arena, at, n));

        strbuf_printf(&uids, "%s%s", uids.length > 0 ? "," : "",
                      object != NULL ? object->meta->uid : "");
    }
    if (uids.length > 0 && q->principal->type == PRINCIPAL_ADMINISTRATOR)
        strbuf_add_text(&uids, ADMITTED_BY_ADMINISTRATOR);
    admission_note_uids(q, tree, ANNOTATION_PARTITION_UID, uids.length > 0 ? uids.text : NULL);
}

bool
partition_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *spec = admission_pod_spec(q, tree);
    struct asked_amounts now, before = {.partitions = ""};
    bool is_new = true;
    size_t n;

    if (!principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE
        || spec == NULL)
        return true;
    now = read_asked(q, tree, spec);
    if (old_object != NULL) {
        before =
            read_asked(q, request_old_tree(q, old_object), admission_old_pod_spec(q, old_object));
        is_new = strcmp(now.partitions, before.partitions) != 0
                 || !admission_keep_uids(q, tree, ANNOTATION_PARTITION_UID, old_object);
        if (!is_new && is_the_same(&now, &before))
            return true;
    }
    for (const char *at = now.partitions; (n = partition_next_name(&at)) > 0; at += n)
        if (!check_partition(q, tree, arena_strndup(q->arena, at, n), &now, is_new))
            return false;
    if (is_new)
        note_partitions(q, tree, now.partitions);
    return true;
}
