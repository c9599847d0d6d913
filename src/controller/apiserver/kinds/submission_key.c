/* SPDX-License-Identifier: Apache-2.0 */
/* submission_key.c - a job is submitted once, however often its request is repeated
 *
 * A client that got no answer cannot know whether its job exists. It repeats the
 * request with the same key, and gets the job that the first one created. The
 * digest of the body tells a repetition from another job under the same key.
 */
#include "controller/apiserver/kinds/submission_key.h"

#include <stdbool.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define ANNOTATION_DIGEST "kiln.hpc/submission-digest"

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
submission_key_find(const struct request *q)
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
submission_key_is_same(struct request *q, const struct object *job)
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
    const struct object *object = submission_key_find(q);

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

bool
submission_key_check(struct request *q, struct json *tree)
{
    char digest[DIGEST_HEX_SIZE];
    struct json *annotations = json_get_path(tree, "metadata.annotations");

    if (annotations != NULL) {
        json_remove(annotations, ANNOTATION_SUBMISSION);
        json_remove(annotations, ANNOTATION_SUBMITTER);
        json_remove(annotations, ANNOTATION_DIGEST);
    }
    if (q->submission_key == NULL)
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
