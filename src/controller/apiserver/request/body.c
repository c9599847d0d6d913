/* SPDX-License-Identifier: Apache-2.0 */
/* Every bound is checked before the thing that it bounds is interpreted (decision 89): bytes
 * before parsing, values before binding. A Job's script and environment have limits of their
 * own, so they are left out of the size of the rest. Messages are upstream's, because tools
 * and tests read them.
 */
#include "controller/apiserver/request/body.h"

#include <errno.h>
#include <string.h>

#include "controller/apiserver/request/request.h"
#include "lib/api/node/binding.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/delete_options.h"
#include "lib/api/object/kind.h"
#include "lib/api/policy/pod_disruption_budget.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/protobuf/protobuf.h"
#include "lib/yaml/yaml.h"

#define SHOWN 24 /* bytes of a bad body that the message shows */

/* The most values that a body may have. A large object has a few thousand, and
 * a thousand take about half a millisecond on their way to the store.
 */
#define MOST_VALUES 100000u

static void
refuse_text(struct request *q, const char *why)
{
    const char *shown = "<empty>";

    if (q->length > SHOWN)
        shown = arena_printf(q->arena, "%.*s ...", SHOWN, q->text);
    else if (q->length > 0)
        shown = arena_strndup(q->arena, q->text, q->length);
    reply_bad_request(&q->reply,
                      "the object provided is unrecognized (must be of type "
                      "%s): couldn't get version/kind; json parse error: %s "
                      "(%s)",
                      q->route.kind->name, why, shown);
}

static void
refuse_bytes(struct request *q, const char *why)
{
    reply_bad_request(&q->reply,
                      "the object provided is unrecognized (must be of type "
                      "%s): %s",
                      q->route.kind->name, why);
}

static bool
refuse_format(struct request *q)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 415,
                              .reason = "UnsupportedMediaType",
                              .message = q->route.verb == VERB_PATCH
                                             ? "415: Unsupported Media Type"
                                             : "the body of the request was in an unknown "
                                               "format - accepted media types include: "
                                               "application/json, application/yaml, "
                                               "application/vnd.kubernetes.protobuf",
                              .empty_details = q->route.verb == VERB_PATCH,
                          });
    return false;
}

static bool
is_patch(enum body_format format)
{
    return format == BODY_MERGE_PATCH || format == BODY_STRATEGIC_PATCH || format == BODY_JSON_PATCH
           || format == BODY_APPLY;
}

static struct json *
read_json(struct request *q, struct json_notes *notes, struct error *err)
{
    return json_parse_bounded(q->arena, q->text, q->length, MOST_VALUES, notes, err);
}

/* Refuses a body that is too large, in upstream's words. */
static bool
refuse_size(struct request *q, const struct error *err)
{
    reply_fail(&q->reply,
               &(struct reply_failure){
                   .code = 413,
                   .reason = "RequestEntityTooLarge",
                   .message = arena_printf(q->arena, "Request entity too large: %s", err->text),
               });
    return false;
}

void
body_refuse_size(struct request *q)
{
    struct error err = {0};

    error_set(&err, -EFBIG, "limit is %u", BODY_LIMIT);
    refuse_size(q, &err);
}

/* Checks the size of the body without the script and the environment of a Job,
 * which have limits of their own.
 */
static bool
check_rest(struct request *q)
{
    static const char *const parts[] = {
        "script.text",
        "script.data",
        "environment.text",
        "environment.data",
    };
    const struct json *spec =
        q->route.kind->content != NULL ? json_get_path(q->body, q->route.kind->content) : NULL;
    size_t rest;

    if (q->length <= BODY_LIMIT)
        return true;
    rest = json_size(q->body);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct json *part = json_get_path(spec, parts[i]);

        rest -= json_is(part, JSON_STRING) ? json_size(part) : 0;
    }
    if (rest <= BODY_LIMIT)
        return true;
    body_refuse_size(q);
    return false;
}

static struct json *
read_text(struct request *q, struct error *err)
{
    struct yaml_reader *reader;
    struct json *tree = NULL;

    if (q->format != BODY_YAML && q->format != BODY_APPLY)
        return read_json(q, &q->notes, err);
    reader = yaml_reader_new(q->text, q->length);
    yaml_reader_bound(reader, MOST_VALUES);
    if (yaml_reader_next(reader, q->arena, &tree, &q->notes, err) <= 0)
        tree = NULL;
    yaml_reader_free(reader);
    return tree;
}

static bool
parse_patch(struct request *q)
{
    struct error err = {0};
    enum json_type wanted = q->format == BODY_JSON_PATCH ? JSON_ARRAY : JSON_OBJECT;

    if (q->body == NULL)
        q->body = q->format == BODY_APPLY ? read_text(q, &err) : read_json(q, NULL, &err);
    if (q->body == NULL && err.code == -E2BIG)
        return refuse_size(q, &err);
    if (q->body == NULL) {
        reply_bad_request(&q->reply, "%s", err.text);
        return false;
    }
    if (!json_is(q->body, wanted)) {
        reply_bad_request(&q->reply, "%sjson: cannot unmarshal %s into Go value of type %s",
                          q->format == BODY_MERGE_PATCH ? "error decoding patch: " : "",
                          json_type_name(q->body->type),
                          wanted == JSON_ARRAY ? "jsonpatch.Patch" : "map[string]interface {}");
        return false;
    }
    return true;
}

/* The record of this request's body where that is not of the route's kind. */
static const struct record *
find_record(const struct request *q)
{
    if (q->route.verb == VERB_DELETE || q->route.verb == VERB_DELETE_COLLECTION)
        return &delete_options_record;
    if (q->route.subresource == SUBRESOURCE_BINDING)
        return &binding_record;
    if (q->route.subresource == SUBRESOURCE_EVICTION)
        return &eviction_record;
    return q->route.kind->record;
}

static struct json *
read_protobuf(struct request *q, struct error *err)
{
    struct protobuf_envelope envelope;
    struct json *tree;

    if (protobuf_open(q->arena, q->text, q->length, &envelope, err) < 0)
        return NULL;
    tree = protobuf_decode(q->arena, find_record(q), envelope.message, envelope.length, MOST_VALUES,
                           err);
    if (tree != NULL && envelope.kind[0] != '\0')
        json_set_string(q->arena, tree, "kind", envelope.kind);
    if (tree != NULL && envelope.api_version[0] != '\0')
        json_set_string(q->arena, tree, "apiVersion", envelope.api_version);
    return tree;
}

static struct json *
read_yaml(struct request *q, struct error *err)
{
    struct yaml_reader *reader = yaml_reader_new(q->text, q->length);
    struct json *tree = NULL;

    yaml_reader_bound(reader, MOST_VALUES);
    if (yaml_reader_next(reader, q->arena, &tree, &q->notes, err) <= 0)
        tree = NULL;
    yaml_reader_free(reader);
    return tree;
}

static struct json *
read_body(struct request *q, struct error *err)
{
    switch (q->format) {
    case BODY_YAML:
        return read_yaml(q, err);
    case BODY_PROTOBUF:
        return read_protobuf(q, err);
    default:
        return read_json(q, &q->notes, err);
    }
}

/* Parses DeleteOptions, if there is a body. */
static bool
parse_delete(struct request *q)
{
    struct error err = {0};
    const char *kind;

    if (q->body == NULL && q->length == 0)
        return true;
    if (q->body == NULL)
        q->body = read_body(q, &err);
    if (q->body == NULL && err.code == -E2BIG)
        return refuse_size(q, &err);
    if (!json_is(q->body, JSON_OBJECT)) {
        reply_internal(&q->reply, "couldn't get version/kind; json parse error: %s",
                       err.code != 0 ? err.text : "not an object");
        return false;
    }
    kind = json_get_text(q->body, "kind");
    if (kind != NULL && strcmp(kind, "DeleteOptions") != 0) {
        reply_internal(&q->reply,
                       "no kind \"%s\" is registered for deleting: "
                       "DeleteOptions is",
                       kind);
        return false;
    }
    return true;
}

static bool
parse_object(struct request *q)
{
    struct error err = {0};

    if (q->format != BODY_JSON && q->format != BODY_NONE && q->format != BODY_YAML
        && q->format != BODY_PROTOBUF)
        return refuse_format(q);
    if (q->body == NULL) {
        q->body = read_body(q, &err);
        if (q->body == NULL && err.code == -E2BIG)
            return refuse_size(q, &err);
        if (q->body == NULL) {
            if (q->format == BODY_PROTOBUF)
                refuse_bytes(q, err.text);
            else
                refuse_text(q, q->length == 0 ? "unexpected end of JSON input" : err.text);
            return false;
        }
    }
    if (json_is(q->body, JSON_NULL))
        q->body = json_object(q->arena);
    if (json_is(q->body, JSON_OBJECT))
        return check_rest(q);
    refuse_text(q, arena_printf(q->arena, "json: cannot unmarshal %s into an object",
                                json_type_name(q->body->type)));
    return false;
}

bool
body_parse(struct request *q)
{
    switch (q->route.verb) {
    case VERB_CREATE:
        /* These subresources take bytes or no body. */
        if (q->route.subresource == SUBRESOURCE_ENROL || q->route.subresource == SUBRESOURCE_APPROVE
            || q->route.subresource == SUBRESOURCE_RESET
            || q->route.subresource == SUBRESOURCE_REQUESTS)
            return true;
        return parse_object(q);
    case VERB_REPLACE:
        return parse_object(q);
    case VERB_PATCH:
        return is_patch(q->format) ? parse_patch(q) : refuse_format(q);
    case VERB_DELETE:
    case VERB_DELETE_COLLECTION:
        return parse_delete(q);
    default:
        return true;
    }
}

/* The Go package of the types that upstream decodes to: messages name it. */
static const char *
package_of(const struct kind *kind)
{
    static const char *const packages[][2] = {
        {"batch", "batch"},
        {"coordination.k8s.io", "coordination"},
        {"policy", "policy"},
        {"scheduling.k8s.io", "scheduling"},
        {"storage.k8s.io", "storage"},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(packages); i++)
        if (strcmp(kind->group, packages[i][0]) == 0)
            return packages[i][1];
    return "core";
}

static bool
refuse_as(struct request *q, const char *name, const char *api_version, const char *why)
{
    const char *slash = strchr(api_version, '/');

    reply_bad_request(&q->reply, "%s in version \"%s\" cannot be handled as a %s: %s", name,
                      slash != NULL ? slash + 1 : api_version, q->route.kind->name, why);
    return false;
}

static bool
refuse_object(struct request *q, const char *name, const char *why)
{
    return refuse_as(q, name, q->route.kind->api_version, why);
}

static bool
refuse_kind(struct request *q, const char *name, const char *api_version)
{
    const struct kind *kind = q->route.kind;
    const struct kind *other = kind_find_by_name(api_version, name);

    return refuse_as(
        q, name, api_version,
        other != NULL ? arena_printf(q->arena, "converting (%s.%s) to (%s.%s): unknown conversion",
                                     other->version, name, package_of(kind), kind->name)
                      : arena_printf(q->arena,
                                     "no kind \"%s\" is registered for version \"%s\" "
                                     "in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
                                     name, api_version));
}

static bool
check_kind(struct request *q, struct json *tree)
{
    const struct kind *kind = q->route.kind;
    const char *version = json_get_text(tree, "apiVersion");
    const char *name = json_get_text(tree, "kind");

    if ((name != NULL && strcmp(name, kind->name) != 0)
        || (version != NULL && strcmp(version, kind->api_version) != 0))
        return refuse_kind(q, name != NULL ? name : kind->name,
                           version != NULL ? version : kind->api_version);
    json_set_string(q->arena, tree, "kind", kind->name);
    json_set_string(q->arena, tree, "apiVersion", kind->api_version);
    return true;
}

/* Formats `unknown field "a", duplicate field "b"`. */
static const char *
format_notes(struct request *q, const struct record_notes *record)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    for (unsigned i = 0; i < record->n_unknown; i++)
        strbuf_printf(&words, "%sunknown field \"%s\"", words.length > 0 ? ", " : "",
                      record->unknown[i]);
    for (unsigned i = 0; i < q->notes.n_duplicates; i++)
        strbuf_printf(&words, "%sduplicate field \"%s\"", words.length > 0 ? ", " : "",
                      q->notes.duplicates[i]);
    return words.length > 0 ? arena_strdup(q->arena, words.text) : NULL;
}

static void
warn_of_notes(struct request *q, const struct record_notes *record)
{
    for (unsigned i = 0; i < record->n_unknown; i++)
        reply_warn(&q->reply, "unknown field \"%s\"", record->unknown[i]);
    for (unsigned i = 0; i < q->notes.n_duplicates; i++)
        reply_warn(&q->reply, "duplicate field \"%s\"", q->notes.duplicates[i]);
}

bool
body_normalize(struct request *q, struct json *tree)
{
    struct record_notes notes = {0};
    struct error err = {0};
    const char *words;

    if (!check_kind(q, tree))
        return false;
    if (record_normalize(q->route.kind->record, q->arena, tree, &notes, &err) < 0)
        return refuse_object(q, q->route.kind->name, err.text);
    if (q->options.validation == VALIDATION_IGNORE)
        return true;
    words = format_notes(q, &notes);
    if (words == NULL)
        return true;
    if (q->options.validation == VALIDATION_STRICT)
        return refuse_object(q, q->route.kind->name,
                             arena_printf(q->arena, "strict decoding error: %s", words));
    warn_of_notes(q, &notes);
    return true;
}

static bool
refuse_patch(struct request *q, const char *why)
{
    struct causes causes;

    causes_init(&causes, q->arena);
    causes_add(&causes, CAUSE_INVALID, "patch", q->body, "%s", why);
    reply_invalid(&q->reply, "", "", "", &causes);
    return false;
}

bool
body_normalize_patched(struct request *q, struct json *tree, const struct json *old_tree)
{
    struct record_notes notes = {0};
    struct error err = {0};
    const char *words;

    if (record_normalize_change(q->route.kind->record, q->arena, tree, old_tree, &notes, &err) < 0)
        return refuse_patch(q, err.text);
    if (q->options.validation == VALIDATION_IGNORE)
        return true;
    words = format_notes(q, &notes);
    if (words == NULL)
        return true;
    if (q->options.validation == VALIDATION_STRICT)
        return refuse_patch(q, arena_printf(q->arena, "strict decoding error: %s", words));
    warn_of_notes(q, &notes);
    return true;
}

bool
body_normalize_as(struct request *q, const char *kind_name, const struct record *record,
                  struct json *tree)
{
    struct record_notes notes = {0};
    struct error err = {0};

    if (record_normalize(record, q->arena, tree, &notes, &err) == 0)
        return true;
    return refuse_object(q, kind_name, err.text);
}
