/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/verbs/element_change.h"

#include <inttypes.h>

#include "controller/apiserver/objects/element_requeue.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/job_change.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The elements that a change concerns, and the list of the array that they are
 * added to or removed from. Scratch memory is freed at the end; the patch
 * remains.
 */
struct element_edit {
    struct arena *scratch;
    struct task_list meant;
    struct task_list list;
    const char *unknown; /* a message about tasks that the array does not have
                          */
};

static struct json *
refuse(struct job_change_call *c, const char *why)
{
    c->words = why;
    c->is_refused = true;
    return NULL;
}

static const char *
format(struct arena *arena, const struct task_list *list)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    task_list_format(list, &text);
    return text.length > 0 ? arena_strdup(arena, text.text) : "";
}

/* Returns false when nothing can be changed; c->words says why. */
static bool
begin(struct job_change_call *c, const char *list, struct element_edit *e)
{
    const struct job *job = job_of(c->object);
    struct error err = {0};
    struct task_list all, unknown;

    c->words = "has ended already";
    if (!job_is_array(job))
        refuse(c, "is not a job array; give only its number");
    else if (job_is_finished(job))
        ;
    else if (task_list_parse(e->scratch, job->spec.array->tasks, &all, &err) < 0
             || task_list_parse(e->scratch, list != NULL ? list : "", &e->list, &err) < 0
             || task_sets_intersect(e->scratch, &all, c->tasks, &e->meant, &err) < 0)
        refuse(c, arena_strdup(c->arena, err.text));
    else if (e->meant.total == 0) {
        c->is_absent = true;
        c->words = arena_printf(c->arena, "the array has no such task; it has %.80s",
                                job->spec.array->tasks);
    } else {
        if (e->meant.total < c->tasks->total
            && task_sets_subtract(e->scratch, c->tasks, &all, &unknown, NULL) == 0)
            e->unknown = arena_printf(c->arena, "; the array has no task%s %.80s",
                                      unknown.total == 1 ? "" : "s", format(c->arena, &unknown));
        return true;
    }
    return false;
}

/* Adds the tasks that the array does not have, so that nobody reads the outcome
 * as that of all tasks.
 */
static const char *
with_unknown(const struct job_change_call *c, const struct element_edit *e, const char *words)
{
    return e->unknown != NULL ? arena_concat(c->arena, words, e->unknown) : words;
}

/* The patch has the Job's resourceVersion, so that it fails if the list was
 * changed after it was read.
 */
static struct json *
finish(struct job_change_call *c, const char *name, const struct element_edit *e,
       const struct task_list *now, const char *done, const char *nothing)
{
    struct json *patch = json_object(c->arena);
    int64_t count =
        now->total > e->list.total ? now->total - e->list.total : e->list.total - now->total;

    c->words = with_unknown(c, e, nothing);
    if (count == 0)
        return NULL;
    c->words = with_unknown(c, e, done);
    json_set_string(c->arena,
                    json_make_object(c->arena, json_make_object(c->arena, patch, "spec"), "array"),
                    name, format(c->arena, now));
    json_set_string(c->arena, json_make_object(c->arena, patch, "metadata"), "resourceVersion",
                    c->object->meta->resource_version);
    return patch;
}

struct json *
element_change_cancel(struct job_change_call *c)
{
    CLEANUP(arena_freep) struct arena *scratch = arena_new(0);
    const struct job_array *array = job_of(c->object)->spec.array;
    struct error err = {0};
    struct element_edit e = {.scratch = scratch};
    struct task_list now;

    if (!begin(c, array != NULL ? array->cancelled : NULL, &e))
        return NULL;
    if (task_sets_unite(scratch, &e.list, &e.meant, &now, &err) < 0)
        return refuse(c, arena_strdup(c->arena, err.text));
    return finish(c, "cancelled", &e, &now, "cancelled", "cancelled already");
}

struct json *
element_change_hold(struct job_change_call *c)
{
    CLEANUP(arena_freep) struct arena *scratch = arena_new(0);
    const struct job_array *array = job_of(c->object)->spec.array;
    struct error err = {0};
    struct element_edit e = {.scratch = scratch};
    struct task_list now;

    if (!begin(c, array != NULL ? array->held : NULL, &e))
        return NULL;
    if (task_sets_unite(scratch, &e.list, &e.meant, &now, &err) < 0)
        return refuse(c, arena_strdup(c->arena, err.text));
    return finish(c, "held", &e, &now, "held; running pods are not affected", "held already");
}

struct json *
element_change_release(struct job_change_call *c)
{
    CLEANUP(arena_freep) struct arena *scratch = arena_new(0);
    const struct job *job = job_of(c->object);
    struct error err = {0};
    struct element_edit e = {.scratch = scratch};
    struct task_list now;

    if (!begin(c, job->spec.array != NULL ? job->spec.array->held : NULL, &e))
        return NULL;
    if (task_sets_subtract(scratch, &e.list, &e.meant, &now, &err) < 0)
        return refuse(c, arena_strdup(c->arena, err.text));
    return finish(c, "held", &e, &now,
                  job_is_held(job) ? "released; the whole array is still held" : "released",
                  job_is_held(job) ? arena_printf(c->arena,
                                                  "not held by itself; 'kctl release "
                                                  "%" PRId64 "' releases the whole array",
                                                  job->status.id)
                                   : "not held");
}

/* ---- Requeue ---- */

static const char *
explain_nothing(struct job_change_call *c, const struct element_edit *e,
                const struct element_requeue *found)
{
    if (found->n_cancelled > 0)
        return arena_printf(c->arena,
                            "cancelled tasks cannot run again; 'ksub -a "
                            "%.80s' submits %s again",
                            format(c->arena, &e->meant), e->meant.total == 1 ? "it" : "them");
    return e->meant.total == 1 ? "has not started yet" : "none of these has started yet";
}

static struct json *
requeue(struct job_change_call *c, bool is_held)
{
    CLEANUP(arena_freep) struct arena *scratch = arena_new(0);
    const struct job *job = job_of(c->object);
    const struct job_array *array = job->spec.array;
    struct error err = {0};
    struct element_edit e = {.scratch = scratch};
    struct element_requeue found;
    struct json *patch, *spec;
    struct task_list held;

    if (!begin(c, array != NULL ? array->held : NULL, &e)) {
        if (array != NULL && job_is_finished(job) && !c->is_refused)
            return refuse(c, arena_printf(c->arena, "has ended as a whole, and does not "
                                                    "start again; 'ksub -a LIST' submits "
                                                    "its tasks again"));
        return NULL;
    }
    if (job_is_cancelled(job))
        return refuse(c, "is ending: the whole array was cancelled");
    if (e.meant.total > ELEMENT_REQUEUE_MOST)
        return refuse(c, arena_printf(c->arena,
                                      "this means %" PRId64 " tasks; one request "
                                      "can requeue at most %d",
                                      e.meant.total, ELEMENT_REQUEUE_MOST));
    if (element_requeue_find(c->server->store, c->object, &e.meant, c->arena, &found, &err) < 0)
        return refuse(c, arena_strdup(c->arena, err.text));
    c->words = with_unknown(c, &e, explain_nothing(c, &e, &found));
    if (found.tasks.total == 0)
        return NULL;
    patch = json_object(c->arena);
    spec = json_make_object(c->arena, json_make_object(c->arena, patch, "spec"), "array");
    json_set_int(c->arena, spec, "requeues", array->requeues + 1);
    if (is_held) {
        if (task_sets_unite(scratch, &e.list, &e.meant, &held, &err) < 0)
            return refuse(c, arena_strdup(c->arena, err.text));
        json_set_string(c->arena, spec, "held", format(c->arena, &held));
    }
    json_set_string(c->arena, json_make_object(c->arena, patch, "metadata"), "resourceVersion",
                    c->object->meta->resource_version);
    c->requeued = arena_memdup(c->arena, &found.tasks, sizeof(found.tasks));
    c->words = arena_printf(c->arena,
                            found.tasks.total < e.meant.total ? "requeued%s; %" PRId64
                                                                " of %" PRId64 " had started"
                                                              : "requeued%s",
                            is_held ? " and held" : "", found.tasks.total, e.meant.total);
    c->words = with_unknown(c, &e, c->words);
    return patch;
}

struct json *
element_change_requeue(struct job_change_call *c)
{
    return requeue(c, false);
}

struct json *
element_change_requeue_and_hold(struct job_change_call *c)
{
    return requeue(c, true);
}
