/* SPDX-License-Identifier: Apache-2.0 */
/* Stages refer to each other by name, while dependencies are stored as numbers, which exist
 * only once the Jobs do. So the Jobs are created in the order of the list within one
 * transaction, and each name is replaced by a number that was issued a moment ago; a stage can
 * only name one before it, hence no cycle. Jobs that are gone are looked up in history first,
 * because a transaction cannot wait.
 *
 * The numbers of a pipeline are consecutive, as nothing comes between them in a transaction. A
 * repeated request is therefore answered from the keys alone, even when some of the Jobs are
 * gone by then.
 */
#include "controller/apiserver/pipeline.h"
#include "controller/apiserver/access/account_names.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/audit.h"
#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/kinds/submission_key.h"
#include "controller/apiserver/marks/node_reports.h"
#include "controller/apiserver/objects/gone_jobs.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/create.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/http/http_request.h"
#include "lib/json/json.h"

#define PATH        "/kiln/v1/pipelines"
#define MOST_VALUES 200000u
#define NAME_MOST   63
#define KEY_MOST    (SUBMISSION_KEY_MAX - 4) /* ".127" follows */

struct stage {
    const char *name;
    struct request *create; /* of the stage's Job */
};

struct pipeline {
    struct request *q;
    struct http_peer from;
    const char *key; /* or NULL */
    bool is_dry_run;
    struct stage *stages;
    unsigned count;
    unsigned searched; /* stages whose gone jobs were looked up */
};

/* ---- The end ---- */

static void
free_creates(struct pipeline *p)
{
    for (unsigned i = 0; i < p->count; i++)
        request_free(p->stages[i].create);
    p->count = 0;
}

/* The refusal of one stage refuses the whole pipeline. */
static void
refuse_for(struct pipeline *p, const struct stage *stage)
{
    struct request *q = p->q;
    struct reply *r = &stage->create->reply;
    const char *message = json_get_text(r->tree, "message");
    struct json *tree = json_dup(q->arena, r->tree);

    audit_note(stage->create, &p->from, "", true);
    json_set(q->arena, tree, "message",
             json_stringf(q->arena, "stage '%s': %s", stage->name,
                          message != NULL ? message : "it is refused"));
    reply_tree(&q->reply, r->code, tree);
    q->reply.retry_after_s = r->retry_after_s;
    free_creates(p);
}

static struct json *
describe(struct pipeline *p, unsigned i, int64_t id, const char *name, const char *namespace)
{
    struct arena *arena = p->q->arena;
    const struct reply *r = &p->stages[i].create->reply;
    struct json *one = json_object(arena);
    struct json *warnings = json_array(arena);

    json_set_string(arena, one, "name", p->stages[i].name);
    json_set_int(arena, one, "id", id);
    json_set_string(arena, one, "job", name);
    json_set_string(arena, one, "namespace", namespace);
    for (size_t k = 0; k < r->n_warnings; k++)
        json_append(arena, warnings, json_string(arena, r->warnings[k]));
    if (json_count(warnings) > 0)
        json_set(arena, one, "warnings", warnings);
    return one;
}

static void
reply_with(struct pipeline *p, int code, struct json *list)
{
    struct json *tree = json_object(p->q->arena);

    json_set(p->q->arena, tree, "stages", list);
    reply_tree(&p->q->reply, code, tree);
}

/* ---- The transaction ---- */

static void
committed(int outcome, void *context)
{
    struct pipeline *p = context;

    if (outcome < 0)
        reply_not_stored(&p->q->reply, outcome);
    for (unsigned i = 0; i < p->count; i++) {
        struct request *create = p->stages[i].create;

        if (outcome < 0)
            reply_not_stored(&create->reply, outcome);
        audit_note(create, &p->from, "", true);
    }
    free_creates(p);
    request_finish(p->q);
}

static const struct stage *
find_stage(const struct pipeline *p, unsigned before, const char *name)
{
    for (unsigned i = 0; i < before; i++)
        if (strcmp(p->stages[i].name, name) == 0)
            return &p->stages[i];
    return NULL;
}

/* Replaces the names of stages by the numbers that their Jobs have just got. */
static bool
resolve(struct pipeline *p, unsigned at)
{
    struct request *create = p->stages[at].create;
    struct json *list = json_get_path(create->body, "spec.dependencies.jobs");

    for (uint32_t i = 0; i < json_count(list); i++) {
        struct json *one = json_at(list, i);
        const char *name = json_get_text(one, "stage");
        const struct stage *stage;

        if (name == NULL)
            continue;
        stage = find_stage(p, at, name);
        if (stage == NULL) {
            reply_bad_request(&create->reply,
                              "it waits for stage '%.64s', which is not listed before it", name);
            return false;
        }
        json_remove(one, "stage");
        json_set_int(create->arena, one, "job", stage->create->job_id);
    }
    return true;
}

static bool
create_stage(struct pipeline *p, struct store_txn *txn, unsigned i)
{
    struct request *create = p->stages[i].create;

    create->job_id = store_txn_job_id(txn);
    if (resolve(p, i) && create_job_within(create, txn))
        return true;
    /* When another submission used the key, this stage has not succeeded. */
    if (create->reply.code < 300)
        reply_conflict(&create->reply, &job_kind, "", p->stages[i].name,
                       "another job was submitted with this key");
    return false;
}

static void
create_all(struct pipeline *p)
{
    struct store_txn *txn = store_begin(p->q->server->store);
    struct json *list = json_array(p->q->arena);

    for (unsigned i = 0; i < p->count; i++) {
        const struct object *job;

        if (!create_stage(p, txn, i)) {
            store_rollback(txn);
            refuse_for(p, &p->stages[i]);
            request_finish_durably(p->q);
            return;
        }
        job = p->stages[i].create->reply.object;
        json_append(p->q->arena, list,
                    describe(p, i, job_of(job)->status.id, job->meta->name, job->meta->namespace));
    }
    user_limits_charge_requests(p->q, p->count - 1);
    reply_with(p, 201, list);
    if (!p->is_dry_run) {
        store_commit(txn, committed, p);
        return;
    }
    store_rollback(txn);
    free_creates(p);
    request_finish_durably(p->q);
}

/* ---- A repeated request ---- */

/* Returns true, with the reply made, when Jobs with this key exist. Their
 * numbers are consecutive, because one transaction created them; so the number
 * of each stage is known even if its Job is gone.
 */
static bool
reply_submitted(struct pipeline *p)
{
    struct json *list = json_array(p->q->arena);
    const struct object *found = NULL;
    int64_t first = 0;

    for (unsigned i = 0; i < p->count && found == NULL; i++) {
        found = submission_key_find(p->stages[i].create);
        if (found != NULL)
            first = job_of(found)->status.id - i;
    }
    if (found == NULL)
        return false;
    if (!submission_key_is_same(p->stages[0].create, found)) {
        reply_conflict(&p->q->reply, &job_kind, "", found->meta->name,
                       "another pipeline was submitted with the key \"%s\"", p->key);
        return true;
    }
    for (unsigned i = 0; i < p->count; i++) {
        const struct object *job = submission_key_find(p->stages[i].create);

        json_append(p->q->arena, list,
                    describe(p, i, first + i, job != NULL ? job->meta->name : "",
                             p->stages[i].create->route.namespace));
    }
    reply_with(p, 200, list);
    return true;
}

/* ---- Dependencies on jobs that are gone ---- */

static void search_next(struct pipeline *p);

static void
stage_searched(struct request *create)
{
    search_next(create->context);
}

/* History cannot answer now. */
static void
stage_failed(struct request *create)
{
    struct pipeline *p = create->context;

    refuse_for(p, &p->stages[p->searched - 1]);
    request_finish(p->q);
}

static void
create_all_then(bool may_issue, void *context)
{
    struct pipeline *p = context;

    if (may_issue) {
        create_all(p);
        return;
    }
    free_creates(p);
    node_reports_refuse(p->q);
    request_finish(p->q);
}

static void
search_next(struct pipeline *p)
{
    if (p->searched < p->count) {
        gone_jobs_find(p->stages[p->searched++].create, stage_searched);
        return;
    }
    if (p->key != NULL && reply_submitted(p)) {
        free_creates(p);
        request_finish_durably(p->q);
    } else if (p->is_dry_run)
        create_all(p);
    else
        node_reports_wait(p->q->server->node_reports, 0, create_all_then, p);
}

/* ---- The request ---- */

static bool
check_name(struct pipeline *p, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    if (name == NULL || name[0] == '\0' || strlen(name) > NAME_MOST
        || strspn(name, letters) != strlen(name)) {
        reply_bad_request(&p->q->reply,
                          "stage %u: expected a name of at most %d letters, "
                          "digits, dots, dashes and underscores",
                          p->count + 1, NAME_MOST);
        return false;
    }
    if (find_stage(p, p->count, name) == NULL)
        return true;
    reply_bad_request(&p->q->reply, "there are two stages '%s'", name);
    return false;
}

static struct request *
new_create(struct pipeline *p, struct json *job)
{
    struct request *q = p->q;
    struct request *create = request_new(q->server, arena_new(0));
    const char *namespace = json_path_text(job, "metadata.namespace");

    create->principal = q->principal;
    create->agent = q->agent;
    create->method = HTTP_POST;
    create->format = BODY_JSON;
    create->body = job;
    create->text = q->text;
    create->length = q->length;
    create->options.validation = VALIDATION_STRICT;
    create->options.is_dry_run = p->is_dry_run;
    create->route = (struct route){
        .verb = VERB_CREATE,
        .kind = &job_kind,
        .namespace = namespace != NULL ? account_names_resolve(q, namespace) : "default",
    };
    if (p->key != NULL && !p->is_dry_run)
        create->submission_key = arena_printf(create->arena, "%s.%u", p->key, p->count);
    create->done = stage_failed;
    create->context = p;
    return create;
}

static bool
read_stage(struct pipeline *p, const struct json *stage)
{
    const char *name = json_get_text(stage, "name");
    struct json *job = json_get(stage, "job");
    struct stage *s;

    if (!check_name(p, name))
        return false;
    s = &p->stages[p->count];
    s->name = name;
    if (!json_is(job, JSON_OBJECT)) {
        reply_bad_request(&p->q->reply, "stage '%s': expected a Job", name);
        return false;
    }
    s->create = new_create(p, job);
    p->count++;
    if (body_parse(s->create) && authorization_check(s->create))
        return true;
    refuse_for(p, s);
    return false;
}

static bool
read_body(struct pipeline *p)
{
    struct request *q = p->q;
    struct error err = {0};
    const struct json *body =
        json_parse_bounded(q->arena, q->text, q->length, MOST_VALUES, NULL, &err);
    const struct json *stages = json_get(body, "stages");
    const uint32_t count = json_count(stages);

    if (!json_is(stages, JSON_ARRAY) || count == 0) {
        reply_bad_request(&q->reply,
                          "%s%sthe body must contain the stages of a pipeline "
                          "in JSON",
                          err.text, err.text[0] != '\0' ? "; " : "");
        return false;
    }
    if (count > PIPELINE_STAGES_MOST) {
        reply_bad_request(&q->reply,
                          "a pipeline can have at most %u stages, not %u; a "
                          "second pipeline can wait for the job ids of the "
                          "first",
                          PIPELINE_STAGES_MOST, (unsigned)count);
        return false;
    }
    p->key = json_get_text(body, "key");
    p->is_dry_run = json_is_true(json_get(body, "dryRun"));
    if (p->key != NULL && (p->key[0] == '\0' || strlen(p->key) > KEY_MOST)) {
        reply_bad_request(&q->reply, "the key must have 1 to %d characters", KEY_MOST);
        return false;
    }
    p->stages = arena_new_array(q->arena, struct stage, count);
    for (uint32_t i = 0; i < count; i++)
        if (!read_stage(p, json_at(stages, i)))
            return false;
    return true;
}

bool
pipeline_serve(struct request *q, const char *path, const struct http_peer *from)
{
    struct pipeline *p;

    if (strcmp(path, PATH) != 0)
        return false;
    if (q->method != HTTP_POST) {
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 405,
                                  .reason = "MethodNotAllowed",
                                  .message = "submit pipelines with POST",
                              });
        request_finish(q);
        return true;
    }
    p = arena_alloc(q->arena, sizeof(*p));
    *p = (struct pipeline){.q = q, .from = *from};
    q->route.kind = &job_kind;
    q->route.verb = VERB_LIST; /* each Job has its own line in the audit log */
    if (read_body(p)) {
        search_next(p);
        return true;
    }
    free_creates(p);
    request_finish(q);
    return true;
}
