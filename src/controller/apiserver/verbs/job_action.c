/* SPDX-License-Identifier: Apache-2.0 */
/* `kctl cancel` of ten thousand jobs must be one request, but no job may be changed by other
 * rules than a single one would be. So it is a list of ordinary patches, with all steps each,
 * started a few at a time and in slices; one that is refused is a line of the answer. Which
 * jobs are meant is decided once, at the beginning, and whether each is still in the wanted
 * state again at its turn.
 */
#include "controller/apiserver/verbs/job_action.h"

#include <string.h>

#include "controller/apiserver/access/audit.h"
#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/job_placement.h"
#include "controller/apiserver/objects/selection.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/verbs/job_action_request.h"
#include "controller/apiserver/verbs/job_change.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/http/http_request.h"
#include "lib/json/json.h"

#define PATH         "/kiln/v1/jobs/"
#define MOST         ID_RANGES_MOST
#define LOOKED_AT    64  /* objects examined in one call of the slice */
#define STARTED      4   /* patches in one call: each takes some 100 us */
#define MOST_PENDING 256 /* patches that wait for the disk */

/* One of the patches. */
struct patching {
    struct job_action *action;
    const struct chosen *which;
    int64_t id;
    const char *owner;
    const char *done; /* the message after success */
};

/* ---- The answer ---- */

void
job_action_add_result(struct job_action *a, const struct chosen *which, int64_t id,
                      const char *outcome, const char *message)
{
    struct arena *arena = a->q->arena;
    struct json *result = json_object(arena);

    if (id > 0)
        json_set_int(arena, result, "id", id);
    if (which->elements != NULL) {
        CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;

        task_list_format(&which->elements->tasks, &tasks);
        json_set_string(arena, result, "tasks", tasks.text);
    }
    if (which->name != NULL) {
        json_set_string(arena, result, "name", which->name);
        json_set_string(arena, result, "namespace", which->namespace);
    }
    json_set_string(arena, result, "outcome", outcome);
    json_set_string(arena, result, "message", message);
    json_append(arena, a->results, result);
}

/* Whether the request only counts: as a dry run, or because of `atMost`. */
static bool
is_too_many(const struct job_action *a)
{
    return a->is_dry_run || (a->at_most > 0 && a->count > a->at_most);
}

static void
finish(struct job_action *a)
{
    struct request *q = a->q;
    struct json *tree = json_object(q->arena);

    json_set_string(q->arena, tree, "action", a->change->name);
    json_set_int(q->arena, tree, "count", a->count);
    json_set_int(q->arena, tree, "running", a->n_running);
    if (!is_too_many(a))
        json_set(q->arena, tree, "jobs", a->results);
    else if (!a->is_dry_run)
        json_set_bool(q->arena, tree, "isTooMany", true);
    if (a->is_more)
        json_set_string(q->arena, tree, "continue", a->last);
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
}

/* ---- The changes ---- */

/* A shorter text than the refusal of a request for one job. */
static const char *
explain_refusal(struct request *inner, const char *owner, struct arena *arena)
{
    const struct json *tree = inner->reply.tree;
    const char *message = json_get_text(tree, "message");

    if (inner->reply.code == 403 && inner->scope == SCOPE_OWN && owner != NULL)
        return arena_printf(arena,
                            "user '%s' cannot change it, because it belongs "
                            "to '%s'",
                            inner->principal->name, owner);
    if (inner->reply.code == 409)
        return "it was changed by another request just now; try again";
    return message != NULL ? arena_strdup(arena, message)
                           : arena_printf(arena, "refused with HTTP status %d", inner->reply.code);
}

/* "updated; warning: the job can never run: ..." */
static const char *
describe_success(const struct patching *p, const struct request *inner, struct arena *arena)
{
    const char *words = p->done;

    for (size_t i = 0; i < inner->reply.n_warnings; i++)
        words = arena_printf(arena, "%s; warning: %s", words, inner->reply.warnings[i]);
    return words;
}

static bool start_next(struct time_slice *time_slice);

static void
patched(struct request *inner)
{
    struct patching *p = inner->context;
    struct job_action *a = p->action;

    audit_note(inner, &a->from, "", true);
    if (inner->reply.code < 300)
        job_action_add_result(a, p->which, p->id, "Done", describe_success(p, inner, a->q->arena));
    else
        job_action_add_result(a, p->which, p->id, inner->reply.code == 404 ? "NotFound" : "Refused",
                              inner->reply.code == 404
                                  ? "there is no such job"
                                  : explain_refusal(inner, p->owner, a->q->arena));
    a->n_done++;
    request_free(inner);
    /* Within start_next the slice goes on anyway. */
    if (!a->is_working) {
        a->is_working = true;
        time_slices_add(a->q->server->time_slices, &a->time_slice, start_next);
    }
}

static bool
is_own(const struct request *q, const struct object *object)
{
    uid_t uid;

    return object_owner(object, &uid) && uid == q->principal->uid;
}

static struct json *
make_patch(const struct job_action *a, const struct chosen *which, struct job_change_call *call)
{
    if (which->elements == NULL)
        return a->change->make(call);
    call->tasks = &which->elements->tasks;
    if (a->change->make_of_elements != NULL)
        return a->change->make_of_elements(call);
    call->words = a->change->refusal;
    call->is_refused = true;
    return NULL;
}

/* By what the pods do now: the status of a Job is written a little later. */
static bool
has_state(const struct job_action *a, const struct object *object)
{
    return a->states == 0
           || (a->states & JOB_STATE_BIT(job_placement_state(a->q->server, object))) != 0;
}

static void
patch(struct job_action *a, const struct chosen *which)
{
    struct request *q = a->q;
    const struct object *object =
        which->name != NULL
            ? store_find(q->server->store, STORE_PENDING, &job_kind, which->namespace, which->name)
            : NULL;
    const struct job *job;
    struct request *inner;
    struct patching *p;
    struct job_change_call call = {
        .server = q->server,
        .principal = q->principal,
        .object = object,
        .update = a->update,
    };
    const char *owner;

    if (object == NULL) {
        job_action_add_result(a, which, which->id, "NotFound", "there is no such job");
        a->n_done++;
        return;
    }
    job = job_of(object);
    /* It may have started since it was chosen. The state of an array says little of some tasks. */
    if (which->elements == NULL && !has_state(a, object)) {
        job_action_add_result(
            a, which, job->status.id, "Nothing",
            arena_printf(q->arena, "is %s by now",
                         job_state_words(job_placement_state(q->server, object))->name));
        a->n_done++;
        return;
    }
    inner = request_new(q->server, arena_new(0));
    call.arena = inner->arena;
    inner->body = make_patch(a, which, &call);
    if (inner->body == NULL) {
        job_action_add_result(a, which, job->status.id,
                              call.is_absent    ? "TaskNotFound"
                              : call.is_refused ? "Refused"
                                                : "Nothing",
                              arena_strdup(q->arena, call.words));
        a->n_done++;
        request_free(inner);
        return;
    }
    owner = string_map_find(&object->meta->annotations, ANNOTATION_USER);
    p = arena_alloc(q->arena, sizeof(*p));
    *p = (struct patching){
        .action = a,
        .which = which,
        .id = job->status.id,
        .owner = owner != NULL && !is_own(q, object) ? arena_strdup(q->arena, owner) : NULL,
        .done = arena_strdup(q->arena, call.words),
    };
    inner->requeued_tasks = call.requeued;
    inner->signal = call.signal;
    inner->principal = q->principal;
    inner->agent = q->agent;
    inner->method = HTTP_PATCH;
    inner->format = BODY_MERGE_PATCH;
    inner->route = (struct route){
        .verb = VERB_PATCH,
        .kind = &job_kind,
        .namespace = which->namespace,
        .name = which->name,
    };
    inner->done = patched;
    inner->context = p;
    verbs_start(inner, NULL, 0);
}

/* ---- The choice ---- */

static bool
is_ending(const struct object *object)
{
    return job_is_finished(job_of(object)) || job_find_state(job_of(object)) == JOB_STATE_ENDING
           || string_map_find(&object->meta->annotations, ANNOTATION_CANCEL) != NULL;
}

/* Counts only jobs that are not ending yet. */
void
job_action_choose(struct job_action *a, const struct object *object, int64_t id,
                  const struct job_elements *elements)
{
    struct arena *arena = a->q->arena;
    const struct job *job = object != NULL ? job_of(object) : NULL;
    struct chosen *c;

    if (job != NULL && !is_ending(object)) {
        a->count++;
        a->n_running +=
            job_state_words(job_placement_state(a->q->server, object))->class == JOB_STATE_RUNS;
    }
    if (is_too_many(a))
        return;
    if (a->n_chosen == a->capacity) {
        const size_t capacity = a->capacity > 0 ? 2 * a->capacity : 64;
        struct chosen *more = arena_new_array(arena, struct chosen, capacity);

        if (a->n_chosen > 0)
            memcpy(more, a->chosen, a->n_chosen * sizeof(*more));
        a->chosen = more;
        a->capacity = capacity;
    }
    c = &a->chosen[a->n_chosen++];
    *c = (struct chosen){.id = id, .elements = elements};
    if (object == NULL)
        return;
    c->namespace = arena_strdup(arena, object->meta->namespace);
    c->name = arena_strdup(arena, object->meta->name);
}

/* All in one turn: the arrays are few (ID_RANGES_ARRAYS_MOST). */
static void
choose_elements(struct job_action *a)
{
    for (size_t i = 0; i < a->ids.n_elements; i++) {
        const struct job_elements *e = &a->ids.elements[i];

        job_action_choose(a, store_find_job_id(a->q->server->store, STORE_PENDING, e->job), e->job,
                          e);
    }
}

static void
choose_ids(struct job_action *a)
{
    for (unsigned n = 0; n < LOOKED_AT; n++) {
        if (a->at_range == a->ids.count) {
            choose_elements(a);
            a->is_chosen = true;
            return;
        }
        if (a->at_id == 0)
            a->at_id = a->ids.items[a->at_range].first;
        job_action_choose(a, store_find_job_id(a->q->server->store, STORE_PENDING, a->at_id),
                          a->at_id, NULL);
        if (a->at_id++ == a->ids.items[a->at_range].last) {
            a->at_range++;
            a->at_id = 0;
        }
    }
}

static const char *
find_job_name(const struct object *object)
{
    const char *name = string_map_find(&object->meta->annotations, ANNOTATION_JOB_NAME);

    return name != NULL ? name : object->meta->name;
}

static bool
is_meant(const struct job_action *a, const struct object *object)
{
    if (a->q->scope == SCOPE_OWN && !is_own(a->q, object))
        return false;
    if (!has_state(a, object))
        return false;
    return a->pattern == NULL || text_matches(a->pattern, find_job_name(object));
}

static bool
visit(const struct object *object, void *context)
{
    struct job_action *a = context;

    if (job_is_finished(job_of(object)) || !is_meant(a, object))
        return true;
    if (a->n_chosen == MOST) {
        a->is_more = true;
        return false;
    }
    job_action_choose(a, object, 0, NULL);
    object_key(object, a->last);
    return true;
}

static void
choose_some(struct job_action *a)
{
    selection_visit_some(a->q, &a->place, 0, LOOKED_AT, visit, a);
    a->is_chosen = a->place.after[0] == '\0' || a->is_more;
}

/* The controller stops: starts no further patch; those under way are waited
 * for.
 */
static void
give_up_rest(struct job_action *a)
{
    for (; a->n_started < a->n_chosen; a->n_started++, a->n_done++)
        job_action_add_result(a, &a->chosen[a->n_started], a->chosen[a->n_started].id, "Refused",
                              "the controller is stopping; try again");
}

static bool
start_next(struct time_slice *time_slice)
{
    struct job_action *a = container_of(time_slice, struct job_action, time_slice);

    if (!a->is_chosen) {
        if (a->is_selection)
            choose_some(a);
        else
            choose_ids(a);
        return true;
    }
    if (a->q->server->is_closing)
        give_up_rest(a);
    for (unsigned n = 0; n < STARTED && !is_too_many(a) && a->n_started < a->n_chosen
                         && a->n_started - a->n_done < MOST_PENDING;
         n++)
        patch(a, &a->chosen[a->n_started++]);
    if (is_too_many(a) || a->n_done == a->n_chosen) {
        finish(a);
        return false;
    }
    a->is_working = a->n_started < a->n_chosen && a->n_started - a->n_done < MOST_PENDING;
    return a->is_working;
}

/* ---- The request ---- */

/* Checks the right to patch jobs, before any job is looked up; each patch
 * checks the rights on its job again.
 */
static bool
check_rights(struct request *q)
{
    char who[320];

    q->scope = authorization_scope(q->principal->type, VERB_PATCH, &job_kind, SUBRESOURCE_NONE);
    if (q->scope == SCOPE_ALL || q->scope == SCOPE_OWN)
        return true;
    reply_forbidden(&q->reply, &job_kind, NULL, "%s cannot change jobs",
                    principal_describe(q->principal, who));
    return false;
}

static struct json *
parse(struct request *q)
{
    struct json *body;

    if (q->length > BODY_LIMIT) {
        body_refuse_size(q);
        return NULL;
    }
    body = json_parse(q->arena, q->text, q->length, NULL, NULL);
    if (!json_is(body, JSON_OBJECT)) {
        reply_bad_request(&q->reply, "the body must say in JSON which jobs to change");
        return NULL;
    }
    return body;
}

bool
job_action_serve(struct request *q, const char *path, const struct http_peer *from)
{
    const struct job_change *change;
    struct job_action *a;
    const struct json *body;

    if (strncmp(path, PATH, strlen(PATH)) != 0)
        return false;
    change = job_change_find(path + strlen(PATH));
    if (change == NULL)
        return false;
    a = arena_alloc(q->arena, sizeof(*a));
    memset(a, 0, sizeof(*a));
    a->q = q;
    a->from = *from;
    a->change = change;
    a->results = json_array(q->arena);
    if (q->method != HTTP_POST)
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 405,
                                  .reason = "MethodNotAllowed",
                                  .message = "change jobs with POST",
                              });
    else if (check_rights(q)) {
        q->route.kind = &job_kind;
        q->route.verb = VERB_LIST;
        body = parse(q);
        if (body != NULL && job_action_read(a, body)) {
            a->is_working = true;
            time_slices_add(q->server->time_slices, &a->time_slice, start_next);
            return true;
        }
    }
    request_finish(q);
    return true;
}
