/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/evictions.h"

#include <stdbool.h>
#include <stdio.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/meters.h"
#include "controller/scheduler/recorder.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

struct eviction {
    struct evictions *owner;
    char *key;
    struct pod_view *victim;
    struct client_call *call;
    int64_t began_us;
};

struct evictions {
    struct client *client;
    struct clock *clock;
    struct recorder *recorder;
    struct meters *meters;
    struct map *under_way;
};

struct evictions *
evictions_new(struct client *client,
              struct clock *clock,
              struct recorder *recorder,
              struct meters *meters)
{
    struct evictions *e = xnew(struct evictions);

    e->client = client;
    e->clock = clock;
    e->recorder = recorder;
    e->meters = meters;
    e->under_way = map_new();
    return e;
}

static void
eviction_free(struct eviction *v)
{
    client_cancel(v->call);
    pod_view_unref(v->victim);
    free(v->key);
    free(v);
}

void
evictions_free(struct evictions *e)
{
    size_t at = 0;
    void *value;

    if (e == NULL)
        return;
    while (map_next(e->under_way, &at, NULL, &value))
        eviction_free(value);
    map_free(e->under_way);
    free(e);
}

static void
end(struct eviction *v, const struct client_reply *reply)
{
    struct evictions *e = v->owner;
    struct error err = {0};
    bool has_failed = client_reply_error(reply, &err) < 0 && reply->code != 404;

    meters_eviction(e->meters,
                    !has_failed,
                    clock_monotonic_us(e->clock) - v->began_us);
    if (has_failed)
        log_warning("pod '%s' was to make room for another but stays: %s",
                    v->key,
                    err.text);
    map_remove(v->owner->under_way, v->key);
    eviction_free(v);
}

static void
deleted(const struct client_reply *reply, void *context)
{
    struct eviction *v = context;

    v->call = NULL;
    end(v, reply);
}

/* Of this very pod: another of its name is none of ours. */
static void
delete_victim(struct eviction *v)
{
    struct arena *arena = arena_new(512);
    struct json *body = json_object(arena);

    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "DeleteOptions");
    if (v->victim->uid != NULL)
        json_set_string(arena,
                        json_make_object(arena, body, "preconditions"),
                        "uid",
                        v->victim->uid);
    v->call = client_call(v->owner->client,
                          arena,
                          &(struct client_request){
                              .verb = CLIENT_DELETE,
                              .kind = &pod_kind,
                              .namespace = v->victim->namespace,
                              .name = v->victim->name,
                              .body = body,
                          },
                          deleted,
                          v);
}

static void
told(const struct client_reply *reply, void *context)
{
    struct eviction *v = context;

    v->call = NULL;
    if (reply->code >= 200 && reply->code < 300)
        delete_victim(v);
    else
        end(v, reply);
}

static void
tell_victim(struct eviction *v)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena), *list = json_array(arena);
    struct json *condition = json_object(arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(v->owner->clock), false, now);
    json_set_string(arena, condition, "type", "DisruptionTarget");
    json_set_string(arena, condition, "status", "True");
    json_set_string(arena, condition, "reason", "PreemptionByScheduler");
    json_set_string(arena,
                    condition,
                    "message",
                    "default-scheduler: preempting to accommodate a higher "
                    "priority pod");
    json_set_string(arena, condition, "lastTransitionTime", now);
    json_append(arena, list, condition);
    json_set(arena,
             json_make_object(arena, body, "status"),
             "conditions",
             list);
    v->call = client_call(v->owner->client,
                          arena,
                          &(struct client_request){
                              .verb = CLIENT_STRATEGIC_PATCH,
                              .kind = &pod_kind,
                              .namespace = v->victim->namespace,
                              .name = v->victim->name,
                              .subresource = "status",
                              .body = body,
                          },
                          told,
                          v);
}

void
evictions_add(struct evictions *e,
              struct pod_view *victim,
              const struct pod_view *preemptor,
              const char *node_name)
{
    char key[OBJECT_KEY_SIZE];
    CLEANUP_FREE char *message = NULL;
    struct eviction *v;

    snprintf(key, sizeof(key), "%s/%s", victim->namespace, victim->name);
    if (map_find(e->under_way, key) != NULL)
        return;
    v = xnew(struct eviction);
    v->owner = e;
    v->key = xstrdup(key);
    v->victim = pod_view_ref(victim);
    v->began_us = clock_monotonic_us(e->clock);
    map_put(e->under_way, key, v);
    message = xasprintf("Preempted by pod %s/%s (%s) on node %s",
                        preemptor->namespace,
                        preemptor->name,
                        preemptor->uid != NULL ? preemptor->uid : "",
                        node_name);
    recorder_event(e->recorder, victim, "Normal", "Preempted", message);
    tell_victim(v);
}

size_t
evictions_count(const struct evictions *e)
{
    return map_count(e->under_way);
}
