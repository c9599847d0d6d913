/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/log_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const char *
find_option(const struct request *q, const char *name)
{
    const char *value = parameter_find(q->options.parameters, q->options.n_parameters, name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Copies a number of the query. A number below `least` is refused as upstream
 * does.
 */
static bool
add_number(struct request *q, struct causes *causes, struct json *words, const char *name,
           int64_t least)
{
    const char *text = find_option(q, name);
    int64_t value;

    if (text == NULL)
        return true;
    if (!option_integer(&q->reply, text, &value))
        return false;
    if (value < least)
        causes_add(causes, CAUSE_INVALID, name, json_int(q->arena, value),
                   "must be greater than or equal to %" PRId64, least);
    json_set_int(q->arena, words, name, value);
    return true;
}

static bool
is_true(const struct request *q, const char *name)
{
    const char *flag = find_option(q, name);

    return flag != NULL && (strcmp(flag, "true") == 0 || strcmp(flag, "1") == 0);
}

/* Upstream's option, whose default is both: here both are one file unless the
 * job has given its standard error a file of its own.
 */
static bool
add_stream(struct request *q, struct causes *causes, struct json *words, bool has_times)
{
    const char *stream = find_option(q, "stream");

    if (stream == NULL || strcmp(stream, "All") == 0 || strcmp(stream, "Stdout") == 0)
        return true;
    if (strcmp(stream, "Stderr") != 0) {
        causes_add(causes, CAUSE_NOT_SUPPORTED, "stream", json_string(q->arena, stream),
                   "supported values: \"All\", \"Stderr\", \"Stdout\"");
        return true;
    }
    if (has_times) {
        reply_bad_request(&q->reply, "the times of lines are recorded for standard output "
                                     "only; ask for standard error without since and "
                                     "timestamps");
        return false;
    }
    json_set_bool(q->arena, words, "isError", true);
    return true;
}

void
log_options_choose_stream(const struct request *q, struct json *words)
{
    if (!json_is_true(json_get(words, "isError")))
        return;
    if (json_is_true(json_get(words, "gone"))) {
        json_set_string(q->arena, words, "uid",
                        arena_printf(q->arena, "%s" LOG_OF_ERROR, json_get_text(words, "uid")));
        return;
    }
    json_set_string(q->arena, words, "errorOf", json_get_text(words, "pod"));
    json_set_string(q->arena, words, "pod", ".");
}

bool
log_options_add(struct request *q, struct json *words)
{
    static const char *const flags[] = {"follow", "timestamps"};
    const char *since = find_option(q, "sinceTime");
    struct causes causes;

    causes_init(&causes, q->arena);
    if (!add_number(q, &causes, words, "limitBytes", 1)
        || !add_number(q, &causes, words, "sinceSeconds", 1)
        || !add_number(q, &causes, words, "tailLines", 0))
        return false;
    if (since != NULL && find_option(q, "sinceSeconds") != NULL)
        causes_add(&causes, CAUSE_FORBIDDEN, "[]", NULL,
                   "at most one of `sinceTime` or `sinceSeconds` may be "
                   "specified");
    if (!add_stream(q, &causes, words,
                    since != NULL || find_option(q, "sinceSeconds") != NULL
                        || is_true(q, "timestamps")))
        return false;
    if (causes.count > 0) {
        reply_invalid(&q->reply, "", "PodLogOptions", q->route.name, &causes);
        return false;
    }
    if (since != NULL && time_parse(since, &(int64_t){0}) < 0) {
        reply_bad_request(&q->reply,
                          "unable to decode query: sinceTime: '%s' is not a "
                          "time such as 2026-01-31T08:00:00Z",
                          since);
        return false;
    }
    if (since != NULL)
        json_set_string(q->arena, words, "sinceTime", since);
    for (unsigned i = 0; i < ARRAY_SIZE(flags); i++)
        json_set_bool(q->arena, words, flags[i], is_true(q, flags[i]));
    return true;
}

/* A pod that does not separate its standard error has none to show. */
static bool
check_stream(struct request *q, const struct pod *pod, const struct json *words)
{
    const struct execution *e = pod->spec.execution;

    if (!json_is_true(json_get(words, "isError")) || (e != NULL && e->stderr_path != NULL))
        return true;
    reply_bad_request(&q->reply,
                      "pod \"%s\" writes its standard error to the same file as its "
                      "standard output: ask for its log without stream=Stderr (kctl logs without "
                      "--stderr), which has both",
                      q->route.name);
    return false;
}

static bool
check_container(struct request *q, const struct pod *pod, struct json *words)
{
    const char *wanted = find_option(q, "container");
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (unsigned i = 0; i < pod->spec.containers.count; i++) {
        const char *name = pod->spec.containers.items[i].name;

        if (wanted == NULL && pod->spec.containers.count == 1)
            wanted = name;
        if (wanted != NULL && strcmp(wanted, name) == 0) {
            json_set_string(q->arena, words, "container", name);
            return true;
        }
        strbuf_printf(&names, "%s%s", i > 0 ? " " : "", name);
    }
    if (wanted != NULL)
        reply_bad_request(&q->reply, "container %s is not valid for pod %s", wanted, q->route.name);
    else
        reply_bad_request(&q->reply,
                          "a container name must be specified for pod %s, "
                          "choose one of: [%s]",
                          q->route.name, names.text);
    return false;
}

/* The name of the previous attempt: "job-7-0-r1" for "job-7-0-r2", "job-7-0"
 * for "job-7-0-r1". NULL for the first attempt.
 */
static const char *
previous_name(struct arena *arena, const char *name)
{
    const char *mark = strrchr(name, '-');
    char *end;
    long attempt;

    if (mark == NULL || mark[1] != 'r')
        return NULL;
    attempt = strtol(mark + 2, &end, 10);
    if (*end != '\0' || attempt < 1)
        return NULL;
    if (attempt == 1)
        return arena_strndup(arena, name, (size_t)(mark - name));
    return arena_printf(arena, "%.*s-r%ld", (int)(mark - name), name, attempt - 1);
}

static const struct object *
find_pod(const struct request *q, const char *name)
{
    return name == NULL
               ? NULL
               : store_find(q->server->store, STORE_PUBLISHED, &pod_kind, q->route.namespace, name);
}

/* A pod runs once: where upstream restarts a container in its pod, Kiln makes
 * another pod.
 */
static const struct object *
find_previous(struct request *q, const struct object *pod)
{
    const struct object *before = find_pod(q, previous_name(q->arena, pod->meta->name));
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct owner_reference *same =
        before != NULL ? meta_controller_of(before->meta, &job_kind) : NULL;
    const struct pod *p = pod_of(pod);

    if (owner != NULL && same != NULL && strcmp(owner->uid, same->uid) == 0)
        return before;
    reply_bad_request(&q->reply,
                      "previous terminated container \"%s\" in pod \"%s\" not "
                      "found",
                      p->spec.containers.count > 0 ? p->spec.containers.items[0].name : "main",
                      pod->meta->name);
    return NULL;
}

const struct pod *
log_options_read(struct request *q, struct json *words)
{
    const struct object *object = find_pod(q, q->route.name);

    if (object == NULL) {
        write_not_found(q);
        return NULL;
    }
    if (!authorization_covers(q, object) || !log_options_add(q, words)
        || !check_container(q, pod_of(object), words) || !check_stream(q, pod_of(object), words))
        return NULL;
    if (is_true(q, "previous")) {
        object = find_previous(q, object);
        if (object == NULL || !authorization_covers(q, object))
            return NULL;
    }
    json_set_string(q->arena, words, "type", "log");
    json_set_string(q->arena, words, "namespace", q->route.namespace);
    json_set_string(q->arena, words, "pod", object->meta->name);
    json_set_string(q->arena, words, "uid", object->meta->uid);
    log_options_choose_stream(q, words);
    return pod_of(object);
}
