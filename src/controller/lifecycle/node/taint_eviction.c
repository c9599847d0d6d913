/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/node/taint_eviction.h"

#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/node/node_health.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/node/node.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/pod_removal.h"

#define PARALLEL  16u
#define SECOND_US INT64_C(1000000)

struct taint_eviction {
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    struct workqueue *queue; /* pods, "namespace/name" */
    struct map *seen;        /* pods with a deadline, to when it began */
    struct list endings;     /* evictions whose calls are pending */
};

struct seen {
    int64_t at_us;
};

/* The eviction of one pod. */
struct taint_ending {
    struct list link;
    struct pod_removal *removal;
    struct taint_eviction *e;
    char *key;
};

/* When a pod must be evicted */

static bool
is_of_health(const struct taint *t)
{
    return strcmp(t->key, TAINT_UNREACHABLE) == 0 || strcmp(t->key, TAINT_NOT_READY) == 0
           || strcmp(t->key, TAINT_OUT_OF_SERVICE) == 0;
}

static bool
is_evicting(const struct taint *t)
{
    return strcmp(t->effect, "NoExecute") == 0 && !is_of_health(t);
}

/* The first toleration that matches the taint decides. */
static int64_t
due_of_taint(const struct taint *t, const struct pod *pod, int64_t seen_us)
{
    for (unsigned i = 0; i < pod->spec.tolerations.count; i++) {
        const struct toleration *it = &pod->spec.tolerations.items[i];
        int64_t begin_us = t->added_at_us != 0 ? t->added_at_us : seen_us;

        if (!toleration_tolerates(it, t))
            continue;
        if (it->toleration_seconds == NULL)
            return INT64_MAX;
        if (*it->toleration_seconds <= 0)
            return 0;
        if (*it->toleration_seconds > (INT64_MAX - begin_us) / SECOND_US)
            return INT64_MAX;
        return begin_us + *it->toleration_seconds * SECOND_US;
    }
    return 0;
}

/* When the pod must be evicted, in real time; INT64_MAX: never. */
static int64_t
due_of_pod(const struct node *node, const struct pod *pod, int64_t first_seen_us)
{
    int64_t due_us = INT64_MAX;

    for (unsigned i = 0; i < node->spec.taints.count; i++) {
        const struct taint *t = &node->spec.taints.items[i];
        int64_t one_us;

        if (!is_evicting(t))
            continue;
        one_us = due_of_taint(t, pod, first_seen_us);
        if (one_us < due_us)
            due_us = one_us;
    }
    return due_us;
}

/* Evicting one pod */

static void
ending_free(struct taint_ending *ending)
{
    list_remove(&ending->link);
    free(ending->key);
    free(ending);
}

static void
ending_done(struct taint_ending *ending, enum workqueue_result result)
{
    workqueue_done(ending->e->queue, ending->key, result);
    ending_free(ending);
}

static void
removed(const struct client_reply *reply, void *context)
{
    struct taint_ending *ending = context;
    struct error err = {0};
    bool has_failed = pod_removal_error(reply, &err) < 0;

    if (has_failed)
        log_warning("pod '%s' does not tolerate its node and stays: %s, "
                    "trying again",
                    ending->key, err.text);
    ending_done(ending, has_failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
}

/* The message names the taint without its prefix: "maintenance" for
 * "example.com/maintenance".
 */
static char *
describe_eviction(const struct pod *pod, const struct node *node)
{
    const char *key = "";

    for (unsigned i = 0; i < node->spec.taints.count; i++) {
        const struct taint *taint = &node->spec.taints.items[i];
        bool is_tolerated = false;

        for (unsigned t = 0; t < pod->spec.tolerations.count; t++)
            if (toleration_tolerates(&pod->spec.tolerations.items[t], taint))
                is_tolerated = true;
        if (!is_evicting(taint) || (is_tolerated && key[0] != '\0'))
            continue;
        key = taint->key;
        if (!is_tolerated)
            break;
    }
    return xasprintf("evicted from node %s (%.80s)", pod->spec.node_name,
                     strchr(key, '/') != NULL ? strchr(key, '/') + 1 : key);
}

static void
end_pod(struct taint_eviction *e, const char *key, const struct object *pod,
        const struct object *node)
{
    CLEANUP_FREE char *words = describe_eviction(pod_of(pod), node_of(node));
    struct taint_ending *ending = xnew(struct taint_ending);

    log_info("pod '%s' does not tolerate a NoExecute taint of node '%s', "
             "ending it",
             key, pod_of(pod)->spec.node_name);
    list_add_last(&e->endings, &ending->link);
    ending->e = e;
    ending->key = xstrdup(key);
    ending->removal = pod_removal_begin(
        e->client, e->clock,
        &(struct pod_removal_order){
            .namespace = pod->meta->namespace,
            .name = pod->meta->name,
            .uid = pod->meta->uid,
            .reason = REASON_DELETION_BY_TAINT_MANAGER,
            .message = "Taint manager: deleting due to "
                       "NoExecute taint",
            .cause =
                &(struct pod_cause){.code = job_reason_name(JOB_REASON_EVICTED), .message = words},
        },
        removed, ending);
}

/* Pods that wait for their eviction */

static void
forget(struct taint_eviction *e, const char *key)
{
    free(map_remove(e->seen, key));
}

static int64_t
seen_since(struct taint_eviction *e, const char *key)
{
    struct seen *s = map_find(e->seen, key);

    if (s == NULL) {
        s = xnew(struct seen);
        s->at_us = clock_real_us(e->clock);
        map_put(e->seen, key, s);
    }
    return s->at_us;
}

static bool
may_end(const struct object *pod)
{
    return pod != NULL && pod->meta->deleted_at_us == 0 && !pod_is_finished(pod_of(pod))
           && pod_of(pod)->spec.node_name != NULL;
}

static void
work_on_pod(const char *key, void *context)
{
    struct taint_eviction *e = context;
    const struct object *pod = object_cache_find_key(e->cache, &pod_kind, key);
    const struct object *node = NULL;
    int64_t due_us = INT64_MAX, now_us = clock_real_us(e->clock);

    if (may_end(pod))
        node = object_cache_find(e->cache, &node_kind, NULL, pod_of(pod)->spec.node_name);
    if (node != NULL)
        due_us = due_of_pod(node_of(node), pod_of(pod), seen_since(e, key));
    if (due_us == INT64_MAX) {
        forget(e, key);
    } else if (due_us <= now_us) {
        forget(e, key);
        end_pod(e, key, pod, node);
        return;
    } else {
        workqueue_add_after(e->queue, key, (due_us - now_us) / 1000 + 1);
    }
    workqueue_done(e->queue, key, WORKQUEUE_OK);
}

/* Events */

static bool
evicts(const struct object *node)
{
    for (unsigned i = 0; node != NULL && i < node_of(node)->spec.taints.count; i++)
        if (is_evicting(&node_of(node)->spec.taints.items[i]))
            return true;
    return false;
}

static void
check_pod(const struct object *pod, void *context)
{
    struct taint_eviction *e = context;
    char key[OBJECT_KEY_SIZE];

    object_key(pod, key);
    workqueue_add(e->queue, key);
}

static void
on_node(const struct object *old_object, const struct object *new_object, void *context)
{
    struct taint_eviction *e = context;

    if (new_object != NULL && (evicts(old_object) || evicts(new_object)))
        object_cache_visit_on_node(e->cache, new_object->meta->name, check_pod, e);
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct taint_eviction *e = context;
    char key[OBJECT_KEY_SIZE];

    if (!may_end(new_object)) {
        object_key(new_object != NULL ? new_object : old_object, key);
        forget(e, key);
        return;
    }
    if (evicts(object_cache_find(e->cache, &node_kind, NULL, pod_of(new_object)->spec.node_name)))
        check_pod(new_object, e);
}

struct taint_eviction *
taint_eviction_new(const struct taint_eviction_settings *settings)
{
    struct taint_eviction *e = xnew(struct taint_eviction);

    e->client = settings->client;
    e->cache = settings->cache;
    e->clock = settings->clock;
    e->seen = map_new();
    list_init(&e->endings);
    e->queue = workqueue_new(settings->loop, PARALLEL, work_on_pod, e);
    object_cache_listen(settings->cache, &node_kind, on_node, e);
    object_cache_listen(settings->cache, &pod_kind, on_pod, e);
    return e;
}

void
taint_eviction_free(struct taint_eviction *e)
{
    size_t at = 0;
    void *value;

    if (e == NULL)
        return;
    list_foreach_safe(link, &e->endings)
    {
        struct taint_ending *ending = container_of(link, struct taint_ending, link);

        pod_removal_cancel(ending->removal);
        ending_free(ending);
    }
    workqueue_free(e->queue);
    while (map_next(e->seen, &at, NULL, &value))
        free(value);
    map_free(e->seen);
    free(e);
}
