/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts and environments are large and the same for thousands of jobs, while a Job is copied
 * into each list and watch. So they are taken out by admission and stored once by digest
 * (decision 6). The right to read them is a right to the Job, never to the digest: knowing a
 * digest proves nothing.
 */
#include "controller/apiserver/objects/content.h"

#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/cron/cron_job.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct content_field {
    const char *field;
    size_t limit;
    const char *why_invalid;
    bool (*is_valid)(const char *bytes, size_t length);
};

/* Whether execve accepts the bytes as a script. */
static bool
is_script(const char *bytes, size_t length)
{
    return length > 2 && bytes[0] == '#' && bytes[1] == '!';
}

/* NAME=value entries, each with a NUL at its end. */
static bool
is_environment(const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(bytes + at, '\0', length - at);

        if (end == NULL || bytes[at] == '='
            || memchr(bytes + at, '=', (size_t)(end - bytes) - at) == NULL)
            return false;
        at = (size_t)(end - bytes) + 1;
    }
    return true;
}

static const struct content_field parts[] = {
    {"script", CONTENT_SCRIPT_MAX, "it must begin with #! and the path of an interpreter",
     is_script},
    {"environment", CONTENT_ENVIRONMENT_MAX, "it must be NAME=value entries, each ended by a NUL",
     is_environment},
};

static bool
refuse(struct request *q, const struct json *tree, const char *field, const char *why)
{
    reply_forbidden(&q->reply, q->route.kind, json_path_text(tree, "metadata.name"),
                    "JobContent: spec.%s: %s", field, why);
    return false;
}

/* Reads the bytes, which were sent as text or as base64 data. */
static bool
read_content(struct request *q, const struct json *blob, const char **ret_bytes, size_t *ret_length)
{
    const struct json *text = json_get(blob, "text");
    const struct json *data = json_get(blob, "data");
    struct strbuf decoded;
    size_t most;

    if (json_is(text, JSON_STRING)) {
        *ret_bytes = text->text;
        *ret_length = text->count;
        return data == NULL;
    }
    if (!json_is(data, JSON_STRING))
        return false;
    most = (size_t)data->count / 4 * 3;
    strbuf_init_in(&decoded, arena_text(q->arena, most), most + 1);
    if (base64_decode(&decoded, data->text, data->count) < 0)
        return false;
    *ret_bytes = decoded.text;
    *ret_length = decoded.length;
    return true;
}

/* The spec that has the content. A CronJob keeps the content of its Jobs. */
static struct json *
find_spec(const struct request *q, const struct json *tree)
{
    return json_get_path(tree, q->route.kind->content);
}

/* The content of a CronJob that controls the new Job and has the same user.
 * Such a Job sends only the digest.
 */
static const struct job_blob *
find_kept(const struct request *q, const struct json *tree, const struct content_field *part)
{
    const struct json *owners = json_get_path(tree, "metadata.ownerReferences");
    const struct object *object = NULL;
    const struct job_spec *spec;
    uid_t uid;

    for (uint32_t i = 0; i < json_count(owners) && object == NULL; i++) {
        const struct json *owner = json_at(owners, i);
        const char *kind = json_get_text(owner, "kind");
        const char *name = json_get_text(owner, "name");
        const char *owner_uid = json_get_text(owner, "uid");

        if (kind == NULL || name == NULL || owner_uid == NULL
            || strcmp(kind, cron_job_kind.name) != 0
            || !json_is_true(json_get(owner, "controller")))
            continue;
        object =
            store_find(q->server->store, STORE_PENDING, &cron_job_kind, q->route.namespace, name);
        if (object != NULL && strcmp(object->meta->uid, owner_uid) != 0)
            object = NULL;
    }
    if (object == NULL || !object_owner(object, &uid)
        || (uid != q->principal->uid && q->principal->type != PRINCIPAL_ADMINISTRATOR))
        return NULL;
    spec = &cron_job_of(object)->spec.job_template.spec;
    return strcmp(part->field, "script") == 0 ? spec->script : spec->environment;
}

/* Returns true when the blob is the CronJob's: the new Job refers to the same
 * stored bytes.
 */
static bool
take_kept(const struct request *q, const struct json *tree, const struct content_field *part,
          const struct json *blob, struct content *ret_blob)
{
    const char *digest = json_get_text(blob, "digest");
    const struct job_blob *kept;

    if (!kind_hooks_of_route(q)->shares_content || digest == NULL || json_get(blob, "text") != NULL
        || json_get(blob, "data") != NULL)
        return false;
    kept = find_kept(q, tree, part);
    if (kept == NULL || kept->digest == NULL || strcmp(kept->digest, digest) != 0
        || json_get_int(blob, "size", -1) != kept->size_bytes)
        return false;
    ret_blob->digest = arena_strdup(q->arena, digest);
    ret_blob->bytes = NULL; /* the store has them */
    ret_blob->length = (size_t)kept->size_bytes;
    return true;
}

static bool
take_out(struct request *q, struct json *tree, const struct content_field *part,
         struct content *ret_blob)
{
    struct json *spec = find_spec(q, tree);
    struct json *blob = json_get(spec, part->field);
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    const char *bytes;
    size_t length;

    if (blob == NULL || take_kept(q, tree, part, blob, ret_blob))
        return true;
    if (!read_content(q, blob, &bytes, &length))
        return refuse(q, tree, part->field, "exactly one of text and (base64) data is required");
    if (length > part->limit)
        return refuse(q, tree, part->field,
                      arena_printf(q->arena, "%zu bytes are more than the limit of %zu", length,
                                   part->limit));
    if (!part->is_valid(bytes, length))
        return refuse(q, tree, part->field, part->why_invalid);
    digest_of(bytes, length, &digest);
    digest_format(&digest, hex);
    ret_blob->digest = arena_printf(q->arena, "sha256:%s", hex);
    ret_blob->bytes = bytes;
    ret_blob->length = length;
    blob = json_object(q->arena);
    json_set_string(q->arena, blob, "digest", ret_blob->digest);
    json_set_int(q->arena, blob, "size", (int64_t)length);
    json_set(q->arena, spec, part->field, blob);
    return true;
}

/* An update keeps the content that the job was submitted with. */
static bool
keep(struct request *q, struct json *tree, const struct content_field *part,
     const struct json *old_spec)
{
    struct json *spec = find_spec(q, tree);
    const struct json *old_blob = json_get(old_spec, part->field);
    const struct json *given = json_get(spec, part->field);

    if (spec == NULL)
        return old_blob == NULL || refuse(q, tree, part->field, "the template is missing");
    if (given != NULL && (old_blob == NULL || !json_equals(given, old_blob)))
        return refuse(q, tree, part->field, "submitted content cannot be changed");
    if (old_blob != NULL)
        json_set(q->arena, spec, part->field, json_dup(q->arena, old_blob));
    return true;
}

bool
content_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *old_spec = NULL;

    if (old_object != NULL)
        old_spec = find_spec(q, request_old_tree(q, old_object));
    for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
        if (old_object != NULL ? !keep(q, tree, &parts[i], old_spec)
                               : !take_out(q, tree, &parts[i], &q->contents[i]))
            return false;
    }
    return true;
}

void
content_put(const struct request *q, struct store_txn *txn)
{
    for (unsigned i = 0; i < ARRAY_SIZE(q->contents); i++)
        if (q->contents[i].digest != NULL)
            store_txn_put_blob(txn, q->contents[i].digest, q->contents[i].bytes,
                               q->contents[i].length);
}

static void
got_blob(const void *bytes, size_t length, void *context)
{
    struct request *q = context;

    if (bytes == NULL)
        reply_internal(&q->reply, "the %s of job \"%s\" is not in the store",
                       subresource_name(q->route.subresource), q->route.name);
    else
        reply_text(&q->reply, 200, "application/octet-stream",
                   length > 0 ? arena_memdup(q->arena, bytes, length) : "", length);
    request_finish(q);
}

void
verb_get_content(struct request *q)
{
    const struct object *object =
        store_find(q->server->store, STORE_PUBLISHED, &job_kind, q->route.namespace, q->route.name);
    const struct job_blob *blob = NULL;

    if (object == NULL)
        write_not_found(q);
    else if (authorization_covers(q, object)) {
        blob = q->route.subresource == SUBRESOURCE_SCRIPT ? job_of(object)->spec.script
                                                          : job_of(object)->spec.environment;
        if (blob == NULL || blob->digest == NULL)
            reply_fail(&q->reply,
                       &(struct reply_failure){
                           .code = 404,
                           .reason = "NotFound",
                           .message = arena_printf(q->arena, "job \"%s\" has no %s", q->route.name,
                                                   subresource_name(q->route.subresource)),
                       });
    }
    if (blob != NULL && blob->digest != NULL)
        store_get_blob(q->server->store, blob->digest, got_blob, q);
    else
        request_finish(q);
}

void
content_release(struct store_txn *txn, const struct job_spec *spec)
{
    const struct job_blob *const blobs[] = {
        spec->script,
        spec->environment,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(blobs); i++)
        if (blobs[i] != NULL && blobs[i]->digest != NULL)
            store_txn_release_blob(txn, blobs[i]->digest);
}

int64_t
content_bytes(const struct job_spec *spec)
{
    const struct job_blob *const blobs[] = {
        spec->script,
        spec->environment,
    };
    int64_t bytes = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(blobs); i++)
        if (blobs[i] != NULL)
            bytes += blobs[i]->size_bytes;
    return bytes;
}
