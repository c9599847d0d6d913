/* SPDX-License-Identifier: Apache-2.0 */
/* A claim's name proves nothing: another user may have made a claim of that name, so it must
 * be the controller that made it for this pod and this user. An API that does not answer must
 * not fail a job, so the request is repeated until there is an answer of any kind.
 */
#include "agent/volumes/pod_mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define AGAIN_MS 1000

struct pod_mounts {
    struct client *client;
    struct list under_way;
};

struct mount_lookup {
    struct list link;
    struct pod_mounts *all;
    struct client_call *call;
    struct timer *again; /* runs when the API did not answer */
    const struct object *pod;
    unsigned at; /* index in the pod's volumes */
    struct mount_list *list;
    pod_mounts_got_fn *got;
    void *context;
};

void
mount_list_free(struct mount_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].volume);
        free(list->items[i].source);
        free(list->items[i].target);
    }
    free(list->items);
    free(list);
}

static void lookup_next(struct mount_lookup *l);

struct pod_mounts *
pod_mounts_new(struct client *client)
{
    struct pod_mounts *m = xnew(struct pod_mounts);

    m->client = client;
    list_init(&m->under_way);
    return m;
}

static void
end(struct mount_lookup *l, const struct error *err)
{
    struct mount_list *list = l->list;

    list_remove(&l->link);
    timer_free(l->again);
    if (err != NULL) {
        mount_list_free(list);
        list = NULL;
    }
    l->got(list, err, l->context);
    object_unref(l->pod);
    free(l);
}

void
pod_mounts_free(struct pod_mounts *m)
{
    struct error err = {0};

    if (m == NULL)
        return;
    error_set(&err, -ECANCELED, "the agent is stopping");
    list_foreach_safe(link, &m->under_way)
    {
        struct mount_lookup *l = container_of(link, struct mount_lookup, link);

        if (l->call != NULL)
            client_cancel(l->call);
        end(l, &err);
    }
    free(m);
}

static const struct pod_volume *
volume_of(const struct mount_lookup *l)
{
    return &pod_of(l->pod)->spec.volumes.items[l->at];
}

static void
fail(struct mount_lookup *l, const char *why)
{
    struct error err = {0};

    error_set(&err, -EINVAL, "volume '%s': %s", volume_of(l)->name, why);
    end(l, &err);
}

static void
add_place(struct mount_lookup *l, const char *source, const char *target, bool read_only)
{
    struct mount_list *list = l->list;

    list->items = xrealloc_array(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count++] = (struct mount_place){
        .volume = xstrdup(volume_of(l)->name),
        .source = xstrdup(source),
        .target = target != NULL ? xstrdup(target) : NULL,
        .read_only = read_only,
    };
}

/* Adds one entry for each mount of the volume in the container; one if the
 * container does not mount it.
 */
static void
add_places(struct mount_lookup *l, const char *source)
{
    const struct pod_volume *volume = volume_of(l);
    const struct pod *pod = pod_of(l->pod);
    bool is_mounted = false;

    for (unsigned i = 0; i < pod->spec.containers.count; i++) {
        const struct container *c = &pod->spec.containers.items[i];

        for (unsigned j = 0; j < c->volume_mounts.count; j++) {
            const struct volume_mount *m = &c->volume_mounts.items[j];

            if (strcmp(m->name, volume->name) != 0)
                continue;
            add_place(l, source, m->mount_path, m->read_only || volume->read_only);
            is_mounted = true;
        }
    }
    if (!is_mounted)
        add_place(l, source, NULL, volume->read_only);
}

static const char *
source_of(const struct object *object, struct arena *arena)
{
    const struct persistent_volume *v = persistent_volume_of(object);

    if (v->spec.local_path != NULL)
        return v->spec.local_path;
    return json_path_text(object_tree(object, arena), "spec.hostPath.path");
}

static void
lookup_again(void *context)
{
    lookup_next(context);
}

/* Repeats the request when the API did not answer, because an API outage must
 * not fail a job. False: there was an answer.
 */
static bool
had_no_answer(struct mount_lookup *l, const struct client_reply *reply)
{
    if (client_reply_is_final(reply))
        return false;
    if (l->again == NULL)
        l->again = timer_new(l->all->client->loop, lookup_again, l);
    timer_start(l->again, AGAIN_MS);
    return true;
}

static void
on_volume(const struct client_reply *reply, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct mount_lookup *l = context;
    struct error err = {0};
    const char *source;

    l->call = NULL;
    if (had_no_answer(l, reply))
        return;
    if (client_reply_error(reply, &err) != 0) {
        fail(l, err.text);
        return;
    }
    source = source_of(reply->object, arena);
    if (source == NULL) {
        fail(l, "its claim is bound to a volume that is not a directory of a "
                "node (local or hostPath)");
        return;
    }
    add_places(l, source);
    l->at++;
    lookup_next(l);
}

/* Whether the controller made the claim for this pod and its user; the claim's
 * name does not prove that.
 */
static bool
is_made_for(const struct object *claim, const struct object *pod)
{
    return meta_is_controlled_by(claim->meta, pod) && object_owner_is_same(claim, pod);
}

static void
on_claim(const struct client_reply *reply, void *context)
{
    struct mount_lookup *l = context;
    struct error err = {0};
    const struct persistent_volume_claim *c;

    l->call = NULL;
    if (had_no_answer(l, reply))
        return;
    if (client_reply_error(reply, &err) != 0) {
        fail(l, err.text);
        return;
    }
    if (volume_of(l)->ephemeral != NULL && !is_made_for(reply->object, l->pod)) {
        fail(l, "the claim of that name was not made for this pod; delete the "
                "claim");
        return;
    }
    c = persistent_volume_claim_of(reply->object);
    if (!persistent_volume_claim_is_bound(c)) {
        fail(l, "its claim is not bound");
        return;
    }
    l->call = client_call(l->all->client, NULL,
                          &(struct client_request){
                              .verb = CLIENT_GET,
                              .kind = &persistent_volume_kind,
                              .name = c->spec.volume_name,
                          },
                          on_volume, l);
}

static void
lookup_next(struct mount_lookup *l)
{
    const struct pod *pod = pod_of(l->pod);
    char buffer[POD_CLAIM_NAME_SIZE];
    const char *claim;

    if (l->at == pod->spec.volumes.count) {
        end(l, NULL);
        return;
    }
    claim = pod_volume_claim(pod, volume_of(l), buffer);
    if (claim == NULL) {
        fail(l, "a process sees the node's own file systems; only claims are "
                "provided as volumes");
        return;
    }
    l->call = client_call(l->all->client, NULL,
                          &(struct client_request){
                              .verb = CLIENT_GET,
                              .kind = &persistent_volume_claim_kind,
                              .namespace = pod->meta.namespace,
                              .name = claim,
                          },
                          on_claim, l);
}

void
pod_mounts_get(struct pod_mounts *m, const struct object *pod, pod_mounts_got_fn *got,
               void *context)
{
    struct mount_lookup *l;

    if (pod_of(pod)->spec.volumes.count == 0) {
        got(NULL, NULL, context);
        return;
    }
    l = xnew(struct mount_lookup);
    l->all = m;
    list_add_last(&m->under_way, &l->link);
    l->pod = object_ref(pod);
    l->list = xnew(struct mount_list);
    l->got = got;
    l->context = context;
    lookup_next(l);
}
