/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/status_call.h"

#include "controller/scheduler/framework/pod_view.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"

static void
set_time(struct arena *arena, struct json *object, const char *name, int64_t real_us)
{
    char text[TIME_TEXT_SIZE];

    time_format(real_us, false, text);
    json_set_string(arena, object, name, text);
}

static void
set_condition(struct arena *arena, struct json *status, const char *reason, const char *message,
              int64_t now_us)
{
    struct json *list = json_array(arena), *c = json_object(arena);

    json_set_string(arena, c, "type", "PodScheduled");
    json_set_string(arena, c, "status", "False");
    json_set_string(arena, c, "reason", reason);
    json_set_string(arena, c, "message", message);
    json_set(arena, c, "lastProbeTime", json_null(arena));
    set_time(arena, c, "lastTransitionTime", now_us);
    json_append(arena, list, c);
    json_set(arena, status, "conditions", list);
}

/* A time that is no longer known is removed. */
static void
set_cause(struct arena *arena, struct json *status, const struct pod_cause *c)
{
    struct json *cause = json_make_object(arena, status, "cause");

    json_set_string(arena, cause, "code", c->code);
    json_set_string(arena, cause, "message", c->message);
    if (c->from_us > 0)
        set_time(arena, cause, "from", c->from_us);
    else
        json_set(arena, cause, "from", json_null(arena));
    json_set(arena, cause, "assumed", c->is_assumed ? json_bool(arena, true) : json_null(arena));
    json_set(arena, cause, "node",
             c->node != NULL ? json_string(arena, c->node) : json_null(arena));
}

struct client_call *
status_call_patch(const struct status_call_target *to, const struct pod_view *pod,
                  const struct status_call_words *words)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);
    struct json *status = json_make_object(arena, body, "status");

    if (pod->uid != NULL)
        json_set_string(arena, json_make_object(arena, body, "metadata"), "uid", pod->uid);
    if (words->message != NULL)
        set_condition(arena, status, words->reason, words->message, to->now_us);
    if (words->cause != NULL)
        set_cause(arena, status, words->cause);
    if (words->nominated != NULL)
        json_set(arena, status, "nominatedNodeName",
                 words->nominated[0] != '\0' ? json_string(arena, words->nominated)
                                             : json_null(arena));
    return client_call(to->client, arena,
                       &(struct client_request){
                           .verb = CLIENT_STRATEGIC_PATCH,
                           .kind = &pod_kind,
                           .namespace = pod->namespace,
                           .name = pod->name,
                           .subresource = "status",
                           .body = body,
                       },
                       to->done, to->context);
}
