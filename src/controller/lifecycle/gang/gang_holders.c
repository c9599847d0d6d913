/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gang/gang_holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PARALLEL 16u

/* Group, namespace and owner: a pod of another user that names the group is not of it. */
#define KEY_SIZE (OBJECT_KEY_SIZE + 24)

struct gang_holders {
    struct client *client;
    struct object_cache *cache;
    struct map *gangs;       /* key, to its struct orphaned_gang */
    struct workqueue *queue; /* keys of pods */
    struct list removals;
};

struct orphaned_gang {
    unsigned n_scripts;
    struct map *holders; /* keys of orphans, to anything */
};

struct orphan_removal {
    struct list link;
    struct client_call *call;
    struct gang_holders *o;
    char *key;
};

static bool
is_live(const struct object *pod)
{
    return !pod_is_finished(pod_of(pod)) && pod->meta->deleted_at_us == 0;
}

/* Of a gang of which one pod runs the script. */
static bool
is_of_gang(const struct object *pod)
{
    const struct execution *execution = pod_of(pod)->spec.execution;

    return pod_start_barrier(pod_of(pod)) > 0 && pod_group_named_by(pod) != NULL
           && execution != NULL && execution->runs != NULL
           && strcmp(execution->runs, EXECUTION_RUNS_FIRST) == 0;
}

/* A pod that is being deleted may still run its script. */
static bool
is_script(const struct object *pod)
{
    return pod != NULL && is_of_gang(pod) && !pod_only_holds(pod_of(pod))
           && !pod_is_finished(pod_of(pod));
}

static bool
is_holder(const struct object *pod)
{
    return pod != NULL && is_of_gang(pod) && pod_only_holds(pod_of(pod)) && is_live(pod)
           && meta_controller_of(pod->meta, &job_kind) == NULL;
}

static void
format_key(const struct object *pod, char out[KEY_SIZE])
{
    uid_t owner;

    snprintf(out, KEY_SIZE, "%s/%s/%lld", pod->meta->namespace, pod_group_named_by(pod),
             object_owner(pod, &owner) ? (long long)owner : -1);
}

static void
queue_holders(struct gang_holders *h, const struct orphaned_gang *gang)
{
    const char *key;
    size_t at = 0;
    void *unused;

    while (gang->n_scripts == 0 && map_next(gang->holders, &at, &key, &unused))
        workqueue_add(h->queue, key);
}

static void
gang_free(struct orphaned_gang *gang)
{
    map_free(gang->holders);
    free(gang);
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    const struct object *any = new_object != NULL ? new_object : old_object;
    struct gang_holders *h = context;
    char key[KEY_SIZE], pod_key[OBJECT_KEY_SIZE];
    struct orphaned_gang *gang;

    if (is_script(old_object) == is_script(new_object)
        && is_holder(old_object) == is_holder(new_object))
        return;
    format_key(any, key);
    object_key(any, pod_key);
    gang = map_find(h->gangs, key);
    if (gang == NULL) {
        gang = xnew(struct orphaned_gang);
        gang->holders = map_new();
        map_put(h->gangs, key, gang);
    }
    gang->n_scripts += is_script(new_object);
    gang->n_scripts -= is_script(old_object);
    if (is_holder(new_object))
        map_put(gang->holders, pod_key, h);
    else
        map_remove(gang->holders, pod_key);
    if (object_cache_has_synced(h->cache))
        queue_holders(h, gang);
    if (gang->n_scripts == 0 && map_count(gang->holders) == 0) {
        map_remove(h->gangs, key);
        gang_free(gang);
    }
}

/* The scripts of some may have come after those that hold for them. */
static void
on_synced(void *context)
{
    struct gang_holders *h = context;
    size_t at = 0;
    void *gang;

    while (map_next(h->gangs, &at, NULL, &gang))
        queue_holders(h, gang);
}

static void
removal_free(struct orphan_removal *r)
{
    list_remove(&r->link);
    free(r->key);
    free(r);
}

static void
on_removed(const struct client_reply *reply, void *context)
{
    struct orphan_removal *r = context;
    struct error err = {0};
    const bool has_failed = client_reply_error(reply, &err) < 0 && reply->code != 404;

    if (has_failed)
        log_debug("pod '%s': %s, trying again", r->key, err.text);
    workqueue_done(r->o->queue, r->key, has_failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    removal_free(r);
}

static void
delete_pod(struct gang_holders *h, const char *key, const struct object *pod)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct orphan_removal *r = xnew(struct orphan_removal);

    list_add_last(&h->removals, &r->link);
    r->o = h;
    r->key = xstrdup(key);
    json_set_string(arena, json_make_object(arena, body, "preconditions"), "uid", pod->meta->uid);
    r->call = client_call(h->client, arena,
                          &(struct client_request){
                              .verb = CLIENT_DELETE,
                              .kind = &pod_kind,
                              .namespace = pod->meta->namespace,
                              .name = pod->meta->name,
                              .body = body,
                          },
                          on_removed, r);
}

static void
work(const char *key, void *context)
{
    struct gang_holders *h = context;
    const struct object *pod = object_cache_find_key(h->cache, &pod_kind, key);
    const struct orphaned_gang *gang = NULL;
    char gang_key[KEY_SIZE];

    if (is_holder(pod)) {
        format_key(pod, gang_key);
        gang = map_find(h->gangs, gang_key);
    }
    if (gang == NULL || gang->n_scripts > 0) {
        workqueue_done(h->queue, key, WORKQUEUE_OK);
        return;
    }
    log_info("pod '%s' held its node for a script that is over, and its Job was deleted, so it is "
             "deleted",
             key);
    delete_pod(h, key, pod);
}

struct gang_holders *
gang_holders_new(struct loop *loop, struct client *client, struct object_cache *cache)
{
    struct gang_holders *h = xnew(struct gang_holders);

    h->client = client;
    h->cache = cache;
    h->gangs = map_new();
    list_init(&h->removals);
    h->queue = workqueue_new(loop, PARALLEL, work, h);
    object_cache_listen(cache, &pod_kind, on_pod, h);
    object_cache_on_synced(cache, on_synced, h);
    return h;
}

void
gang_holders_free(struct gang_holders *h)
{
    size_t at = 0;
    void *gang;

    if (h == NULL)
        return;
    list_foreach_safe(link, &h->removals)
    {
        struct orphan_removal *r = container_of(link, struct orphan_removal, link);

        client_cancel(r->call);
        removal_free(r);
    }
    while (map_next(h->gangs, &at, NULL, &gang))
        gang_free(gang);
    map_free(h->gangs);
    workqueue_free(h->queue);
    free(h);
}
