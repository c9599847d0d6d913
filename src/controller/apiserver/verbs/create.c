/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - POST to a collection: decode, default, admit, validate, put */
#include "controller/apiserver/verbs/create.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/marks/node_reports.h"
#include "controller/apiserver/objects/content.h"
#include "controller/apiserver/objects/first_status.h"
#include "controller/apiserver/objects/gone_jobs.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/apply.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/cluster/event.h"
#include "lib/api/job/job.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define ANNOTATION_DIGEST "kiln.hpc/submission-digest"
#define NAME_RANDOM       5
#define NAME_BASE_MAX     58 /* bytes of a longer generateName that are kept */

/* Fields that only the server sets. */
static const char *const system_fields[] = {
    "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation", "selfLink",
};

static bool
check_meta(struct request *q, struct json *tree)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *namespace = json_get_text(meta, "namespace");
    const char *version = json_get_text(meta, "resourceVersion");

    if (!(q->route.kind->flags & KIND_NAMESPACED))
        json_remove(meta, "namespace");
    else if (namespace != NULL && namespace[0] != '\0'
             && strcmp(namespace, q->route.namespace) != 0) {
        reply_bad_request(&q->reply, "the namespace of the provided object does not "
                                     "match the namespace sent on the request");
        return false;
    } else
        json_set_string(q->arena, meta, "namespace", q->route.namespace);
    /* A dry run never comes to the store, which is what refuses it. */
    if (version != NULL && version[0] != '\0' && !q->options.is_dry_run) {
        reply_internal(&q->reply, "resourceVersion should not be set on objects to be "
                                  "created");
        return false;
    }
    return true;
}

static bool
exists(struct request *q, const char *name)
{
    return store_find(q->server->store, STORE_PENDING, kind_stored(q->route.kind),
                      q->route.namespace, name)
               != NULL
           || store_is_damaged(q->server->store, kind_stored(q->route.kind), q->route.namespace,
                               name);
}

static const char *
random_name(struct request *q, const char *prefix)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *name;

    do {
        unsigned char bytes[NAME_RANDOM];
        char suffix[NAME_RANDOM + 1] = "";

        random_bytes(bytes, sizeof(bytes));
        for (unsigned i = 0; i < NAME_RANDOM; i++)
            suffix[i] = letters[bytes[i] % (sizeof(letters) - 1)];
        name = arena_printf(q->arena, "%.*s%s", NAME_BASE_MAX, prefix, suffix);
    } while (exists(q, name));
    return name;
}

/* A Job's id comes from the store; a generated name of a Job ends in the id. */
static void
set_name(struct request *q, struct json *tree)
{
    struct json *meta = json_get(tree, "metadata");
    const char *name = json_get_text(meta, "name");
    const char *prefix = json_get_text(meta, "generateName");
    bool has_name = name != NULL && name[0] != '\0';

    if (q->job_id != 0 && !has_name && prefix != NULL)
        name = arena_printf(q->arena, "%s%" PRId64, prefix, q->job_id);
    else if (!has_name && prefix != NULL && prefix[0] != '\0')
        name = random_name(q, prefix);
    if (name != NULL)
        json_set_string(q->arena, meta, "name", name);
}

static void
set_system_fields(struct request *q, struct json *tree)
{
    struct json *meta = json_get(tree, "metadata");
    char uid[UUID_SIZE];
    char now[TIME_TEXT_SIZE];

    for (unsigned i = 0; i < ARRAY_SIZE(system_fields); i++)
        json_remove(meta, system_fields[i]);
    random_uuid(uid);
    json_set_string(q->arena, meta, "uid", uid);
    time_format(clock_real_us(q->server->clock), false, now);
    json_set_string(q->arena, meta, "creationTimestamp", now);
    if (q->route.kind->flags & KIND_GENERATION)
        json_set_int(q->arena, meta, "generation", 1);
}

static bool
validate(struct request *q, struct json *tree)
{
    const struct kind *kind = q->route.kind;
    const char *name = json_path_text(tree, "metadata.name");
    struct causes causes;

    if (kind->validate == NULL)
        return true;
    causes_init(&causes, q->arena);
    kind->validate(&causes, tree, NULL);
    if (causes.count == 0)
        return true;
    reply_invalid(&q->reply, kind_stored(kind)->group, kind->name, name != NULL ? name : "",
                  &causes);
    return false;
}

static bool
check_absent(struct request *q, const struct json *tree)
{
    const char *name = json_path_text(tree, "metadata.name");
    const struct object *object = store_find(q->server->store, STORE_PENDING,
                                             kind_stored(q->route.kind), q->route.namespace, name);

    if (object == NULL)
        return !write_is_damaged(q, 409, q->route.kind, q->route.namespace, name);
    reply_exists(&q->reply, q->route.kind, name);
    if (object->meta->deleted_at_us != 0)
        json_set(q->arena, q->reply.tree, "message",
                 json_stringf(q->arena, "object is being deleted: %s",
                              json_get_text(q->reply.tree, "message")));
    return false;
}

static bool
find_first(const struct object *object, void *context)
{
    *(const struct object **)context = object;
    return false;
}

static void
digest_body(struct request *q, char out[DIGEST_HEX_SIZE])
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct digest digest;

    if (q->text != NULL)
        digest_of(q->text, q->length, &digest);
    else {
        json_print(q->body, &text);
        digest_of(text.text, text.length, &digest);
    }
    digest_format(&digest, out);
}

const struct object *
create_find_submitted(const struct request *q)
{
    const struct object *object = NULL;
    const char *value =
        arena_printf(q->arena, "%u/%s", (unsigned)q->principal->uid, q->submission_key);

    store_visit_index(q->server->store, &job_kind, JOB_BY_SUBMISSION, STORE_PENDING, value,
                      find_first, &object);
    return object;
}

static bool
has_digest(const struct object *job, const char *digest)
{
    const char *before = string_map_find(&job->meta->annotations, ANNOTATION_DIGEST);

    return before != NULL && strcmp(before, digest) == 0;
}

bool
create_is_same_submission(struct request *q, const struct object *job)
{
    char digest[DIGEST_HEX_SIZE];

    digest_body(q, digest);
    return has_digest(job, digest);
}

/* Replies with the Job of an earlier submission with this key: a 200, or a 409
 * if its body differed. Returns false when there is none.
 */
static bool
reply_submitted(struct request *q, const char *digest)
{
    const struct object *object = create_find_submitted(q);

    if (object == NULL)
        return false;
    if (has_digest(object, digest))
        reply_object(&q->reply, 200, object);
    else
        reply_conflict(&q->reply, q->route.kind, "", object->meta->name,
                       "another job was submitted with the Idempotency-Key "
                       "\"%s\"",
                       q->submission_key);
    return true;
}

static void
set_annotation(struct request *q, struct json *tree, const char *name, const char *value)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");

    json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"), name, value);
}

static bool
is_for_another(const struct request *q, struct json *tree)
{
    const struct json *context = json_get_path(tree, "spec.template.spec.securityContext");
    int64_t uid = json_get_int(context, "runAsUser", q->principal->uid);

    return uid != (int64_t)q->principal->uid;
}

/* Returns false when the reply is made. */
static bool
check_submission(struct request *q, struct json *tree)
{
    char digest[DIGEST_HEX_SIZE];
    struct json *annotations = json_get_path(tree, "metadata.annotations");

    if (annotations != NULL) {
        json_remove(annotations, ANNOTATION_SUBMISSION);
        json_remove(annotations, ANNOTATION_SUBMITTER);
        json_remove(annotations, ANNOTATION_DIGEST);
    }
    if (q->submission_key == NULL || q->route.kind != &job_kind)
        return true;
    if (strlen(q->submission_key) > SUBMISSION_KEY_MAX) {
        reply_bad_request(&q->reply, "the Idempotency-Key is longer than %d characters",
                          SUBMISSION_KEY_MAX);
        return false;
    }
    digest_body(q, digest);
    if (reply_submitted(q, digest))
        return false;
    set_annotation(q, tree, ANNOTATION_SUBMISSION, q->submission_key);
    if (is_for_another(q, tree))
        set_annotation(q, tree, ANNOTATION_SUBMITTER,
                       arena_printf(q->arena, "%u", (unsigned)q->principal->uid));
    set_annotation(q, tree, ANNOTATION_DIGEST, digest);
    return true;
}

/* All steps that may refuse the object. */
static bool
make(struct request *q, struct json *tree)
{
    const struct kind *kind = q->route.kind;

    if (!admission_create(q, tree))
        return false;
    set_name(q, tree);
    set_system_fields(q, tree);
    if (kind->prepare != NULL)
        kind->prepare(q->arena, tree, NULL);
    if (q->job_id != 0) {
        json_set_int(q->arena, json_make_object(q->arena, tree, "status"), "id", q->job_id);
        first_status_set(q->arena, tree);
    }
    if (!validate(q, tree) || !check_absent(q, tree))
        return false;
    write_warn(q, tree, NULL);
    return true;
}

static bool
decode(struct request *q, struct json *tree)
{
    if (!body_normalize(q, tree) || !check_meta(q, tree) || !check_submission(q, tree))
        return false;
    write_drop_additions(q, tree);
    if (q->route.kind->set_defaults != NULL)
        q->route.kind->set_defaults(q->arena, tree);
    apply_note(q, tree, NULL);
    return true;
}

/* Logs what an agent reports about its node (other hardware, a failed hook),
 * for administrators who read the controller's log.
 */
static void
log_node_event(const struct request *q, const struct object *object)
{
    const struct event *e;

    if (q->principal->type != PRINCIPAL_AGENT
        || (q->route.kind != &event_kind && q->route.kind != &events_event_kind))
        return;
    e = event_of(object);
    if (e->involved.kind == NULL || strcmp(e->involved.kind, node_kind.name) != 0)
        return;
    if (e->type != NULL && strcmp(e->type, "Warning") == 0)
        log_warning("node '%s': %s: %s", q->principal->node, e->reason, e->message);
    else
        log_info("node '%s': %s: %s", q->principal->node, e->reason, e->message);
}

static bool
put(struct request *q, struct store_txn *txn, struct json *tree)
{
    const struct object *object = quota_put(q, txn) ? write_put(q, txn, tree, NULL) : NULL;

    if (object == NULL)
        return false;
    log_node_event(q, object);
    content_put(q, txn);
    reply_object(&q->reply, 201, object);
    return true;
}

bool
create_job_within(struct request *q, struct store_txn *txn)
{
    struct json *tree = q->body;

    return decode(q, tree) && make(q, tree) && put(q, txn, tree);
}

static void
warn_of_pause(struct request *q)
{
    const struct apiserver *server = q->server;

    if (q->route.kind == &job_kind && server->is_scheduling_paused != NULL
        && atomic_load(server->is_scheduling_paused))
        reply_warn(&q->reply, "scheduling is paused: the job waits until an administrator "
                              "resumes it");
}

static void
create(struct request *q)
{
    struct json *tree = q->body;
    struct store_txn *txn;

    if (!decode(q, tree)) {
        request_finish_durably(q);
        return;
    }
    txn = store_begin(q->server->store);
    if (q->route.kind == &job_kind && !q->server->policy->is_conformance)
        q->job_id = store_txn_job_id(txn);
    if (!make(q, tree)) {
        request_rollback(q, txn);
    } else if (q->options.is_dry_run) {
        store_rollback(txn);
        if (!write_normalize(q, tree, NULL))
            request_finish(q);
        else if (why_is_asked(q))
            why_explain_new(q, tree);
        else {
            reply_tree(&q->reply, 201, tree);
            request_finish(q);
        }
    } else if (put(q, txn, tree)) {
        warn_of_pause(q);
        request_commit(q, txn);
    } else
        request_rollback(q, txn);
}

const struct object *
create_within(struct request *q, struct store_txn *txn, struct json *tree)
{
    return decode(q, tree) && make(q, tree) && quota_put(q, txn) ? write_put(q, txn, tree, NULL)
                                                                 : NULL;
}

const struct object *
create_copy_within(struct request *q, struct store_txn *txn, struct json *tree)
{
    return check_absent(q, tree) && quota_admit(q, tree, NULL) && quota_put(q, txn)
               ? write_put_normal(q, txn, tree)
               : NULL;
}

static void
create_job(bool may_issue, void *context)
{
    struct request *q = context;

    if (may_issue) {
        gone_jobs_find(q, create);
        return;
    }
    node_reports_refuse(q);
    request_finish(q);
}

void
verb_create(struct request *q)
{
    if (q->route.kind == &job_kind && !q->options.is_dry_run)
        node_reports_wait(q->server->node_reports, q->options.startup_wait_s, create_job, q);
    else
        gone_jobs_find(q, create);
}
