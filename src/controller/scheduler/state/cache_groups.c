/* SPDX-License-Identifier: Apache-2.0 */
/* cache_groups.c - the nodes of the pods of a PodGroup, and nodes that are
 * closed to the others of it
 */
#include <stdio.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/state/cache_state.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* With the owner: pods of different owners are of no common group. */
#define GROUP_KEY_SIZE (OBJECT_KEY_SIZE + 24)

/* False: the pod names no group. */
static bool
format_key(const struct pod_view *pod, char out[GROUP_KEY_SIZE])
{
    const char *name = pod_group_named_by(pod->object);

    if (name != NULL)
        snprintf(out, GROUP_KEY_SIZE, "%s/%s/%lld", pod->namespace, name, (long long)pod->owner);
    return name != NULL;
}

void
cache_join_group(struct cache *cache, struct cached_pod *p)
{
    char key[GROUP_KEY_SIZE];
    struct list *pods;

    list_init(&p->of_group);
    if (!format_key(p->pod, key))
        return;
    pods = map_find(cache->groups, key);
    if (pods == NULL) {
        pods = xnew(struct list);
        list_init(pods);
        map_put(cache->groups, key, pods);
    }
    list_add_last(pods, &p->of_group);
}

void
cache_leave_group(struct cache *cache, struct cached_pod *p)
{
    char key[GROUP_KEY_SIZE];
    struct list *pods;

    if (!format_key(p->pod, key))
        return;
    list_remove(&p->of_group);
    pods = map_find(cache->groups, key);
    if (pods == NULL || !list_is_empty(pods))
        return;
    map_remove(cache->groups, key);
    free(pods);
}

void
cache_free_groups(struct cache *cache)
{
    size_t at = 0;
    void *pods;

    while (map_next(cache->groups, &at, NULL, &pods))
        free(pods);
    map_free(cache->groups);
}

static const struct list *
find_pods(const struct cache *cache, const struct pod_view *like)
{
    char key[GROUP_KEY_SIZE];

    return format_key(like, key) ? map_find(cache->groups, key) : NULL;
}

bool
cache_has_of_group(const struct cache *cache, const struct pod_view *like,
                   const struct node_view *node)
{
    const struct list *pods = find_pods(cache, like);

    if (pods == NULL)
        return false;
    list_foreach(link, pods)
    {
        const struct cached_pod *p = container_of(link, struct cached_pod, of_group);

        if (p->node == node)
            return true;
    }
    return false;
}

void
cache_close_node(struct cache *cache, struct node_view *node)
{
    if (node->is_closed || node->object == NULL)
        return;
    node->is_closed = true;
    list_add_last(&cache->closed, &node->closed);
    cache_touch(cache, node);
}

void
cache_close_nodes_of_group(struct cache *cache, const struct pod_view *like)
{
    const struct list *pods = find_pods(cache, like);

    if (pods == NULL)
        return;
    list_foreach(link, pods)
        cache_close_node(cache, container_of(link, struct cached_pod, of_group)->node);
}

void
cache_visit_group(const struct cache *cache, const struct pod_view *like,
                  void (*visit)(struct pod_view *pod, const struct node_view *node, void *context),
                  void *context)
{
    const struct list *pods = find_pods(cache, like);

    if (pods == NULL)
        return;
    list_foreach(link, pods)
    {
        const struct cached_pod *p = container_of(link, struct cached_pod, of_group);

        visit(p->pod, p->node, context);
    }
}

void
cache_open_nodes(struct cache *cache)
{
    while (!list_is_empty(&cache->closed)) {
        struct node_view *node = container_of(cache->closed.next, struct node_view, closed);

        list_remove(&node->closed);
        node->is_closed = false;
        if (node->object != NULL)
            cache_touch(cache, node);
    }
}
