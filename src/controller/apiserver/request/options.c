/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/reply.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/selector.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/http/http_request.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MOST_EAST_S         86400
#define STARTUP_WAIT_MOST_S 3600
#define LAST_ENDED_MOST     1000
#define NODES_MOST          4096

struct options_parser {
    struct options *options;
    struct arena *arena;
    const struct route *route;
    struct causes causes;
    struct reply *reply;
};

const struct parameter *
options_copy_parameters(struct arena *arena, const struct http_request *http, size_t *ret_count)
{
    struct parameter *parameters;
    const char *name, *value;
    size_t at = 0, n = 0;

    while (http_request_query_next(http, &at, &name, &value))
        n++;
    parameters = arena_new_array(arena, struct parameter, n + 1);
    at = n = 0;
    while (http_request_query_next(http, &at, &name, &value)) {
        parameters[n].name = arena_strdup(arena, name);
        parameters[n++].value = arena_strdup(arena, value);
    }
    *ret_count = n;
    return parameters;
}

const char *
parameter_find(const struct parameter *parameters, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(parameters[i].name, name) == 0)
            return parameters[i].value;
    return NULL;
}

static bool
is_true(const char *value)
{
    return value != NULL && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

bool
options_wants_watch(const struct parameter *parameters, size_t count)
{
    return is_true(parameter_find(parameters, count, "watch"));
}

static const char *
find(const struct options_parser *p, const char *name)
{
    const char *value = parameter_find(p->options->parameters, p->options->n_parameters, name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool
option_integer(struct reply *reply, const char *text, int64_t *ret_value)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') {
        reply_bad_request(reply, "strconv.ParseInt: parsing \"%s\": invalid syntax", text);
        return false;
    }
    if (errno == ERANGE) {
        reply_bad_request(reply, "strconv.ParseInt: parsing \"%s\": value out of range", text);
        return false;
    }
    *ret_value = value;
    return true;
}

static bool
parse_integer(struct options_parser *p, const char *name, int64_t *ret_value)
{
    const char *text = find(p, name);

    return text == NULL || option_integer(p->reply, text, ret_value);
}

static bool
parse_selectors(struct options_parser *p)
{
    struct error err = {0};
    const char *text = find(p, "labelSelector");
    int r;

    if (text != NULL) {
        r = label_query_parse(p->arena, text, &p->options->labels, &err);
        if (r < 0) {
            reply_bad_request(p->reply, "%s", err.text);
            return false;
        }
    }
    text = find(p, "fieldSelector");
    if (p->route->is_single_watch)
        text = arena_printf(p->arena, "metadata.name=%s", p->route->name);
    if (text != NULL) {
        r = field_query_parse(p->arena, p->route->kind, text, &p->options->fields, &err);
        if (r < 0) {
            reply_bad_request(p->reply, "%s", err.text);
            return false;
        }
    }
    return true;
}

/* An addition to upstream, and named like one. kctl jobs asks with it for jobs
 * that are active or ended recently.
 */
static bool
parse_ended_since(struct options_parser *p)
{
    const char *text = find(p, "kiln.hpc/endedSince");

    if (text == NULL || time_parse(text, &p->options->ended_since_us) == 0)
        return true;
    reply_bad_request(p->reply,
                      "kiln.hpc/endedSince: '%s' is not a time such as "
                      "2026-01-31T08:00:00Z",
                      text);
    return false;
}

/* An addition to upstream: kctl jobs asks for the active jobs of a user and the
 * last few that ended. Not for watches, which cannot know which are the last.
 */
static bool
parse_last_ended(struct options_parser *p)
{
    int64_t count = 0;

    if (!parse_integer(p, "kiln.hpc/lastEnded", &count))
        return false;
    if (count < 0 || count > LAST_ENDED_MOST) {
        reply_bad_request(p->reply, "kiln.hpc/lastEnded: expected a number from 0 to %d",
                          LAST_ENDED_MOST);
        return false;
    }
    if (count > 0 && p->route->verb == VERB_WATCH) {
        reply_bad_request(p->reply, "kiln.hpc/lastEnded is only for lists");
        return false;
    }
    p->options->last_ended = count;
    return true;
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the names. A name that was written a thousand times is looked up once. */
static size_t
sort_names(const char **names, size_t count)
{
    size_t kept = 0;

    qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(names[i], names[kept - 1]) != 0)
            names[kept++] = names[i];
    return kept;
}

/* An addition to upstream. Not for watches: a job does not change when its pods
 * do, so a watch could not report the change.
 */
static bool
parse_node(struct options_parser *p)
{
    const char *list = find(p, "kiln.hpc/node"), **names;
    struct error err = {0};
    size_t count = 0;

    if (list == NULL)
        return true;
    if (p->route->verb == VERB_WATCH)
        reply_bad_request(p->reply, "kiln.hpc/node is only for lists");
    else if (hostlist_expand_few(p->arena, list, NODES_MOST, &names, &count, &err) < 0)
        reply_bad_request(p->reply, "kiln.hpc/node: %s", err.text);
    else {
        p->options->nodes = names;
        p->options->n_nodes = sort_names(names, count);
    }
    return p->options->nodes != NULL;
}

/* An addition to upstream: a Table formats times, and they are shown in the
 * reader's time zone.
 */
static bool
parse_east(struct options_parser *p)
{
    struct options *o = p->options;

    if (!parse_integer(p, "kiln.hpc/utcOffset", &o->east_s))
        return false;
    o->has_east = find(p, "kiln.hpc/utcOffset") != NULL;
    if (o->east_s >= -MOST_EAST_S && o->east_s <= MOST_EAST_S)
        return true;
    reply_bad_request(p->reply, "kiln.hpc/utcOffset must be an offset in seconds of at "
                                "most one day");
    return false;
}

static bool
parse_version(struct options_parser *p)
{
    const char *text = find(p, "resourceVersion");
    char *end;

    p->options->resource_version = -1;
    if (text == NULL)
        return true;
    errno = 0;
    p->options->resource_version = strtoll(text, &end, 10);
    if (*end == '\0' && errno == 0 && text[0] >= '0' && text[0] <= '9')
        return true;
    reply_internal(p->reply,
                   "resourceVersion: Invalid value: \"%s\": "
                   "strconv.ParseUint: parsing \"%s\": invalid syntax",
                   text, text);
    return false;
}

static void
forbid(struct options_parser *p, const char *field, const char *words)
{
    causes_add(&p->causes, CAUSE_FORBIDDEN, field, NULL, "%s", words);
}

static void
unsupported(struct options_parser *p, const char *field, const char *value, const char *supported)
{
    causes_add(&p->causes, CAUSE_NOT_SUPPORTED, field, json_string(p->arena, value),
               "supported values: %s", supported);
}

static void
check_no_continue(struct options_parser *p)
{
    if (find(p, "continue") != NULL)
        forbid(p, "resourceVersionMatch",
               "resourceVersionMatch is forbidden when continue is provided");
}

static void
check_match(struct options_parser *p, const char *match)
{
    const char *field = "resourceVersionMatch";
    struct options *o = p->options;

    if (find(p, "sendInitialEvents") != NULL)
        forbid(p, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    if (match == NULL)
        return;
    if (o->resource_version < 0)
        forbid(p, field,
               "resourceVersionMatch is forbidden unless resourceVersion is "
               "provided");
    check_no_continue(p);
    if (strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0)
        unsupported(p, field, match, "\"Exact\", \"NotOlderThan\", \"\"");
    o->has_exact = strcmp(match, "Exact") == 0;
    if (o->has_exact && o->resource_version == 0)
        forbid(p, field,
               "resourceVersionMatch \"exact\" is forbidden for "
               "resourceVersion \"0\"");
}

static void
check_watch_match(struct options_parser *p, const char *match)
{
    const char *field = "resourceVersionMatch";

    if (find(p, "sendInitialEvents") != NULL
        && (match == NULL || strcmp(match, "NotOlderThan") != 0))
        forbid(p, field,
               "sendInitialEvents requires setting resourceVersionMatch to "
               "NotOlderThan");
    if (match == NULL)
        return;
    if (find(p, "sendInitialEvents") == NULL)
        forbid(p, field,
               "resourceVersionMatch is forbidden for watch unless "
               "sendInitialEvents is provided");
    if (strcmp(match, "NotOlderThan") != 0)
        unsupported(p, field, match, "\"NotOlderThan\"");
    check_no_continue(p);
}

static bool
parse_read(struct options_parser *p)
{
    struct options *o = p->options;

    if (!parse_integer(p, "timeoutSeconds", &o->timeout_s) || !parse_integer(p, "limit", &o->limit)
        || !parse_version(p) || !parse_selectors(p) || !parse_ended_since(p) || !parse_last_ended(p)
        || !parse_node(p) || !parse_east(p))
        return false;
    if (o->limit < 0)
        o->limit = 0;
    o->continue_token = find(p, "continue");
    o->wants_bookmarks = is_true(find(p, "allowWatchBookmarks"));
    o->wants_initial_events = is_true(find(p, "sendInitialEvents"));
    if (o->continue_token != NULL && o->resource_version > 0) {
        reply_bad_request(p->reply, "specifying resource version is not allowed when "
                                    "using continue");
        return false;
    }
    if (p->route->verb == VERB_WATCH)
        check_watch_match(p, find(p, "resourceVersionMatch"));
    else
        check_match(p, find(p, "resourceVersionMatch"));
    return true;
}

static void
parse_dry_run(struct options_parser *p, const char *value)
{
    if (value == NULL)
        return;
    p->options->is_dry_run = true;
    if (strcmp(value, "All") != 0)
        causes_add(&p->causes, CAUSE_NOT_SUPPORTED, "dryRun",
                   /* A list, in the form in which upstream prints one. */
                   json_number(p->arena, arena_printf(p->arena, "[]string{\"%s\"}", value)),
                   "supported values: \"All\"");
}

/* An addition to upstream: how long a new job waits at most while the server
 * waits for its nodes after a start. The client wants to say why it waits.
 */
static void
parse_startup_wait(struct options_parser *p, const char *value)
{
    char *end = NULL;
    long seconds = value != NULL ? strtol(value, &end, 10) : 0;

    if (value == NULL)
        return;
    if (end == value || *end != '\0' || seconds < 0 || seconds > STARTUP_WAIT_MOST_S)
        causes_add(&p->causes, CAUSE_INVALID, "kiln.hpc/startupWait", json_string(p->arena, value),
                   "expected a number of seconds from 0 to %d", STARTUP_WAIT_MOST_S);
    else
        p->options->startup_wait_s = seconds;
}

static void
parse_manager(struct options_parser *p, const char *name)
{
    if (name == NULL || name[0] == '\0')
        return;
    p->options->field_manager = name;
    if (strlen(name) > MANAGER_MAX)
        causes_add(&p->causes, CAUSE_TOO_LONG, "fieldManager", NULL,
                   "may not be more than %d bytes", MANAGER_MAX);
    for (size_t i = 0; name[i] != '\0'; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f) {
            causes_add(&p->causes, CAUSE_INVALID, "fieldManager", json_string(p->arena, name),
                       "should only contain printable characters (at position "
                       "%zu)",
                       i);
            return;
        }
}

static void
parse_write(struct options_parser *p)
{
    const char *validation = find(p, "fieldValidation");

    parse_dry_run(p, find(p, "dryRun"));
    parse_manager(p, find(p, "fieldManager"));
    parse_startup_wait(p, find(p, "kiln.hpc/startupWait"));
    p->options->says_force = find(p, "force") != NULL;
    p->options->is_forced = is_true(find(p, "force"));
    if (validation == NULL || strcmp(validation, "Warn") == 0)
        p->options->validation = VALIDATION_WARN;
    else if (strcmp(validation, "Ignore") == 0)
        p->options->validation = VALIDATION_IGNORE;
    else if (strcmp(validation, "Strict") == 0)
        p->options->validation = VALIDATION_STRICT;
    else
        unsupported(p, "fieldValidation", validation, "\"\", \"Ignore\", \"Strict\", \"Warn\"");
}

/* Makes the tree of a DeleteOptions body from the query of a DELETE. */
static struct json *
delete_options(struct options_parser *p)
{
    struct json *tree = json_object(p->arena);
    const char *text = find(p, "dryRun");

    if (text != NULL) {
        struct json *list = json_array(p->arena);

        json_append(p->arena, list, json_string(p->arena, text));
        json_set(p->arena, tree, "dryRun", list);
    }
    text = find(p, "gracePeriodSeconds");
    if (text != NULL) {
        int64_t grace_s;

        if (!option_integer(p->reply, text, &grace_s))
            return NULL;
        json_set_int(p->arena, tree, "gracePeriodSeconds", grace_s);
    }
    text = find(p, "propagationPolicy");
    if (text != NULL)
        json_set_string(p->arena, tree, "propagationPolicy", text);
    text = find(p, "orphanDependents");
    if (text != NULL)
        json_set_bool(p->arena, tree, "orphanDependents", is_true(text));
    return tree;
}

static void
parse_propagation(struct options_parser *p, const struct json *tree)
{
    const struct json *orphan = json_get(tree, "orphanDependents");
    const char *policy = json_get_text(tree, "propagationPolicy");

    if (orphan != NULL && policy != NULL) {
        causes_add(&p->causes, CAUSE_INVALID, "propagationPolicy", json_string(p->arena, policy),
                   "orphanDependents and deletionPropagation cannot be both "
                   "set");
        return;
    }
    if (policy != NULL && strcmp(policy, "Foreground") != 0 && strcmp(policy, "Background") != 0
        && strcmp(policy, "Orphan") != 0)
        unsupported(p, "propagationPolicy", policy,
                    "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    if (orphan != NULL)
        policy = json_is_true(orphan) ? "Orphan" : "Background";
    p->options->propagation = policy;
}

static bool
parse_delete(struct options_parser *p, const struct json *body)
{
    const struct json *tree = body != NULL ? body : delete_options(p);
    const struct json *preconditions;

    if (tree == NULL)
        return false;
    parse_dry_run(p, json_text(json_at(json_get(tree, "dryRun"), 0)));
    p->options->has_grace =
        json_to_int(json_get(tree, "gracePeriodSeconds"), &p->options->grace_s) == 0;
    preconditions = json_get(tree, "preconditions");
    p->options->precondition_uid = json_get_text(preconditions, "uid");
    p->options->precondition_version = json_get_text(preconditions, "resourceVersion");
    parse_propagation(p, tree);
    return true;
}

static const char *
options_kind(enum verb verb)
{
    switch (verb) {
    case VERB_CREATE:
        return "CreateOptions";
    case VERB_REPLACE:
        return "UpdateOptions";
    case VERB_PATCH:
        return "PatchOptions";
    case VERB_DELETE:
    case VERB_DELETE_COLLECTION:
        return "DeleteOptions";
    default:
        return "ListOptions";
    }
}

bool
options_parse(struct options *ret_options, struct arena *arena, const struct route *route,
              const struct parameter *parameters, size_t count, const struct json *body,
              struct reply *reply)
{
    struct options_parser p = {
        .options = ret_options,
        .arena = arena,
        .route = route,
        .reply = reply,
    };

    memset(ret_options, 0, sizeof(*ret_options));
    ret_options->parameters = parameters;
    ret_options->n_parameters = count;
    ret_options->resource_version = -1;
    ret_options->include_object = find(&p, "includeObject");
    causes_init(&p.causes, arena);
    switch (route->verb) {
    case VERB_LIST:
    case VERB_WATCH:
        if (!parse_read(&p))
            return false;
        break;
    case VERB_DELETE_COLLECTION:
        if (!parse_read(&p) || !parse_delete(&p, body))
            return false;
        break;
    case VERB_DELETE:
        if (!parse_delete(&p, body))
            return false;
        break;
    case VERB_GET:
        if (!parse_version(&p) || !parse_east(&p))
            return false;
        break;
    default:
        parse_write(&p);
    }
    if (p.causes.count == 0)
        return true;
    reply_invalid(reply, "meta.k8s.io", options_kind(route->verb), "", &p.causes);
    return false;
}
