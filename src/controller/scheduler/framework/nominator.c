/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/nominator.h"

#include <stdio.h>
#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* The pods nominated on one node. */
struct nominations {
    char *node_name;
    struct pod_view **pods;
    size_t count, capacity;
};

struct nominator {
    struct map *by_node; /* to struct nominations */
    struct map *by_pod;  /* to struct nominations; the key is the uid */
};

#define POD_KEY_SIZE 600

static const char *
pod_key(const struct pod_view *pod, char buffer[POD_KEY_SIZE])
{
    if (pod->uid != NULL)
        return pod->uid;
    snprintf(buffer, POD_KEY_SIZE, "%s/%s", pod->namespace, pod->name);
    return buffer;
}

struct nominator *
nominator_new(void)
{
    struct nominator *n = xnew(struct nominator);

    n->by_node = map_new();
    n->by_pod = map_new();
    return n;
}

static void
nominations_free(struct nominations *of)
{
    for (size_t i = 0; i < of->count; i++)
        pod_view_unref(of->pods[i]);
    free(of->pods);
    free(of->node_name);
    free(of);
}

void
nominator_free(struct nominator *n)
{
    size_t at = 0;
    void *value;

    if (n == NULL)
        return;
    while (map_next(n->by_node, &at, NULL, &value))
        nominations_free(value);
    map_free(n->by_node);
    map_free(n->by_pod);
    free(n);
}

void
nominator_add(struct nominator *n, struct pod_view *pod, const char *node_name)
{
    char buffer[POD_KEY_SIZE];
    struct nominations *of;

    pod_view_ref(pod);
    nominator_remove(n, pod);
    of = map_find(n->by_node, node_name);
    if (of == NULL) {
        of = xnew(struct nominations);
        of->node_name = xstrdup(node_name);
        map_put(n->by_node, node_name, of);
    }
    xgrow(of->pods, of->count, of->capacity);
    of->pods[of->count++] = pod;
    map_put(n->by_pod, pod_key(pod, buffer), of);
}

void
nominator_remove(struct nominator *n, const struct pod_view *pod)
{
    char buffer[POD_KEY_SIZE];
    struct nominations *of = map_remove(n->by_pod, pod_key(pod, buffer));
    size_t i = 0;

    if (of == NULL)
        return;
    while (!pod_view_is_same(of->pods[i], pod))
        i++;
    pod_view_unref(of->pods[i]);
    of->count--;
    memmove(of->pods + i,
            of->pods + i + 1,
            (of->count - i) * sizeof(*of->pods));
    if (of->count > 0)
        return;
    map_remove(n->by_node, of->node_name);
    nominations_free(of);
}

size_t
nominator_count(const struct nominator *n)
{
    return map_count(n->by_pod);
}

const char *
nominator_node(const struct nominator *n, const struct pod_view *pod)
{
    char buffer[POD_KEY_SIZE];
    const struct nominations *of = map_find(n->by_pod, pod_key(pod, buffer));

    return of != NULL ? of->node_name : NULL;
}

struct pod_view *const *
nominator_pods(const struct nominator *n,
               const char *node_name,
               size_t *ret_count)
{
    const struct nominations *of = map_find(n->by_node, node_name);

    *ret_count = of != NULL ? of->count : 0;
    return of != NULL ? of->pods : NULL;
}

void
nominator_visit_nodes(const struct nominator *n,
                      void (*visit)(const char *node_name, void *context),
                      void *context)
{
    size_t at = 0;
    const char *name;
    void *value;

    while (map_next(n->by_node, &at, &name, &value))
        visit(name, context);
}

bool
nominator_counts(const struct pod_view *nominated, const struct pod_view *pod)
{
    return nominated->priority >= pod->priority
           && !pod_view_is_same(nominated, pod);
}
