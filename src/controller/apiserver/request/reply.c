/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The only table of failures: what an errno means to a client. */
static const struct {
    int code;
    int status;
    const char *reason;
} table[] = {
    {-EINVAL, 400, "BadRequest"},
    {-EPROTO, 400, "BadRequest"},
    {-EKEYREJECTED, 401, "Unauthorized"},
    {-EACCES, 403, "Forbidden"},
    {-EPERM, 403, "Forbidden"},
    {-ENOENT, 404, "NotFound"},
    {-EEXIST, 409, "AlreadyExists"},
    {-ESTALE, 410, "Expired"},
    {-EFBIG, 413, "RequestEntityTooLarge"},
    {-EAGAIN, 429, "TooManyRequests"},
    {-EHOSTDOWN, 503, "ServiceUnavailable"},
    {-ESHUTDOWN, 503, "ServiceUnavailable"},
    {-ETIMEDOUT, 504, "Timeout"},
};

void
reply_init(struct reply *r, struct arena *arena)
{
    memset(r, 0, sizeof(*r));
    r->arena = arena;
    r->remaining = -1;
}

static void
drop_content(struct reply *r)
{
    object_unrefp(&r->object);
    r->object = NULL;
    for (size_t i = 0; i < r->n_objects; i++)
        object_unref(r->objects[i]);
    r->n_objects = 0;
    r->tree = NULL;
    r->text = NULL;
    r->form = REPLY_NONE;
}

void
reply_fini(struct reply *r)
{
    drop_content(r);
    free(r->objects);
    r->objects = NULL;
    r->capacity = 0;
}

void
reply_object(struct reply *r, int code, const struct object *object)
{
    const struct object *held = object_ref(object);

    drop_content(r);
    r->form = REPLY_OBJECT;
    r->code = code;
    r->object = held;
}

void
reply_start_list(struct reply *r, const struct kind *kind)
{
    drop_content(r);
    r->form = REPLY_LIST;
    r->code = 200;
    r->kind = kind;
}

void
reply_add(struct reply *r, const struct object *object)
{
    xgrow(r->objects, r->n_objects, r->capacity);
    r->objects[r->n_objects++] = object_ref(object);
}

void
reply_drop_objects(struct reply *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        object_unref(r->objects[i]);
        r->objects[i] = NULL;
    }
}

void
reply_tree(struct reply *r, int code, struct json *tree)
{
    drop_content(r);
    r->form = REPLY_TREE;
    r->code = code;
    r->tree = tree;
}

void
reply_text(struct reply *r, int code, const char *content_type, const char *text, size_t length)
{
    drop_content(r);
    r->form = REPLY_TEXT;
    r->code = code;
    r->content_type = content_type;
    r->text = text;
    r->length = length;
}

void
reply_add_header(struct reply *r, const char *name, const char *value)
{
    struct reply_header *longer = arena_new_array(r->arena, struct reply_header, r->n_headers + 1);

    if (r->n_headers > 0)
        memcpy(longer, r->headers, r->n_headers * sizeof(*longer));
    longer[r->n_headers++] = (struct reply_header){name, value};
    r->headers = longer;
}

/* A reply without a body: 304. */
void
reply_nothing(struct reply *r, int code)
{
    drop_content(r);
    r->code = code;
}

static struct json *
new_status(struct reply *r, const char *status)
{
    struct json *tree = json_object(r->arena);

    json_set_string(r->arena, tree, "kind", "Status");
    json_set_string(r->arena, tree, "apiVersion", "v1");
    json_set(r->arena, tree, "metadata", json_object(r->arena));
    json_set_string(r->arena, tree, "status", status);
    return tree;
}

static struct json *
new_failure(struct reply *r, const char *reason, const char *message)
{
    struct json *tree = new_status(r, "Failure");

    json_set_string(r->arena, tree, "message", message);
    if (reason != NULL)
        json_set_string(r->arena, tree, "reason", reason);
    return tree;
}

static void
finish(struct reply *r, int code, struct json *tree)
{
    json_set_int(r->arena, tree, "code", code);
    reply_tree(r, code, tree);
}

static struct json *
set_details(struct reply *r, struct json *tree, const char *name, const char *group,
            const char *kind_name)
{
    struct json *details = json_make_object(r->arena, tree, "details");

    if (name != NULL && name[0] != '\0')
        json_set_string(r->arena, details, "name", name);
    if (group != NULL && group[0] != '\0')
        json_set_string(r->arena, details, "group", group);
    if (kind_name != NULL && kind_name[0] != '\0')
        json_set_string(r->arena, details, "kind", kind_name);
    return details;
}

/* Formats "jobs.batch", "pods" or "pods/binding". */
static const char *
resource(struct reply *r, const struct kind *kind, const char *suffix)
{
    if (kind->group[0] == '\0')
        return arena_concat(r->arena, kind->plural, suffix);
    return arena_printf(r->arena, "%s%s.%s", kind->plural, suffix, kind->group);
}

void
reply_success(struct reply *r, int code)
{
    struct json *tree = new_status(r, "Success");

    finish(r, code, tree);
}

void
reply_deleted(struct reply *r, const struct kind *kind, const char *name, const char *uid)
{
    struct json *tree = new_status(r, "Success");
    struct json *details = set_details(r, tree, name, kind->group, kind->plural);

    json_set_string(r->arena, details, "uid", uid);
    reply_tree(r, 200, tree);
}

void
reply_not_found(struct reply *r, const struct kind *kind, const char *name)
{
    struct json *tree = new_failure(
        r, "NotFound", arena_printf(r->arena, "%s \"%s\" not found", resource(r, kind, ""), name));

    set_details(r, tree, name, kind->group, kind->plural);
    finish(r, 404, tree);
}

void
reply_exists(struct reply *r, const struct kind *kind, const char *name)
{
    struct json *tree = new_failure(
        r, "AlreadyExists",
        arena_printf(r->arena, "%s \"%s\" already exists", resource(r, kind, ""), name));

    set_details(r, tree, name, kind->group, kind->plural);
    finish(r, 409, tree);
}

void
reply_conflict(struct reply *r, const struct kind *kind, const char *suffix, const char *name,
               const char *format, ...)
{
    struct json *tree;
    const char *words;
    va_list args;

    va_start(args, format);
    words = arena_vprintf(r->arena, format, args);
    va_end(args);
    tree = new_failure(r, "Conflict",
                       arena_printf(r->arena, "Operation cannot be fulfilled on %s \"%s\": %s",
                                    resource(r, kind, suffix), name, words));
    set_details(r, tree, name, kind->group, arena_concat(r->arena, kind->plural, suffix));
    finish(r, 409, tree);
}

void
reply_modified(struct reply *r, const struct kind *kind, const char *name)
{
    reply_conflict(r, kind, "", name,
                   "the object has been modified; please apply your changes "
                   "to the latest version and try again");
}

void
reply_forbidden(struct reply *r, const struct kind *kind, const char *name, const char *format, ...)
{
    struct json *tree;
    const char *words;
    va_list args;

    va_start(args, format);
    words = arena_vprintf(r->arena, format, args);
    va_end(args);
    if (name != NULL)
        words = arena_printf(r->arena, "%s \"%s\" is forbidden: %s", resource(r, kind, ""), name,
                             words);
    else
        words = arena_printf(r->arena, "%s is forbidden: %s", resource(r, kind, ""), words);
    tree = new_failure(r, "Forbidden", words);
    set_details(r, tree, name, kind->group, kind->plural);
    finish(r, 403, tree);
}

static struct json *
encode_causes(struct reply *r, const struct causes *causes)
{
    struct json *list = json_array(r->arena);

    for (unsigned i = 0; i < causes->count; i++) {
        const struct cause *c = &causes->items[i];
        struct json *item = json_object(r->arena);

        json_set_string(r->arena, item, "reason", cause_reason_name(c->reason));
        json_set_string(r->arena, item, "message", c->message);
        json_set_string(r->arena, item, "field", c->field);
        json_append(r->arena, list, item);
    }
    return list;
}

/* Writes "field: message", in brackets when there are several. A repeated cause
 * is written once.
 */
static void
format_causes(const struct causes *causes, struct strbuf *out)
{
    CLEANUP(map_freep) struct map *told = map_new();
    unsigned said = 0;
    size_t start = out->length;

    for (unsigned i = 0; i < causes->count; i++) {
        const struct cause *c = &causes->items[i];
        CLEANUP_FREE char *words = xasprintf("%s: %s", c->field, c->message);

        if (map_put(told, words, told) == NULL)
            strbuf_printf(out, "%s%s", said++ > 0 ? ", " : "", words);
    }
    if (said > 1) {
        char *words = xstrdup(out->text + start);

        strbuf_truncate(out, start);
        strbuf_printf(out, "[%s]", words);
        free(words);
    }
}

void
reply_invalid(struct reply *r, const char *group, const char *kind_name, const char *name,
              const struct causes *causes)
{
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    struct json *tree, *details;

    strbuf_add_text(&message, kind_name);
    if (group[0] != '\0')
        strbuf_printf(&message, ".%s", group);
    strbuf_printf(&message, " \"%s\" is invalid: ", name);
    format_causes(causes, &message);
    tree = new_failure(r, "Invalid", message.text);
    details = set_details(r, tree, name, group, kind_name);
    json_set(r->arena, details, "causes", encode_causes(r, causes));
    finish(r, 422, tree);
}

void
reply_bad_request(struct reply *r, const char *format, ...)
{
    const char *words;
    va_list args;

    va_start(args, format);
    words = arena_vprintf(r->arena, format, args);
    va_end(args);
    finish(r, 400, new_failure(r, "BadRequest", words));
}

void
reply_damaged(struct reply *r, int code, const struct kind *kind, const char *name)
{
    struct json *tree = new_failure(r, code == 409 ? "AlreadyExists" : "InternalError",
                                    arena_printf(r->arena,
                                                 "%s \"%s\" is damaged: it cannot be read "
                                                 "from the store, where it is kept aside; "
                                                 "see --check-store in kiln-controller(8)",
                                                 resource(r, kind, ""), name));

    set_details(r, tree, name, kind->group, kind->plural);
    finish(r, code, tree);
}

void
reply_internal(struct reply *r, const char *format, ...)
{
    const char *words;
    va_list args;

    va_start(args, format);
    words = arena_vprintf(r->arena, format, args);
    va_end(args);
    finish(r, 500, new_failure(r, NULL, words));
}

void
reply_from_future(struct reply *r, int64_t wanted, int64_t current)
{
    struct reply_failure f = {
        .code = 504,
        .reason = "Timeout",
        .message = arena_printf(
            r->arena, "Timeout: Too large resource version: %" PRId64 ", current: %" PRId64, wanted,
            current),
        .cause_reason = "ResourceVersionTooLarge",
        .cause_message = "Too large resource version",
        .retry_after_s = 1,
    };

    reply_fail(r, &f);
}

void
reply_fail(struct reply *r, const struct reply_failure *f)
{
    struct json *tree = new_failure(r, f->reason, f->message);
    struct json *details = NULL;

    if (f->empty_details || f->cause_message != NULL || f->retry_after_s > 0)
        details = json_make_object(r->arena, tree, "details");
    if (f->cause_message != NULL) {
        struct json *causes = json_array(r->arena);
        struct json *cause = json_object(r->arena);

        if (f->cause_reason != NULL)
            json_set_string(r->arena, cause, "reason", f->cause_reason);
        json_set_string(r->arena, cause, "message", f->cause_message);
        if (f->cause_field != NULL)
            json_set_string(r->arena, cause, "field", f->cause_field);
        json_append(r->arena, causes, cause);
        json_set(r->arena, details, "causes", causes);
    }
    if (f->retry_after_s > 0) {
        json_set_int(r->arena, details, "retryAfterSeconds", f->retry_after_s);
        r->retry_after_s = f->retry_after_s;
    }
    if (f->continue_token != NULL)
        json_set_string(r->arena, json_get(tree, "metadata"), "continue", f->continue_token);
    finish(r, f->code, tree);
}

void
reply_errno(struct reply *r, int code, const struct error *err)
{
    struct reply_failure f = {.code = 500, .reason = "InternalError"};

    for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
        if (table[i].code == code) {
            f.code = table[i].status;
            f.reason = table[i].reason;
        }
    f.message = err != NULL && err->code != 0 ? err->text : strerror(-code);
    reply_fail(r, &f);
}

void
reply_not_stored(struct reply *r, int outcome)
{
    if (outcome == -ENOSPC)
        reply_fail(r, &(struct reply_failure){
                          .code = 507,
                          .reason = "InsufficientStorage",
                          .message = "nothing was changed: the controller's disk "
                                     "is full, or its database's, and until an administrator frees "
                                     "space it accepts only reads and deletes",
                          .retry_after_s = 10,
                      });
    else
        reply_internal(r, "the controller's store failed: check whether the "
                          "change was made, and repeat it if it was not");
}
