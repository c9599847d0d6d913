/* SPDX-License-Identifier: Apache-2.0 */
/* The condition is for people and for upstream's tools; no decision is made from it. It is
 * computed again from the present pods whenever one of them changes, at most ten times a
 * second for each group. Anybody may name somebody else's group in a pod, so the pods are kept
 * by owner, and a stranger's do not cost the group anything.
 */
#include "controller/lifecycle/gang/pod_group_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PARALLEL 16u

/* The pods of a group change together, so it is looked at at most this often.
 */
#define SETTLE_MS 100

#define OF_SYSTEM "-" /* as owner */

struct pod_group_status {
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    struct map *pods; /* key of a group, to a map of owners, to a map of the keys of their pods */
    struct workqueue *queue;
    struct list writings;
};

struct group_write {
    struct list link;
    struct client_call *call;
    struct pod_group_status *s;
    char *key;
};

static void
on_group(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    struct pod_group_status *s = context;
    char key[OBJECT_KEY_SIZE];

    if (new_object == NULL)
        return;
    object_key(new_object, key);
    workqueue_add_after(s->queue, key, SETTLE_MS);
}

static struct map *
open_map(struct map *maps, const char *key)
{
    struct map *m = map_find(maps, key);

    if (m == NULL) {
        m = map_new();
        map_put(maps, key, m);
    }
    return m;
}

static void
close_if_empty(struct map *maps, const char *key, struct map *m)
{
    if (map_count(m) > 0)
        return;
    map_remove(maps, key);
    map_free(m);
}

static void
format_owner(const struct object *object, char out[16])
{
    uid_t uid;

    if (object_owner(object, &uid))
        snprintf(out, 16, "%u", (unsigned)uid);
    else
        snprintf(out, 16, "%s", OF_SYSTEM);
}

/* A pod cannot change the group that it names. Anybody may name a group, so the
 * pods are kept by owner: those of strangers cost nothing when the group is
 * looked at.
 */
static void
on_pod(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    const struct object *pod = new_object != NULL ? new_object : old_object;
    const char *name = pod_group_named_by(pod);
    struct pod_group_status *s = context;
    char group_key[OBJECT_KEY_SIZE], pod_key[OBJECT_KEY_SIZE], owner[16];
    struct map *owners, *pods;

    if (name == NULL)
        return;
    snprintf(group_key, sizeof(group_key), "%s/%s", pod->meta->namespace, name);
    object_key(pod, pod_key);
    format_owner(pod, owner);
    owners = open_map(s->pods, group_key);
    pods = open_map(owners, owner);
    if (new_object != NULL)
        map_put(pods, pod_key, s);
    else
        map_remove(pods, pod_key);
    close_if_empty(owners, owner, pods);
    close_if_empty(s->pods, group_key, owners);
    workqueue_add_after(s->queue, group_key, SETTLE_MS);
}

/* The state of the pods of a group. */
struct group_facts {
    unsigned n_placed, n_started;
    struct group_member *members; /* those that have a node */
    size_t n_members, capacity;
    int64_t started_at_us;      /* of the last one */
    const struct object *first; /* by name, of those that were refused; or NULL */
    const struct pod_condition *refusal;
};

static void
add_placed(struct group_facts *facts, const struct object *pod)
{
    struct group_member member = pod_group_member(pod);
    struct container_state state = {0};

    facts->n_placed++;
    if (pod_main_state(pod_of(pod), &state) && state.started_at_us > 0) {
        facts->n_started++;
        if (state.started_at_us > facts->started_at_us)
            facts->started_at_us = state.started_at_us;
    }
    if (member.node == NULL || member.node[0] == '\0')
        return;
    if (facts->n_members == facts->capacity) {
        facts->capacity = facts->capacity > 0 ? facts->capacity * 2 : 16;
        facts->members = xrealloc_array(facts->members, facts->capacity, sizeof(*facts->members));
    }
    facts->members[facts->n_members++] = member;
}

static void
add_pod(struct group_facts *facts, const struct object *pod)
{
    const struct pod_condition *c = pod_find_condition(pod_of(pod), "PodScheduled");

    if (pod_group_counts(pod)) {
        add_placed(facts, pod);
        return;
    }
    if (c == NULL || c->status == NULL || strcmp(c->status, "False") != 0
        || pod_is_finished(pod_of(pod))
        || (facts->first != NULL && strcmp(facts->first->meta->name, pod->meta->name) < 0))
        return;
    facts->first = pod;
    facts->refusal = c;
}

static void
add_pods(const struct pod_group_status *s, struct group_facts *facts, const struct map *pods)
{
    const char *pod_key;
    size_t at = 0;
    void *unused;

    while (pods != NULL && map_next(pods, &at, &pod_key, &unused)) {
        const struct object *pod = object_cache_find_key(s->cache, &pod_kind, pod_key);

        if (pod != NULL)
            add_pod(facts, pod);
    }
}

/* Objects of the system go together with everybody's (object_owner_is_same). */
static struct group_facts
collect(const struct pod_group_status *s, const char *key, const struct object *group)
{
    struct group_facts facts = {0};
    const struct map *owners = map_find(s->pods, key);
    char owner[16];
    size_t at = 0;
    void *pods;

    if (owners == NULL)
        return facts;
    format_owner(group, owner);
    if (strcmp(owner, OF_SYSTEM) != 0) {
        add_pods(s, &facts, map_find(owners, owner));
        add_pods(s, &facts, map_find(owners, OF_SYSTEM));
        return facts;
    }
    while (map_next(owners, &at, NULL, &pods))
        add_pods(s, &facts, pods);
    return facts;
}

static const struct json *
find_condition(const struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(text_or_empty(json_get_text(json_at(list, i), "type")), POD_GROUP_SCHEDULED)
            == 0)
            return json_at(list, i);
    return NULL;
}

static bool
says(const struct json *condition, const char *field, const char *value)
{
    return strcmp(text_or_empty(json_get_text(condition, field)), value) == 0;
}

struct condition_words {
    const char *status, *reason, *message;
};

/* False: there is nothing to say yet. */
static bool
find_words(const struct object *group, const struct group_facts *facts,
           struct condition_words *ret_words)
{
    int64_t least = pod_group_least(group);

    if (facts->n_placed > 0 && facts->n_placed >= least) {
        *ret_words = (struct condition_words){"True", REASON_SCHEDULED,
                                              "as many pods as it wants have a node"};
        return true;
    }
    if (facts->refusal == NULL)
        return false;
    *ret_words = (struct condition_words){
        "False",
        strcmp(text_or_empty(facts->refusal->reason), REASON_SCHEDULER_ERROR) == 0
            ? REASON_SCHEDULER_ERROR
            : REASON_UNSCHEDULABLE,
        text_or_empty(facts->refusal->message),
    };
    return true;
}

/* NULL: the condition is as it should be. */
static struct json *
make_conditions(const struct pod_group_status *s, const struct object *group, struct arena *arena,
                const struct condition_words *words)
{
    const struct json *old = json_get_path(object_tree(group, arena), "status.conditions");
    const struct json *before = find_condition(old);
    struct json *list = json_array(arena), *condition = json_object(arena);
    const char *since = json_get_text(before, "lastTransitionTime");
    char now[TIME_TEXT_SIZE];

    if (says(before, "status", "True")
        || (says(before, "status", words->status) && says(before, "reason", words->reason)
            && says(before, "message", words->message)))
        return NULL;
    time_format(clock_real_us(s->clock), false, now);
    json_set_string(arena, condition, "type", POD_GROUP_SCHEDULED);
    json_set_string(arena, condition, "status", words->status);
    json_set_string(arena, condition, "reason", words->reason);
    json_set_string(arena, condition, "message", words->message);
    json_set_int(arena, condition, "observedGeneration", group->meta->generation);
    json_set_string(arena, condition, "lastTransitionTime",
                    since != NULL && says(before, "status", words->status) ? since : now);
    for (uint32_t i = 0; i < json_count(old); i++)
        if (json_at(old, i) != before)
            json_append(arena, list, json_dup(arena, json_at(old, i)));
    json_append(arena, list, condition);
    return list;
}

static void
write_free(struct group_write *w)
{
    list_remove(&w->link);
    free(w->key);
    free(w);
}

static void
written(const struct client_reply *reply, void *context)
{
    struct group_write *w = context;
    struct error err = {0};
    bool has_failed = client_reply_error(reply, &err) < 0 && reply->code != 404;

    if (has_failed)
        log_debug("the group '%s': %s, trying again", w->key, err.text);
    workqueue_done(w->s->queue, w->key, has_failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    write_free(w);
}

/* The changes of the status, as a patch; an empty object: none. */
static struct json *
make_status(const struct pod_group_status *s, const struct object *group, struct group_facts *facts,
            struct arena *arena)
{
    const bool is_placed = facts->n_placed > 0 && facts->n_placed >= pod_group_least(group);
    struct json *status = json_object(arena), *conditions = NULL;
    struct condition_words words;

    if (find_words(group, facts, &words))
        conditions = make_conditions(s, group, arena, &words);
    if (conditions != NULL)
        json_set(arena, status, "conditions", conditions);
    if (is_placed && pod_group_is_one_per_node(group)) {
        CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;

        pod_group_format_nodes(facts->members, facts->n_members, &nodes);
        if (strcmp(text_or_empty(pod_group_nodes(group)), nodes.text) != 0)
            json_set_string(arena, status, "nodes", nodes.text);
    }
    if (is_placed && facts->n_started == facts->n_placed && pod_group_started_us(group) == 0) {
        char at[TIME_TEXT_SIZE];

        time_format(facts->started_at_us, false, at);
        json_set_string(arena, status, "startedAt", at);
    }
    return status;
}

static void
write_status(struct pod_group_status *s, const char *key, const struct object *group,
             struct arena *arena TAKES, struct json *status)
{
    struct group_write *w = xnew(struct group_write);
    struct json *body = json_object(arena);

    list_add_last(&s->writings, &w->link);
    w->s = s;
    w->key = xstrdup(key);
    json_set(arena, body, "status", status);
    json_set_string(arena, json_make_object(arena, body, "metadata"), "resourceVersion",
                    group->meta->resource_version);
    w->call = client_call(s->client, arena,
                          &(struct client_request){
                              .verb = CLIENT_MERGE_PATCH,
                              .kind = group->kind,
                              .namespace = group->meta->namespace,
                              .name = group->meta->name,
                              .subresource = "status",
                              .body = body,
                          },
                          written, w);
}

static void
work_on_group(const char *key, void *context)
{
    struct pod_group_status *s = context;
    const struct object *group = object_cache_find_key(s->cache, &pod_group_kind, key);
    struct group_facts facts;
    struct json *status;
    struct arena *arena;

    if (group == NULL || !object_cache_has_synced(s->cache)) {
        workqueue_done(s->queue, key, WORKQUEUE_OK);
        return;
    }
    arena = arena_new(0);
    facts = collect(s, key, group);
    status = make_status(s, group, &facts, arena);
    free(facts.members);
    if (json_count(status) > 0) {
        write_status(s, key, group, arena, status);
        return;
    }
    arena_free(arena);
    workqueue_done(s->queue, key, WORKQUEUE_OK);
}

static void
queue_one(const struct object *group, void *context)
{
    on_group(NULL, group, context);
}

static void
on_synced(void *context)
{
    struct pod_group_status *s = context;

    object_cache_visit(s->cache, &pod_group_kind, queue_one, s);
}

struct pod_group_status *
pod_group_status_new(struct loop *loop, struct client *client, struct object_cache *cache,
                     struct clock *clock)
{
    struct pod_group_status *s = xnew(struct pod_group_status);

    s->client = client;
    s->cache = cache;
    s->clock = clock;
    s->pods = map_new();
    list_init(&s->writings);
    s->queue = workqueue_new(loop, PARALLEL, work_on_group, s);
    object_cache_listen(cache, &pod_kind, on_pod, s);
    object_cache_listen(cache, &pod_group_kind, on_group, s);
    object_cache_on_synced(cache, on_synced, s);
    return s;
}

static void
free_owners(struct map *owners)
{
    size_t at = 0;
    void *pods;

    while (map_next(owners, &at, NULL, &pods))
        map_free(pods);
    map_free(owners);
}

void
pod_group_status_free(struct pod_group_status *s)
{
    size_t at = 0;
    void *owners;

    if (s == NULL)
        return;
    list_foreach_safe(link, &s->writings)
    {
        struct group_write *w = container_of(link, struct group_write, link);

        client_cancel(w->call);
        write_free(w);
    }
    while (map_next(s->pods, &at, NULL, &owners))
        free_owners(owners);
    map_free(s->pods);
    workqueue_free(s->queue);
    free(s);
}
