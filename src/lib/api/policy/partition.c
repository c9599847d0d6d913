/* SPDX-License-Identifier: Apache-2.0 */
/* The partition is Slurm's and not a namespace: nodes may be in several, and a pod may name
 * several and gets the first with room. A limit of 0 is none, here and in all functions below,
 * so that the smaller of two limits is one rule (least_of_limits). The tier is a part of the
 * priority in the scheduler and nowhere else (decision 235).
 */
#include "lib/api/policy/partition.h"

#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"

#define SECOND_US     INT64_C(1000000)
#define REASON_MAX    200u
#define NAME_SIZE     64u /* size of a label's value */
#define MOST_ALLOWED  256u
#define MOST_GRACE_S  86400
#define MOST_TIER     65533 /* Slurm's maximum */
#define MOST_REQUEUES 1000000

/* clang-format off */
static const struct field partition_spec_fields[] = {
    OBJECT("selector", partition_spec, selector, label_selector, OPTIONAL,
        HELP("The labels of its nodes; without it, every node.")),
    STRING("defaultTime", partition_spec, default_time, 0,
        HELP("The time limit of jobs that ask for none: 4h, 1-00:00:00; "
             "none: they have no end, or that of maximumTime.")),
    STRING("maximumTime", partition_spec, maximum_time, 0,
        HELP("The longest time limit that a job may ask for.")),
    QUANTITY("defaultMemoryPerCPU", partition_spec, default_memory_per_cpu, 0,
        HELP("The memory of jobs that ask for none, for each CPU.")),
    QUANTITY("maximumMemory", partition_spec, maximum_memory, 0,
        HELP("The maximum memory of a job at a time.")),
    QUANTITY("maximumCPUs", partition_spec, maximum_cpus, 0,
        HELP("The maximum number of CPUs of a job at a time.")),
    INT("maximumNodes", partition_spec, maximum_nodes, 0,
        HELP("The maximum number of pods, each on a node, of a job at a "
             "time.")),
    LIST(STRING, "allowedUsers", partition_spec, allowed_users, 0,
        HELP("The users whose jobs it takes, in addition to allowedGroups; "
             "without both, all users.")),
    LIST(STRING, "allowedGroups", partition_spec, allowed_groups, 0,
        HELP("The Unix groups whose jobs it takes, beside allowedUsers.")),
    LIST(STRING, "allowedAccounts", partition_spec, allowed_accounts, 0,
        HELP("The accounts (namespaces) whose jobs it takes; without it, "
             "all.")),
    INT("priorityTier", partition_spec, priority_tier, 0,
        HELP("The default is 1. Pods of a higher tier are tried before "
             "those of lower ones, and preempt them, whatever their "
             "priorities.")),
    STRING("preemptionMode", partition_spec, preemption_mode, 0,
        ONE_OF("Cancel", "Off", "Requeue", "Suspend"),
        HELP("What happens to its jobs when others of a higher priority "
             "need their nodes: Requeue, they start again; Cancel, they "
             "end; Suspend, they are suspended, and keep their memory, "
             "until the cores are free again; Off, they stay.")),
    STRING("graceTime", partition_spec, grace_time, 0,
        HELP("How long its jobs have to end when they are preempted: 2m; "
             "without it, their own.")),
    INT("maximumRequeues", partition_spec, maximum_requeues, 0,
        HELP("How often its jobs start again when they are interrupted, by "
             "preemption or by the loss of their nodes, before they are "
             "held. 0: as often as the site allows.")),
    STRING("exclusive", partition_spec, exclusive, 0,
        ONE_OF("Node", "User"),
        HELP("Node: each pod has a node to itself. User: a node runs pods "
             "of only one user at a time.")),
    STRING("state", partition_spec, state, 0,
        ONE_OF("Up", "Drain", "Down", "Inactive"),
        HELP("Up; Drain: takes no new jobs; Down: starts none; Inactive: "
             "neither.")),
    STRING("reason", partition_spec, reason, 0,
        HELP("Why it is not up, for people.")),
    BOOL("isDefault", partition_spec, is_default, 0,
        HELP("Jobs that name no partition are in this one.")),
};
static RECORD(partition_spec, partition_spec, "hpc.kiln.v1.PartitionSpec",
       HELP("Nodes, and what jobs may ask for on them."));

static const struct field partition_fields[] = {
    TYPE_META,
    METADATA(partition),
    OBJECT_ROW("spec", partition_spec, AT(partition, spec), ALWAYS,
        HELP("Desired state.")),
};
RECORD(partition, partition, "hpc.kiln.v1.Partition",
       HELP("A set of nodes with limits of its own."));
/* clang-format on */

const struct partition *
partition_of(const struct object *object)
{
    return object->view;
}

/* ---- Look ---- */

bool
partition_takes_jobs(const struct partition *p)
{
    return !text_is(p->spec.state, "Drain") && !text_is(p->spec.state, "Inactive");
}

bool
partition_starts_jobs(const struct partition *p)
{
    return !text_is(p->spec.state, "Down") && !text_is(p->spec.state, "Inactive");
}

enum partition_preemption
partition_preemption_mode(const char *word)
{
    if (text_is(word, "Off"))
        return PREEMPTION_IS_OFF;
    if (text_is(word, "Suspend"))
        return PREEMPTION_SUSPENDS;
    return text_is(word, "Cancel") ? PREEMPTION_CANCELS : PREEMPTION_REQUEUES;
}

enum partition_preemption
partition_preemption(const struct partition *p)
{
    return partition_preemption_mode(p->spec.preemption_mode);
}

bool
partition_is_of_one_user(const struct partition *p)
{
    return text_is(p->spec.exclusive, "User");
}

int64_t
partition_tier(const struct partition *p)
{
    return p->spec.priority_tier > 0 ? p->spec.priority_tier : PARTITION_USUAL_TIER;
}

static const struct object *
find_at(const char *at, size_t length, partition_find_fn *find, void *owner)
{
    char name[NAME_SIZE];

    if (length >= sizeof(name))
        return NULL;
    memcpy(name, at, length);
    name[length] = '\0';
    return find(owner, partition_kind.name, name);
}

/* The smaller limit; 0 means no limit. */
static int64_t
least_of_limits(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

int64_t
partition_tier_of_names(const char *names, partition_find_fn *find, void *owner)
{
    int64_t lowest = INT64_MAX;
    size_t n;

    for (const char *at = names != NULL ? names : ""; (n = partition_next_name(&at)) > 0; at += n) {
        const struct object *object = find_at(at, n, find, owner);
        int64_t tier = object != NULL ? partition_tier(partition_of(object)) : PARTITION_USUAL_TIER;

        if (tier < lowest)
            lowest = tier;
    }
    return lowest < INT64_MAX ? lowest : PARTITION_USUAL_TIER;
}

bool
partition_names_are_of_one_user(const char *names, partition_find_fn *find, void *owner)
{
    size_t n;

    for (const char *at = names != NULL ? names : ""; (n = partition_next_name(&at)) > 0; at += n) {
        const struct object *object = find_at(at, n, find, owner);

        if (object != NULL && partition_is_of_one_user(partition_of(object)))
            return true;
    }
    return false;
}

bool
partition_is_of_one_pod(const struct partition *p)
{
    return text_is(p->spec.exclusive, "Node");
}

bool
partition_names_are_of_one_pod(const char *names, partition_find_fn *find, void *owner,
                               bool *ret_any)
{
    unsigned known = 0, exclusive = 0;
    size_t n;

    for (const char *at = names != NULL ? names : ""; (n = partition_next_name(&at)) > 0; at += n) {
        const struct object *object = find_at(at, n, find, owner);

        known += object != NULL;
        exclusive += object != NULL && partition_is_of_one_pod(partition_of(object));
    }
    *ret_any = exclusive > 0;
    return known > 0 && exclusive == known;
}

int64_t
partition_maximum_requeues(const char *names, partition_find_fn *find, void *owner)
{
    int64_t least = 0;
    size_t n;

    for (const char *at = names != NULL ? names : ""; (n = partition_next_name(&at)) > 0; at += n) {
        const struct object *object = find_at(at, n, find, owner);
        int64_t most = object != NULL ? partition_of(object)->spec.maximum_requeues : 0;

        least = least_of_limits(least, most);
    }
    return least;
}

const struct partition *
partition_find_of_node(const char *names, const struct string_map *labels, partition_find_fn *find,
                       void *owner)
{
    size_t n;

    for (const char *at = names != NULL ? names : ""; (n = partition_next_name(&at)) > 0; at += n) {
        const struct object *object = find_at(at, n, find, owner);

        if (object != NULL && partition_has_node(partition_of(object), labels))
            return partition_of(object);
    }
    return NULL;
}

const struct partition *
partition_find_start(const char *names, const struct string_map *labels, bool has_whole_node,
                     partition_find_fn *find, void *owner)
{
    const struct partition *first = NULL;
    size_t n;

    for (const char *at = names != NULL ? names : ""; (n = partition_next_name(&at)) > 0; at += n) {
        const struct object *object = find_at(at, n, find, owner);
        const struct partition *p = object != NULL ? partition_of(object) : NULL;

        if (p == NULL || !partition_has_node(p, labels))
            continue;
        if (partition_starts_jobs(p) && (has_whole_node || !partition_is_of_one_pod(p)))
            return p;
        if (first == NULL || (!partition_starts_jobs(first) && partition_starts_jobs(p)))
            first = p;
    }
    return first;
}

void
partition_format_state(const struct partition *p, struct strbuf *out)
{
    strbuf_printf(out, "is %s",
                  text_is(p->spec.state, "Drain")      ? "draining"
                  : text_is(p->spec.state, "Down")     ? "down"
                  : text_is(p->spec.state, "Inactive") ? "inactive"
                                                       : "up");
    if (text_is_set(p->spec.reason))
        strbuf_printf(out, " (%.100s)", p->spec.reason);
}

bool
partition_has_all_nodes(const struct partition *p)
{
    const struct label_selector *s = p->spec.selector;

    return s == NULL || (s->match_labels.count == 0 && s->match_expressions.count == 0);
}

bool
partition_has_node(const struct partition *p, const struct string_map *labels)
{
    return p->spec.selector == NULL || label_selector_matches(p->spec.selector, labels);
}

int64_t
partition_time_s(const char *text)
{
    int64_t us = 0, seconds = 0;

    if (!text_is_set(text) || text_is(text, "none"))
        return 0;
    if (timespan_parse(text, &us) == 0)
        return (us + SECOND_US - 1) / SECOND_US;
    return duration_parse(text, &seconds, NULL) == 0 ? seconds : -1;
}

int64_t
partition_given_time_s(const char *default_time, const char *maximum_time)
{
    return least_of_limits(partition_time_s(default_time), partition_time_s(maximum_time));
}

size_t
partition_next_name(const char **at)
{
    *at += strspn(*at, ", ");
    return strcspn(*at, ", ");
}

/* ---- Rules ---- */

static void
set_defaults(struct arena *arena, struct json *partition)
{
    struct json *spec = json_make_object(arena, partition, "spec");

    if (*check_text(spec, "state") == '\0')
        json_set_string(arena, spec, "state", "Up");
    if (*check_text(spec, "preemptionMode") == '\0')
        json_set_string(arena, spec, "preemptionMode", "Requeue");
}

static void
prepare(struct arena *arena, struct json *partition, const struct json *old)
{
    meta_prepare(arena, partition, old);
}

static void
check_time(struct causes *c, const struct json *spec, const char *name)
{
    if (partition_time_s(check_text(spec, name)) < 0)
        causes_add(c, CAUSE_INVALID, name, json_get(spec, name),
                   "must be a time such as 90m, 4h, 4:00:00 or 1-00:00:00, "
                   "or none");
}

static void
check_times(struct causes *c, const struct json *spec)
{
    int64_t usual = partition_time_s(check_text(spec, "defaultTime"));
    int64_t most = partition_time_s(check_text(spec, "maximumTime"));

    check_time(c, spec, "defaultTime");
    check_time(c, spec, "maximumTime");
    check_time(c, spec, "graceTime");
    if (partition_time_s(check_text(spec, "graceTime")) > MOST_GRACE_S)
        causes_add(c, CAUSE_INVALID, "graceTime", json_get(spec, "graceTime"),
                   "must be at most one day");
    if (most > 0 && usual > most)
        causes_add(c, CAUSE_INVALID, "defaultTime", json_get(spec, "defaultTime"),
                   "must not be longer than maximumTime");
}

static void
check_amount(struct causes *c, const struct json *spec, const char *name)
{
    const char *text = check_text(spec, name);

    if (*text != '\0' && quantity_text_value(text) <= 0)
        causes_add(c, CAUSE_INVALID, name, json_get(spec, name),
                   "must be more than 0; leave it out for no limit");
}

/* A comma or a space in a name would make two names of it. */
static void
check_names(struct causes *c, const struct json *spec, const char *field)
{
    const struct json *list = json_get(spec, field);

    if (json_count(list) > MOST_ALLOWED)
        causes_add(c, CAUSE_TOO_MANY, field, NULL,
                   "must have at most %u names; use a group instead", MOST_ALLOWED);
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *text = json_text(json_at(list, i));
        unsigned at = causes_enter_index(c, field, i);

        if (!text_is_set(text) || strpbrk(text, ", @\t\n") != NULL)
            causes_add(c, CAUSE_INVALID, "", json_at(list, i),
                       "must be a name, without @, commas and spaces");
        causes_leave(c, at);
    }
}

static void
validate(struct causes *c, const struct json *partition, const struct json *old)
{
    const struct json *spec = json_get(partition, "spec");
    unsigned at;

    meta_check(c, &partition_kind, NAME_LABEL_VALUE, partition, old);
    at = causes_enter(c, "spec");
    check_label_selector(c, spec, "selector");
    check_times(c, spec);
    check_amount(c, spec, "defaultMemoryPerCPU");
    check_amount(c, spec, "maximumMemory");
    check_amount(c, spec, "maximumCPUs");
    check_not_negative(c, spec, "maximumNodes");
    check_names(c, spec, "allowedUsers");
    check_names(c, spec, "allowedGroups");
    check_names(c, spec, "allowedAccounts");
    check_one_of(c, spec, "state", CHECK_VALUES("Up", "Drain", "Down", "Inactive"));
    check_line(c, spec, "reason", REASON_MAX);
    check_range(c, spec, "priorityTier", 0, MOST_TIER);
    check_range(c, spec, "maximumRequeues", 0, MOST_REQUEUES);
    check_one_of(c, spec, "preemptionMode", CHECK_VALUES("Cancel", "Off", "Requeue", "Suspend"));
    check_one_of(c, spec, "exclusive", CHECK_VALUES("Node", "User"));
    causes_leave(c, at);
}

/* ---- Table ---- */

static void
add_default(struct table_row *row)
{
    table_cell_bool(row, partition_of(row->object)->spec.is_default);
}

static void
add_state(struct table_row *row)
{
    table_cell(row, partition_of(row->object)->spec.state);
}

static void
add_time(struct table_row *row, int64_t seconds)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    if (seconds > 0)
        duration_format(seconds, &out);
    table_cell(row, seconds > 0 ? out.text : "none");
}

static void
add_default_time(struct table_row *row)
{
    const struct partition_spec *spec = &partition_of(row->object)->spec;

    add_time(row, partition_given_time_s(spec->default_time, spec->maximum_time));
}

static void
add_maximum_time(struct table_row *row)
{
    add_time(row, partition_time_s(partition_of(row->object)->spec.maximum_time));
}

static void
add_requeues(struct table_row *row)
{
    const int64_t most = partition_of(row->object)->spec.maximum_requeues;

    if (most > 0)
        table_cell_int(row, most);
    else
        table_cell(row, "any");
}

static void
add_reason(struct table_row *row)
{
    table_cell(row, partition_of(row->object)->spec.reason);
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Default", add_default, "Whether jobs that name no partition are "
                                   "in it.",
        BOOLEAN),
    COLUMN("State", add_state, "Up, Drain, Down or Inactive."),
    COLUMN("Default-Time", add_default_time,
        "The time limit of jobs that ask for none."),
    COLUMN("Time-Limit", add_maximum_time,
        "The longest time limit of a job."),
    TABLE_AGE,
    COLUMN("Requeues", add_requeues,
        "How often an interrupted job starts again.", WIDE),
    COLUMN("Reason", add_reason, "Why it is not up.", WIDE),
};
static const struct table table = {TABLE_COLUMNS(columns)};
/* clang-format on */

static const char *
default_value(const struct object *object, char buffer[64])
{
    (void)buffer;
    return partition_of(object)->spec.is_default ? "default" : NULL;
}

static const struct kind_index indexes[] = {
    [PARTITION_BY_DEFAULT] = {NULL, default_value},
};

const struct kind partition_kind = {
    .group = "kiln.hpc",
    .version = "v1",
    .api_version = "kiln.hpc/v1",
    .name = "Partition",
    .list_name = "PartitionList",
    .plural = "partitions",
    .singular = "partition",
    .flags = KIND_UNCONDITIONAL_UPDATE | KIND_GENERATION | KIND_KILN,
    .record = &partition_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .table = &table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
};
