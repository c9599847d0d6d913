/* SPDX-License-Identifier: Apache-2.0 */
/* People say "1042", "1042_7", "job/7", "n[1-4]" or "pods a b" and mean objects. A number
 * where a job is expected is always its id, whatever the Job's name, because it is the only
 * thing that ksub prints. A name that does not exist is passed on, so that the verb reports it
 * in its own words.
 */
#include "cli/kctl/input/resource.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/input/job_operands.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/spelling.h"
#include "lib/json/json.h"
#include "lib/program/exit_status.h"

#define MOST_TASKS 64   /* that one command shows separately */
#define MOST_JOBS  1000 /* of ranges: one request each */

struct resource_parser {
    struct kctl *kctl;
    struct arena *arena;
    struct named_resources *into;
    size_t capacity;
};

const struct kind *
resource_kind(const char *name, struct error *err)
{
    const struct kind *kind = kind_find_any_name(name);
    const char *names[2 * 64];
    const char *near;
    size_t n = 0;

    if (kind != NULL)
        return kind;
    for (unsigned i = 0; i < n_kinds && n + 2 <= ARRAY_SIZE(names); i++) {
        names[n++] = kinds[i]->plural;
        names[n++] = kinds[i]->singular;
    }
    near = spelling_nearest(name, names, n);
    if (near != NULL)
        error_set(err, -EINVAL, "unknown resource type '%s' (did you mean '%s'?)", name, near);
    else
        error_set(err, -EINVAL,
                  "unknown resource type '%s'; 'kctl api-resources' lists "
                  "them",
                  name);
    return NULL;
}

/* Finds the job with that id. The name made from the id is tried first. If there
 * is none, the object gets that name, so that the verb reports it.
 */
static int
find_job(struct resource_parser *p, struct target_object *object, bool *ret_found,
         struct error *err)
{
    const char *id = object->name;
    struct json *jobs = NULL;
    struct json *job = NULL;
    const struct target_object everywhere = {.kind = &job_kind};
    struct target_object usual = *object;
    int r;

    *ret_found = true;
    usual.name = arena_printf(p->arena, "job-%s", id);
    r = kctl_find(p->kctl, &usual, p->arena, &job, err);
    if (r < 0)
        return r;
    if (json_get_int(json_get(job, "status"), "id", 0) == strtoll(id, NULL, 10)) {
        *object = usual;
        return 0;
    }
    r = kctl_list(p->kctl, &everywhere, NULL, arena_printf(p->arena, "status.id=%s", id), p->arena,
                  &jobs, err);
    if (r < 0)
        return r;
    job = json_at(jobs, 0);
    if (job == NULL) {
        *object = usual;
        *ret_found = false;
        return 0;
    }
    object->name = json_path_text(job, "metadata.name");
    object->namespace = json_path_text(job, "metadata.namespace");
    return 0;
}

static void
append(struct resource_parser *p, const struct target_object *object)
{
    struct named_resources *all = p->into;

    if (all->count == p->capacity) {
        struct target_object *items;

        p->capacity = p->capacity > 0 ? p->capacity * 2 : 8;
        items = arena_new_array(p->arena, struct target_object, p->capacity);
        if (all->count > 0)
            memcpy(items, all->items, all->count * sizeof(*items));
        all->items = items;
    }
    all->items[all->count++] = *object;
}

/* Adds the newest pod of a task; if the task has no pod, its job represents it.
 */
static int
add_task(struct resource_parser *p, const struct target_object *job, int64_t index,
         const char *task, struct error *err)
{
    struct target_object object = *job;
    struct json *pods = NULL;
    int r = job_pods_of_index(p->kctl, job, index, p->arena, &pods, err);

    if (r < 0)
        return r;
    if (json_count(pods) > 0) {
        object.kind = &pod_kind;
        object.name = json_path_text(json_at(pods, json_count(pods) - 1), "metadata.name");
    }
    object.task = task;
    append(p, &object);
    return 0;
}

/* Adds "1042_7" or "1042_[3-9]". */
static int
add_tasks(struct resource_parser *p, const struct kind *kind, const char *text,
          const struct job_elements *elements, struct error *err)
{
    struct target_object object = {.kind = &job_kind, .namespace = kctl_namespace(p->kctl)};
    const struct job_elements meant = *elements;
    struct task_list all;
    struct json *job = NULL;
    const char *tasks;
    bool is_there;
    int r;

    if (meant.tasks.total > MOST_TASKS)
        return error_set(err, -EINVAL,
                         "'%s' means %" PRId64 " tasks; at most %d can be "
                         "shown",
                         text, meant.tasks.total, MOST_TASKS);
    object.name = arena_printf(p->arena, "%" PRId64, meant.job);
    r = find_job(p, &object, &is_there, err);
    if (r == 0)
        r = kctl_get(p->kctl, &object, p->arena, &job, err);
    if (r < 0)
        return r;
    tasks = json_path_text(job, "spec.array.tasks");
    if (tasks == NULL)
        return error_set(err, -EINVAL, "'%s': job %" PRId64 " is not a job array", text, meant.job);
    r = task_list_parse(p->arena, tasks, &all, err);
    for (int64_t i = 0; r == 0 && i < meant.tasks.total; i++) {
        const int64_t id = task_list_at(&meant.tasks, i);
        const int64_t index = task_list_index(&all, id);

        if (index < 0)
            return error_set(err, -ENOENT, "job %" PRId64 " has no task %" PRId64 "; it has %.80s",
                             meant.job, id, tasks);
        r = add_task(p, &object, index,
                     arena_printf(p->arena, "%" PRId64 "_%" PRId64, meant.job, id), err);
        if (r == 0 && kind == &pod_kind && p->into->items[p->into->count - 1].kind != &pod_kind)
            return error_set(err, -ENOENT,
                             "task %" PRId64 "_%" PRId64 " has no pod: it has "
                             "not started, or has ended; 'kctl get job "
                             "%" PRId64 "_%" PRId64 "' shows which",
                             meant.job, id, meant.job, id);
    }
    return r;
}

/* Adds the jobs "7", or those of "10-20" that exist. */
static int
add_range(struct resource_parser *p, const struct id_range *range, struct error *err)
{
    const bool is_one = range->first == range->last;
    bool is_any = false;

    for (int64_t id = range->first; id <= range->last; id++) {
        struct target_object object = {
            .kind = &job_kind,
            .namespace = kctl_namespace(p->kctl),
            .name = arena_printf(p->arena, "%" PRId64, id),
        };
        bool is_there;
        int r = find_job(p, &object, &is_there, err);

        if (r < 0)
            return r;
        if (is_there || is_one)
            append(p, &object);
        is_any = is_any || is_there || is_one;
    }
    if (is_any)
        return 0;
    return error_set(err, -ENOENT, "there is no job from %" PRId64 " to %" PRId64, range->first,
                     range->last);
}

static int
refuse_tasks(const struct resource_parser *p, const struct kind *kind, const char *text,
             struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%s' names tasks of a job array, but this command works "
                     "on whole %s; %s",
                     text, kind->plural,
                     p->kctl->for_tasks != NULL ? p->kctl->for_tasks
                                                : "'kctl cancel', 'hold', 'release', "
                                                  "'requeue' and 'get' also accept tasks");
}

/* Adds "7", "5,6", "10-20", "1042_7", "1042_[3-9]" or a list of them. */
static int
add_ids(struct resource_parser *p, const struct kind *kind, const char *text, struct error *err)
{
    struct id_ranges ids = {0};
    int r = id_ranges_add(&ids, text, p->arena, err);

    if (r == 0 && ids.n_elements > 0 && !p->kctl->takes_tasks)
        r = refuse_tasks(p, kind, text, err);
    if (r == 0 && ids.total > MOST_JOBS)
        r = error_set(err, -EINVAL,
                      "'%s' means %" PRId64 " jobs; this command accepts at "
                      "most %d",
                      text, ids.total, MOST_JOBS);
    for (size_t i = 0; i < ids.count && r == 0; i++)
        r = add_range(p, &ids.items[i], err);
    for (size_t i = 0; i < ids.n_elements && r == 0; i++)
        r = add_tasks(p, kind, text, &ids.elements[i], err);
    return r;
}

/* Adds "n[1-4],n9". */
static int
add_nodes(struct resource_parser *p, const char *list, struct error *err)
{
    const char **names = NULL;
    size_t count = 0;
    int r = hostlist_expand(p->arena, list, &names, &count, err);

    for (size_t i = 0; i < count; i++) {
        const struct target_object node = {.kind = &node_kind, .name = names[i]};

        append(p, &node);
    }
    return r;
}

static int
add(struct resource_parser *p, const struct kind *kind, const char *name, struct error *err)
{
    struct target_object object = {.kind = kind, .name = name};

    if (name != NULL && name[0] == '\0') /* it would mean all of them */
        return error_set(err, -EINVAL, "an empty %s name was given", kind->singular);
    if (name != NULL && kind == &job_kind && job_operands_refuse_step(name, err) < 0)
        return -EINVAL;
    if (name != NULL && kind == &node_kind && hostlist_looks_like(name))
        return add_nodes(p, name, err);
    if (name != NULL
        && ((kind == &job_kind && id_ranges_looks_like(name))
            || (kind == &pod_kind && job_elements_looks_like(name))))
        return add_ids(p, kind, name, err);
    if ((kind->flags & KIND_NAMESPACED) != 0)
        object.namespace = kctl_namespace(p->kctl);
    append(p, &object);
    return 0;
}

/* Adds "pod/a". */
static int
add_pair(struct resource_parser *p, const char *text, struct error *err)
{
    const char *slash = strchr(text, '/');
    const struct kind *kind =
        resource_kind(arena_strndup(p->arena, text, (size_t)(slash - text)), err);

    if (kind == NULL)
        return -EINVAL;
    if (slash[1] == '\0')
        return error_set(err, -EINVAL, "'%s' has no name after the slash", text);
    return add(p, kind, slash + 1, err);
}

/* Adds a category: "all" means several types. */
static bool
add_category(struct resource_parser *p, const char *name)
{
    bool any = false;

    for (unsigned i = 0; i < n_kinds; i++)
        for (const char *const *c = kinds[i]->categories; c != NULL && *c != NULL; c++)
            if (strcmp(*c, name) == 0)
                any = add(p, kinds[i], NULL, NULL) == 0;
    return any;
}

/* Adds "pods" or "nodes,pods", with or without names after it. */
static int
add_type(struct resource_parser *p, const char *types, int n_names, char **names, struct error *err)
{
    char *copy = arena_strdup(p->arena, types);
    char *rest = NULL;
    int r = 0;

    for (char *type = strtok_r(copy, ",", &rest); type != NULL && r == 0;
         type = strtok_r(NULL, ",", &rest)) {
        const struct kind *kind;

        if (n_names == 0 && add_category(p, type))
            continue;
        kind = resource_kind(type, err);
        if (kind == NULL)
            return -EINVAL;
        if (n_names == 0)
            r = add(p, kind, NULL, err);
        for (int i = 0; i < n_names && r == 0; i++)
            r = add(p, kind, names[i], err);
    }
    return r;
}

static int
add_default(struct resource_parser *p, const struct kind *kind, const char *text, struct error *err)
{
    if (strchr(text, '/') != NULL)
        return add_pair(p, text, err);
    return add(p, kind, text, err);
}

/* "kctl drain node n7" and "kctl logs pod a" name the type, which is allowed
 * but not needed.
 */
static bool
is_needless_type(const struct kind *kind, int n_operands, char **operands)
{
    return n_operands > 1 && kind_find_any_name(operands[0]) == kind
           && strchr(operands[0], '/') == NULL;
}

int
resource_parse(struct kctl *kctl, const struct kind *default_kind, int n_operands, char **operands,
               struct arena *arena, struct named_resources *ret_resources, struct error *err)
{
    struct resource_parser p = {.kctl = kctl, .arena = arena, .into = ret_resources};
    int r = 0;
    int i = 0;

    memset(ret_resources, 0, sizeof(*ret_resources));
    if (n_operands == 0)
        return error_set(err, -EINVAL,
                         default_kind != NULL ? "which %s?"
                                              : "a resource type is required, "
                                                "such as nodes, pods or jobs",
                         default_kind != NULL ? default_kind->singular : "");
    if (default_kind == NULL && id_ranges_looks_like(operands[0]))
        default_kind = &job_kind;
    if (default_kind != NULL) {
        if (is_needless_type(default_kind, n_operands, operands))
            i = 1;
        for (; i < n_operands && r == 0; i++)
            r = add_default(&p, default_kind, operands[i], err);
        return r;
    }
    if (strchr(operands[0], '/') == NULL)
        return add_type(&p, operands[0], n_operands - 1, operands + 1, err);
    for (; i < n_operands && r == 0; i++) {
        if (strchr(operands[i], '/') == NULL)
            return error_set(err, -EINVAL, "'%s' is not TYPE/NAME like the other arguments",
                             operands[i]);
        r = add_pair(&p, operands[i], err);
    }
    return r;
}

int
resource_parse_one(struct kctl *kctl, const struct kind *default_kind, int n_operands,
                   char **operands, struct arena *arena, struct target_object *ret_object,
                   struct error *err)
{
    struct named_resources resources;
    int r = resource_parse(kctl, default_kind, n_operands, operands, arena, &resources, err);

    if (r < 0)
        return r;
    if (resources.count == 1 && resources.items[0].name != NULL) {
        *ret_object = resources.items[0];
        return 0;
    }
    kctl->exit_code = EXIT_STATUS_USAGE; /* also after a request for the resource types */
    if (resources.count > 1)
        return error_set(err, -EINVAL, "give the name of one object; these are %zu",
                         resources.count);
    return error_set(err, -EINVAL, "give the name of one object");
}

int
resource_parse_nodes(struct kctl *kctl, int n_operands, char **operands, struct arena *arena,
                     const char ***ret_names, size_t *ret_count, struct error *err)
{
    struct named_resources nodes = {0};
    const char **names;
    int r = 0;

    if (n_operands > 0)
        r = resource_parse(kctl, &node_kind, n_operands, operands, arena, &nodes, err);
    names = arena_new_array(arena, const char *, nodes.count + 1);
    for (size_t i = 0; r == 0 && i < nodes.count; i++) {
        if (nodes.items[i].kind != &node_kind)
            r = error_set(err, -EINVAL, "'%s/%s' is not a node", nodes.items[i].kind->singular,
                          nodes.items[i].name);
        names[i] = nodes.items[i].name;
    }
    *ret_names = names;
    *ret_count = nodes.count;
    return r;
}

static int
add_members(struct resource_parser *p, const struct target_object *collection,
            const char *label_selector, struct error *err)
{
    struct json *items = NULL;
    int r = kctl_list(p->kctl, collection, label_selector, NULL, p->arena, &items, err);

    for (uint32_t i = 0; i < json_count(items); i++) {
        struct target_object member = *collection;

        member.name = json_path_text(json_at(items, i), "metadata.name");
        append(p, &member);
    }
    return r;
}

int
resource_select(struct kctl *kctl, const struct kind *default_kind, int n_operands, char **operands,
                const char *label_selector, bool all, struct arena *arena,
                struct named_resources *ret_resources, struct error *err)
{
    struct named_resources named = {0};
    struct resource_parser p = {.kctl = kctl, .arena = arena, .into = ret_resources};
    char *whole[] = {NULL, NULL};
    int r;

    memset(ret_resources, 0, sizeof(*ret_resources));
    if (n_operands == 0 && default_kind != NULL && (label_selector != NULL || all)) {
        whole[0] = arena_strdup(arena, default_kind->plural);
        return resource_select(kctl, NULL, 1, whole, label_selector, all, arena, ret_resources,
                               err);
    }
    r = resource_parse(kctl, default_kind, n_operands, operands, arena, &named, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < named.count && r == 0; i++) {
        const struct target_object *o = &named.items[i];

        if (o->name != NULL && label_selector != NULL)
            return error_set(err, -EINVAL, "names cannot be combined with a selector");
        if (o->name == NULL && label_selector == NULL && !all)
            return error_set(err, -EINVAL,
                             "which %s? Give names, or select with -l "
                             "LABEL=VALUE or --all",
                             o->kind->plural);
        if (o->name != NULL)
            append(&p, o);
        else
            r = add_members(&p, o, label_selector, err);
    }
    return r;
}
