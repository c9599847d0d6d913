/* SPDX-License-Identifier: Apache-2.0 */
/* admission_dependency.c - the jobs that a job depends on exist, and do not
 * depend on it
 *
 * A dependency names a job by its number; this rule fills in the other members
 * of spec.dependencies, whatever the request has there. A job that the
 * principal may not read is refused with the same message as one that never
 * existed. A new job has the highest number, so only an update can create a
 * cycle: then the dependencies are followed, up to a limit.
 *
 * A person's dependency that can never be met is refused, because the job would
 * end as soon as it exists, or, at a site that keeps such jobs, wait for ever.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/objects/ended_job.h"
#include "controller/apiserver/objects/gone_jobs.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/value/index_set.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MOST_FOLLOWED 10000 /* jobs, in the search for a cycle; */
#define MOST_EDGES    20000 /* and their dependencies in total */

static bool
refuse(struct request *q, const struct json *tree, const char *why)
{
    return admission_refuse(q, tree, "Dependencies", why);
}

/* ---- The named jobs ---- */

static bool
find_first(const struct object *object, void *context)
{
    *(const struct object **)context = object;
    return false;
}

static const struct object *
find_job(const struct request *q, int64_t id)
{
    const struct object *object = NULL;
    char value[DECIMAL_SIZE];

    store_visit_index(q->server->store, &job_kind, JOB_BY_ID, STORE_PENDING, decimal_of(id, value),
                      find_first, &object);
    return object;
}

static bool
may_read(const struct request *q, const struct object *job)
{
    uid_t owner;

    switch (authorization_scope(q->principal->type, VERB_GET, &job_kind, SUBRESOURCE_NONE)) {
    case SCOPE_ALL:
        return true;
    case SCOPE_MEMBERS:
        return membership_has(q->server->membership, job->meta->namespace, q->principal);
    case SCOPE_OWN:
        return object_owner(job, &owner) && owner == q->principal->uid;
    default:
        return false;
    }
}

static bool
refuse_unknown(struct request *q, const struct json *tree, const struct json *one)
{
    const char *type = json_get_text(one, "type");
    const char *tasks = json_get_text(one, "tasks");
    const int64_t id = json_get_int(one, "job", 0);

    if (tasks != NULL)
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "%s:%" PRId64 "_[%.80s]: there is no job "
                                   "%" PRId64 ", and history has no row of "
                                   "such a task ('kctl history %" PRId64 "' "
                                   "shows its tasks)",
                                   type, id, tasks, id, id));
    return refuse(q, tree,
                  arena_printf(q->arena,
                               "%s:%" PRId64 ": there is no job %" PRId64 " "
                               "('kctl jobs' lists waiting and running jobs)",
                               type, id, id));
}

/* ---- Tasks ---- */

static bool
tidy_tasks(struct request *q, const struct json *tree, struct json *one,
           enum job_dependency_type type)
{
    const char *tasks = json_get_text(one, "tasks");
    struct error err = {0};

    if (type == DEPENDENCY_CORR)
        return refuse(q, tree,
                      "aftercorr pairs the tasks of two arrays by their "
                      "numbers and names no task; to wait for some tasks, "
                      "use afterok");
    if (tasks == NULL || strlen(tasks) > JOB_DEPENDENCY_TASKS_MAX)
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "tasks must be a list of numbers such as "
                                   "3-9, of at most %d bytes",
                                   JOB_DEPENDENCY_TASKS_MAX));
    if (job_dependency_tidy_tasks(q->arena, &tasks, &err) < 0)
        return refuse(q, tree, arena_printf(q->arena, "tasks: %s", err.text));
    json_set_string(q->arena, one, "tasks", tasks);
    return true;
}

static bool
has_tasks(struct request *q, const struct json *tree, const struct json *one, const struct job *job)
{
    const int64_t id = json_get_int(one, "job", 0);
    struct task_list wanted, all, missing;
    struct error err = {0};

    if (!job_is_array(job))
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "job %" PRId64 " is not an array and has "
                                   "no tasks; use %s:%" PRId64 " to wait for "
                                   "it",
                                   id, json_get_text(one, "type"), id));
    if (task_list_parse(q->arena, json_get_text(one, "tasks"), &wanted, &err) < 0
        || task_list_parse(q->arena, job->spec.array->tasks, &all, &err) < 0
        || task_sets_subtract(q->arena, &wanted, &all, &missing, &err) < 0)
        return refuse(q, tree, arena_strdup(q->arena, err.text));
    if (missing.total == 0)
        return true;
    return refuse(q, tree,
                  arena_printf(q->arena, "array %" PRId64 " has no task %" PRId64 "; it has %.80s",
                               id, task_list_at(&missing, 0), job->spec.array->tasks));
}

/* A dependency that was resolved before keeps the job that it was resolved to,
 * also when that job is gone.
 */
static const struct job_dependency *
find_before(const struct object *old_object, int64_t id, const char *tasks)
{
    const struct job_dependencies *all =
        old_object != NULL ? job_of(old_object)->spec.dependencies : NULL;

    for (unsigned i = 0; all != NULL && i < all->jobs.count; i++)
        if (all->jobs.items[i].job == id && all->jobs.items[i].uid != NULL
            && text_equals_loosely(all->jobs.items[i].tasks, tasks))
            return &all->jobs.items[i];
    return NULL;
}

/* Only a delay depends on when a job has begun that is gone. */
static void
note_end(struct request *q, struct json *one, const char *state, const char *began)
{
    json_set_string(q->arena, one, "ended", state);
    if (began != NULL && json_get_int(one, "delaySeconds", 0) > 0)
        json_set_string(q->arena, one, "endedStartTime", began);
}

static const char *
began_before(struct request *q, const struct job_dependency *before)
{
    char *text = arena_alloc(q->arena, TIME_TEXT_SIZE);

    if (before->ended_began_at_us == 0)
        return NULL;
    time_format(before->ended_began_at_us, false, text);
    return text;
}

static void
fill(struct request *q, struct json *one, const char *uid, const char *namespace, const char *name)
{
    json_set_string(q->arena, one, "uid", uid);
    json_set_string(q->arena, one, "namespace", namespace);
    json_set_string(q->arena, one, "name", name);
}

static bool
resolve(struct request *q, const struct json *tree, const struct object *old_object,
        struct json *one, enum job_dependency_type type)
{
    const int64_t id = json_get_int(one, "job", 0);
    const char *tasks = json_get_text(one, "tasks"), *key;
    const struct job_dependency *before = find_before(old_object, id, tasks);
    const struct object *job = find_job(q, id);
    const struct ended_job *gone = NULL;

    if (json_get_int(one, "delaySeconds", 0) < 0
        || (json_get(one, "delaySeconds") != NULL && type != DEPENDENCY_AFTER))
        return refuse(q, tree, "delaySeconds requires after, and must be positive");
    if (old_object != NULL && id == job_of(old_object)->status.id && id != 0)
        return refuse(q, tree, "a job cannot wait for itself");
    if (json_get(one, "tasks") != NULL && !tidy_tasks(q, tree, one, type))
        return false;
    if (before != NULL && (job == NULL || strcmp(job->meta->uid, before->uid) != 0)) {
        fill(q, one, before->uid, before->namespace, before->name);
        if (before->ended != NULL)
            note_end(q, one, before->ended, began_before(q, before));
        return true;
    }
    if (job == NULL && q->gone_jobs != NULL)
        gone = (key = gone_jobs_key(q->arena, one)) != NULL ? map_find(q->gone_jobs, key) : NULL;
    if (gone != NULL) {
        fill(q, one, gone->uid, gone->namespace, gone->name);
        note_end(q, one, job_state_words(gone->state)->name, gone->began);
        return true;
    }
    if (job == NULL || !may_read(q, job))
        return refuse_unknown(q, tree, one);
    if (json_get(one, "tasks") != NULL && !has_tasks(q, tree, one, job_of(job)))
        return false;
    fill(q, one, job->meta->uid, job->meta->namespace, job->meta->name);
    return true;
}

static bool
resolve_all(struct request *q, const struct json *tree, const struct object *old_object,
            struct json *list)
{
    static const char *const ours[] = {"uid", "namespace", "name", "ended", "endedStartTime"};

    for (uint32_t i = 0; i < json_count(list); i++) {
        struct json *one = json_at(list, i);
        const char *word = json_get_text(one, "type");
        const enum job_dependency_type type = job_dependency_type_of(word);

        for (size_t k = 0; k < ARRAY_SIZE(ours); k++)
            json_remove(one, ours[k]);
        if (type == DEPENDENCY_NONE)
            return refuse(q, tree,
                          arena_printf(q->arena, "'%.32s' is not a type of dependency",
                                       word != NULL ? word : ""));
        if (type == DEPENDENCY_SINGLETON) {
            json_remove(one, "job");
            json_remove(one, "tasks");
            json_remove(one, "delaySeconds");
        } else if (!resolve(q, tree, old_object, one, type))
            return false;
    }
    return true;
}

/* ---- Cycles ---- */

/* The jobs that are depended on, directly or indirectly. */
struct cycle_search {
    const struct request *q;
    const char *uid; /* of the job that must not be among them */
    struct map *seen;
    const struct object **jobs;
    size_t count, edges;
    bool is_found;
};

static void
follow(struct cycle_search *s, const char *uid, int64_t id)
{
    const struct object *job;

    if (uid == NULL || s->is_found || s->count == MOST_FOLLOWED || s->edges++ >= MOST_EDGES
        || map_find(s->seen, uid) != NULL)
        return;
    job = find_job(s->q, id);
    if (job == NULL || strcmp(job->meta->uid, uid) != 0)
        return;
    s->is_found = strcmp(uid, s->uid) == 0;
    map_put(s->seen, uid, s);
    s->jobs[s->count++] = job;
}

static bool
admit_no_circle(struct request *q, const struct json *tree, const struct object *old_object,
                const struct json *list)
{
    struct cycle_search s = {
        .q = q,
        .uid = old_object->meta->uid,
        .seen = map_new(),
        .jobs = arena_new_array(q->arena, const struct object *, MOST_FOLLOWED),
    };

    for (uint32_t i = 0; i < json_count(list); i++)
        follow(&s, json_get_text(json_at(list, i), "uid"),
               json_get_int(json_at(list, i), "job", 0));
    for (size_t at = 0; at < s.count && !s.is_found && s.edges <= MOST_EDGES; at++) {
        const struct job *job = job_of(s.jobs[at]);
        const struct job_dependencies *all = job->spec.dependencies;

        for (unsigned i = 0; job_waits_for_others(job) && i < all->jobs.count; i++)
            follow(&s, all->jobs.items[i].uid, all->jobs.items[i].job);
    }
    map_free(s.seen);
    if (s.is_found)
        return refuse(q, tree,
                      "one of these jobs waits for this job, so neither "
                      "could ever start");
    if (s.count == MOST_FOLLOWED || s.edges > MOST_EDGES)
        return refuse(q, tree,
                      "the chain of dependencies before this job is too long "
                      "to be checked for cycles; submit a new job that waits "
                      "for them");
    return true;
}

/* ---- Dependencies that can never be met ---- */

/* How many of the tasks that a request names are looked up among those that
 * failed; with more, the job is accepted, and ends when the job controller
 * judges it.
 */
#define MOST_TASKS 10000

/* A held job is judged when it is released: until then somebody may requeue a
 * task that failed.
 */
static bool
is_held(const struct json *tree)
{
    return json_get(json_get_path(tree, "metadata.annotations"), ANNOTATION_HOLD) != NULL
           || json_is_true(json_get_path(tree, "spec.suspend"));
}

/* A task that is requeued is no longer among those that failed. */
static bool
has_failed_task(struct request *q, const struct job *array, const char *tasks, int64_t *left,
                int64_t *ret_task)
{
    struct index_set failed = {0};
    struct task_list wanted, all;
    struct error err = {0};
    bool has_failed = false;

    if (*left <= 0 || array->status.failed_indexes == NULL
        || task_list_parse(q->arena, tasks, &wanted, &err) < 0
        || task_list_parse(q->arena, array->spec.array->tasks, &all, &err) < 0)
        return false;
    index_set_parse(&failed, array->status.failed_indexes);
    for (int64_t i = 0; i < wanted.total && (*left)-- > 0 && !has_failed; i++) {
        *ret_task = task_list_at(&wanted, i);
        has_failed = index_set_has(&failed, task_list_index(&all, *ret_task));
    }
    index_set_fini(&failed);
    return has_failed;
}

/* NONE: it has not ended, or nothing is known. */
static enum job_state
find_end(struct request *q, const struct json *tree, const struct json *one, int64_t *left,
         int64_t *ret_task)
{
    const char *ended = json_get_text(one, "ended"), *uid = json_get_text(one, "uid");
    const char *tasks = json_get_text(one, "tasks");
    const struct object *object = find_job(q, json_get_int(one, "job", 0));
    enum job_state state;

    if (ended != NULL)
        return job_state_of_name(ended);
    if (object == NULL || uid == NULL || strcmp(object->meta->uid, uid) != 0)
        return JOB_STATE_NONE;
    if (tasks != NULL)
        return !is_held(tree) && has_failed_task(q, job_of(object), tasks, left, ret_task)
                   ? JOB_STATE_FAILED
                   : JOB_STATE_NONE;
    state = job_find_state(job_of(object));
    return job_state_is_ended(state) ? state : JOB_STATE_NONE;
}

/* Returns NULL, or why the dependency can never be met. Tasks of an array wait
 * for one task each (aftercorr), so the end of the whole array says nothing. Of
 * the tasks that are waited for together, one that failed is enough.
 */
static const char *
find_never_met(struct request *q, const struct json *tree, const struct json *one, int64_t *left)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct job_dependency d = {
        .type = json_get_text(one, "type"),
        .job = json_get_int(one, "job", 0),
        .tasks = json_get_text(one, "tasks"),
    };
    const enum job_dependency_type type = job_dependency_type_of(d.type);
    int64_t task = -1;
    enum job_state state;

    if (type == DEPENDENCY_SINGLETON || type == DEPENDENCY_CORR)
        return NULL;
    state = find_end(q, tree, one, left, &task);
    if (state == JOB_STATE_NONE || (task >= 0 && type != DEPENDENCY_OK)
        || job_dependency_judge_end(type, state) != DEPENDENCY_IS_NEVER_MET)
        return NULL;
    job_dependency_format(&d, &text);
    if (task >= 0)
        strbuf_printf(&text, " can never be met: job %" PRId64 "_%" PRId64 " has failed", d.job,
                      task);
    else
        strbuf_printf(&text, " can never be met: job %" PRId64 " has ended as %s", d.job,
                      job_state_words(state)->name);
    strbuf_printf(&text,
                  " ('kctl history %" PRId64 "' shows how it ended; afterany waits for any end)",
                  d.job);
    return arena_strdup(q->arena, text.text);
}

/* Jobs that no person asks for at this moment, as those of a CronJob, are
 * accepted, and end.
 */
static bool
admit_hope(struct request *q, const struct json *tree, const struct json *all)
{
    const struct json *list = json_get(all, "jobs");
    const bool is_any = text_equals_loosely(json_get_text(all, "require"), "Any");
    const char *first = NULL;
    int64_t left = MOST_TASKS; /* to be looked up */

    if (!principal_is_person(q->principal))
        return true;
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *why = find_never_met(q, tree, json_at(list, i), &left);

        if (why == NULL && is_any)
            return true;
        if (why != NULL && !is_any)
            return refuse(q, tree, why);
        if (first == NULL)
            first = why;
    }
    return first == NULL || refuse(q, tree, first);
}

/* ---- The rule ---- */

/* Whether a request has the present dependencies; it may leave out members that
 * the server has filled in.
 */
static bool
is_said_again(const struct json *is, const struct json *was)
{
    const struct json *list = json_get(is, "jobs");
    const struct json *old = json_get(was, "jobs");

    if (!text_equals_loosely(json_get_text(is, "require"), json_get_text(was, "require"))
        || json_count(list) != json_count(old) || (is == NULL) != (was == NULL))
        return false;
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *a = json_at(list, i), *b = json_at(old, i);

        if (!text_equals_loosely(json_get_text(a, "type"), json_get_text(b, "type"))
            || json_get_int(a, "job", 0) != json_get_int(b, "job", 0)
            || !text_equals_loosely(json_get_text(a, "tasks"), json_get_text(b, "tasks"))
            || json_get_int(a, "delaySeconds", 0) != json_get_int(b, "delaySeconds", 0))
            return false;
    }
    return true;
}

static bool
has_begun(const struct request *q, const struct object *job)
{
    const struct object *pod = NULL;

    if (job_of(job)->status.attempts > 0 || job_of(job)->status.active > 0)
        return true;
    store_visit_index(q->server->store, &pod_kind, POD_BY_JOB, STORE_PENDING, job->meta->uid,
                      find_first, &pod);
    return pod != NULL;
}

bool
dependencies_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *all = json_get_path(tree, "spec.dependencies");
    struct json *list = json_get(all, "jobs");
    const struct json *was = NULL;

    if (q->route.subresource != SUBRESOURCE_NONE)
        return true;
    if (old_object != NULL)
        was = json_get_path(request_old_tree(q, old_object), "spec.dependencies");
    if (is_said_again(all, was)) {
        if (all != NULL)
            json_set(q->arena, json_get(tree, "spec"), "dependencies", json_dup(q->arena, was));
        return true;
    }
    if (old_object != NULL && job_is_finished(job_of(old_object)))
        return refuse(q, tree, "it has ended already");
    if (old_object != NULL && has_begun(q, old_object))
        return refuse(q, tree, "it has started, and no longer waits for anything");
    if (json_count(list) == 0)
        return true; /* no dependencies, or none any more */
    if (json_count(list) > JOB_DEPENDENCIES_MOST)
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "a job can wait for at most %u others; put "
                                   "a job in between that waits for more",
                                   JOB_DEPENDENCIES_MOST));
    /* Parts of the tree may be shared with the old tree. */
    all = json_dup(q->arena, all);
    json_set(q->arena, json_get(tree, "spec"), "dependencies", all);
    list = json_get(all, "jobs");
    return resolve_all(q, tree, old_object, list)
           && (old_object == NULL || admit_no_circle(q, tree, old_object, list))
           && admit_hope(q, tree, all);
}
