/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/bind/volume_calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/volume_book.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/volume_match.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

/* One write and the revision that its answer contained. Older objects do not
 * show its effect.
 */
struct volume_write {
    struct volume_call *call;
    struct client_call *under_way;
    int64_t revision;
};

/* The volumes of one pod. */
struct volume_call {
    struct volume_calls *all;
    struct assignment *a;
    const struct volume_plan *plan;
    struct volume_write *writes; /* one for each step */
    unsigned n_under_way;
    int64_t deadline_us;
    struct list link;
};

struct volume_calls {
    struct volume_calls_settings s;
    struct list calls;
};

struct volume_calls *
volume_calls_new(const struct volume_calls_settings *settings)
{
    struct volume_calls *vc = xnew(struct volume_calls);

    vc->s = *settings;
    list_init(&vc->calls);
    return vc;
}

static void
drop(struct volume_call *c)
{
    for (unsigned i = 0; i < c->plan->count; i++)
        if (c->writes[i].under_way != NULL)
            client_cancel(c->writes[i].under_way);
    list_remove(&c->link);
    free(c->writes);
    free(c);
}

void
volume_calls_free(struct volume_calls *vc)
{
    if (vc == NULL)
        return;
    list_foreach_safe(link, &vc->calls) drop(container_of(link, struct volume_call, link));
    free(vc);
}

static void
end(struct volume_call *c, const char *words)
{
    const struct volume_calls_settings *s = &c->all->s;
    struct assignment *a = c->a;

    drop(c);
    s->ended(a, words, s->context);
}

static void
fail(struct volume_call *c, const char *why)
{
    CLEANUP_FREE char *words = xasprintf("binding volumes: %s", why);

    end(c, words);
}

/* --- whether the volumes are bound ---------------------------------------- */

enum volume_write_state { WAITING, DONE, FAILED };

static enum volume_write_state
check_claim(const struct volume_call *c, const struct volume_step *step,
            const struct volume_write *w, char **ret_why)
{
    const char *name = step->claim->meta->name;
    const struct object *claim =
        volume_book_claim(c->all->s.book, step->claim->meta->namespace, name);
    const struct persistent_volume_claim *p;
    const char *node;

    if (claim == NULL
        || (claim->meta->uid != NULL && step->claim->meta->uid != NULL
            && strcmp(claim->meta->uid, step->claim->meta->uid) != 0)) {
        *ret_why = xasprintf("persistentvolumeclaim \"%s\" not found", name);
        return FAILED;
    }
    p = persistent_volume_claim_of(claim);
    if (persistent_volume_claim_is_bound(p))
        return DONE;
    if (step->volume != NULL || claim->revision < w->revision)
        return WAITING;
    node = persistent_volume_claim_node(p);
    if (node != NULL && strcmp(node, c->a->node_name) == 0)
        return WAITING;
    *ret_why = xasprintf("provisioning failed for PVC \"%s\"", name);
    return FAILED;
}

/* A volume that another claim got meanwhile will never belong to this claim. */
static enum volume_write_state
check_volume(const struct volume_call *c, const struct volume_step *step,
             const struct volume_write *w, char **ret_why)
{
    const struct object *volume = volume_book_volume(c->all->s.book, step->volume->meta->name);
    const struct object_reference *claim;

    if (volume == NULL) {
        *ret_why = xasprintf("persistentvolume \"%s\" not found", step->volume->meta->name);
        return FAILED;
    }
    if (volume->revision < w->revision)
        return WAITING;
    claim = persistent_volume_of(volume)->spec.claim;
    if (claim != NULL && claim->uid != NULL && step->claim->meta->uid != NULL
        && strcmp(claim->uid, step->claim->meta->uid) == 0)
        return DONE;
    *ret_why = xasprintf("PersistentVolume's \"%s\" claim is no longer \"%s\"",
                         step->volume->meta->name, step->claim->meta->name);
    return FAILED;
}

static void
check(struct volume_call *c)
{
    bool is_done = true;

    if (c->n_under_way > 0)
        return;
    for (unsigned i = 0; i < c->plan->count; i++) {
        const struct volume_step *step = &c->plan->steps[i];
        CLEANUP_FREE char *why = NULL;
        enum volume_write_state state = DONE;

        if (step->volume != NULL)
            state = check_volume(c, step, &c->writes[i], &why);
        if (state == DONE)
            state = check_claim(c, step, &c->writes[i], &why);
        if (state == FAILED) {
            fail(c, why);
            return;
        }
        is_done = is_done && state == DONE;
    }
    if (is_done)
        end(c, NULL);
}

/* --- the writes ----------------------------------------------------------- */

static void
on_written(const struct client_reply *reply, void *context)
{
    struct volume_write *w = context;
    struct volume_call *c = w->call;
    struct error err = {0};

    w->under_way = NULL;
    c->n_under_way--;
    if (client_reply_error(reply, &err) != 0) {
        fail(c, err.text);
        return;
    }
    if (reply->object != NULL)
        w->revision = reply->object->revision;
    check(c);
}

/* Gives the volume to the claim. The volume's revision keeps another client
 * from giving it away, too.
 */
static void
bind(struct arena *arena, struct json *body, const struct volume_step *step,
     const struct object *volume)
{
    const struct meta *claim = step->claim->meta;
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *spec = json_make_object(arena, body, "spec");
    struct json *ref = json_make_object(arena, spec, "claimRef");

    json_set_string(arena, meta, "resourceVersion", volume->meta->resource_version);
    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_BOUND_BY,
                    "yes");
    json_set_string(arena, ref, "apiVersion", "v1");
    json_set_string(arena, ref, "kind", "PersistentVolumeClaim");
    json_set_string(arena, ref, "namespace", claim->namespace);
    json_set_string(arena, ref, "name", claim->name);
    if (claim->uid != NULL)
        json_set_string(arena, ref, "uid", claim->uid);
    if (claim->resource_version != NULL)
        json_set_string(arena, ref, "resourceVersion", claim->resource_version);
}

static void
set_number(struct arena *arena, struct json *annotations, const struct meta *claim,
           const char *name, const int64_t *number)
{
    if (number != NULL && string_map_find(&claim->annotations, name) == NULL)
        json_set_string(arena, annotations, name, arena_printf(arena, "%" PRId64, *number));
}

/* A volume is to be made on that node. If the claim has no user yet, it gets
 * the pod's.
 */
static void
choose_node(struct arena *arena, struct json *body, const struct volume_call *c,
            const struct volume_step *step)
{
    const struct security_context *who = c->a->cycle.pod->pod->spec.security_context;
    const struct meta *claim = step->claim->meta;
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *annotations = json_make_object(arena, meta, "annotations");

    if (claim->uid != NULL)
        json_set_string(arena, meta, "uid", claim->uid);
    json_set_string(arena, annotations, ANNOTATION_SELECTED_NODE, c->a->node_name);
    if (who == NULL)
        return;
    set_number(arena, annotations, claim, ANNOTATION_UID, who->run_as_user);
    set_number(arena, annotations, claim, ANNOTATION_GID, who->run_as_group);
}

/* The last attempt of this pod, or another pod with the same claim, has written
 * the step already.
 */
static bool
is_written(const struct volume_call *c, const struct volume_step *step, const struct object *volume)
{
    const struct object *claim =
        volume_book_claim(c->all->s.book, step->claim->meta->namespace, step->claim->meta->name);
    const char *node;

    if (claim == NULL)
        return false;
    if (step->volume != NULL)
        return volume != NULL && persistent_volume_of(volume)->spec.claim != NULL
               && volume_is_for(persistent_volume_of(volume), persistent_volume_claim_of(claim))
               && persistent_volume_of(volume)->spec.claim->uid != NULL;
    node = persistent_volume_claim_node(persistent_volume_claim_of(claim));
    return node != NULL && strcmp(node, c->a->node_name) == 0;
}

static void
write_step(struct volume_call *c, unsigned at)
{
    const struct volume_step *step = &c->plan->steps[at];
    struct volume_write *w = &c->writes[at];
    const struct object *volume =
        step->volume != NULL ? volume_book_volume(c->all->s.book, step->volume->meta->name) : NULL;
    const struct object *target = volume != NULL ? volume : step->claim;
    struct arena *arena;
    struct json *body;

    w->call = c;
    if (is_written(c, step, volume))
        return;
    if (step->volume != NULL && volume == NULL)
        return; /* deleted; check_volume reports that */
    arena = arena_new(0);
    body = json_object(arena);
    if (volume != NULL)
        bind(arena, body, step, volume);
    else
        choose_node(arena, body, c, step);
    c->n_under_way++;
    w->under_way = client_call(c->all->s.client, arena,
                               &(struct client_request){
                                   .verb = CLIENT_MERGE_PATCH,
                                   .kind = target->kind,
                                   .namespace = target->meta->namespace,
                                   .name = target->meta->name,
                                   .body = body,
                               },
                               on_written, w);
}

void
volume_calls_begin(struct volume_calls *vc, struct assignment *a, const struct volume_plan *plan)
{
    struct volume_call *c = xnew(struct volume_call);

    c->all = vc;
    c->a = a;
    c->plan = plan;
    c->writes = xnew_array(struct volume_write, plan->count);
    c->deadline_us = clock_monotonic_us(vc->s.clock) + plan->timeout_us;
    list_add_last(&vc->calls, &c->link);
    for (unsigned i = 0; i < plan->count; i++)
        write_step(c, i);
}

/* Each call gets one turn. The end of one may end others, those of pods that
 * are bound together.
 */
static void
take_turns(struct volume_calls *vc, void (*turn)(struct volume_call *c))
{
    size_t left = 0;

    list_foreach(link, &vc->calls) left++;
    while (left-- > 0 && !list_is_empty(&vc->calls)) {
        struct list *link = vc->calls.next;

        list_remove(link);
        list_add_last(&vc->calls, link);
        turn(container_of(link, struct volume_call, link));
    }
}

void
volume_calls_check(struct volume_calls *vc)
{
    take_turns(vc, check);
}

static void
expire(struct volume_call *c)
{
    if (c->deadline_us <= clock_monotonic_us(c->all->s.clock))
        fail(c, "context deadline exceeded");
}

void
volume_calls_expire(struct volume_calls *vc)
{
    take_turns(vc, expire);
}

bool
volume_calls_abandon(struct volume_calls *vc, const struct assignment *a)
{
    list_foreach(link, &vc->calls)
    {
        struct volume_call *c = container_of(link, struct volume_call, link);

        if (c->a != a)
            continue;
        fail(c, "the pod no longer exists");
        return true;
    }
    return false;
}
