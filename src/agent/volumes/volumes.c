/* SPDX-License-Identifier: Apache-2.0 */
/* The API says which volumes there should be, and the directory says which there are; every
 * action follows from the two, so an agent that was killed in the middle does the rest.
 * Reports are repeated until the API has them, and its answer may be newer than the watch,
 * which would otherwise ask for the same action once more.
 */
#include "agent/volumes/volumes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/volumes/scratch.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define TELL_AGAIN_MS 2000
#define DO_AGAIN_MS   30000

enum action { NOTHING, MAKE, REMOVE };

/* One volume with an action under way. */
struct work {
    struct volumes *all;
    char *name;
    enum action action;
    bool keeps_data; /* a removal that leaves the directory */
    struct scratch_volume volume;
    struct client_call *call;  /* while the API is told the result */
    const struct object *told; /* the API's latest answer, or NULL */
    int result;
    struct error err;
};

struct volumes {
    struct volumes_settings s;
    struct informer *informer;
    struct map *busy;    /* struct work by the volume's name */
    struct timer *again; /* after a failed action or report */
    unsigned under_way;
    bool freed;
};

static void check_volume(struct volumes *v, const struct object *volume);
static void end_work(struct work *w);

/* --- life ----------------------------------------------------------------- */

static void
destroy(struct volumes *v)
{
    map_free(v->busy);
    free(v);
}

/* Only the watch is opened again soon; actions on workers are not affected. */
void
volumes_retry_soon(struct volumes *v, int64_t within_ms)
{
    informer_retry_now(v->informer, within_ms);
}

void
volumes_free(struct volumes *v)
{
    size_t at = 0;
    void *work;

    if (v == NULL)
        return;
    informer_free(v->informer);
    timer_free(v->again);
    v->freed = true;
    v->under_way++;
    while (map_next(v->busy, &at, NULL, &work)) {
        struct work *w = work;

        if (w->call == NULL)
            continue;
        client_cancel(w->call);
        end_work(w);
    }
    if (--v->under_way == 0)
        destroy(v);
}

/* The answer to a report may be newer than the watch's object, which then still
 * asks for the action that was just done.
 */
static const struct object *
find_newest(const struct work *w)
{
    const struct object *seen = informer_find(w->all->informer, NULL, w->name);

    return seen != NULL && w->told != NULL && w->told->revision > seen->revision ? w->told : seen;
}

static void
end_work(struct work *w)
{
    struct volumes *v = w->all;
    const struct object *volume;

    map_remove(v->busy, w->name);
    v->under_way--;
    if (v->freed) {
        if (v->under_way == 0)
            destroy(v);
    } else {
        volume = find_newest(w);
        /* The volume may have changed meanwhile and need another action. */
        if (volume != NULL && w->result == 0)
            check_volume(v, volume);
        else if (w->result < 0 && !timer_is_running(v->again))
            timer_start(v->again, w->result == -EAGAIN ? TELL_AGAIN_MS : DO_AGAIN_MS);
    }
    object_unref(w->told);
    free(w->name);
    free(w);
}

/* --- reports to the API -------------------------------------------------- */

static void
on_reported(const struct client_reply *reply, void *context)
{
    struct work *w = context;
    struct error err = {0};

    w->call = NULL;
    if (client_reply_error(reply, &err) == 0 || reply->code == 404) {
        w->result = 0;
        if (reply->object != NULL)
            w->told = object_ref(reply->object);
    } else {
        w->result = -EAGAIN;
        log_debug("reporting volume '%s': %s, trying again", w->name, err.text);
    }
    end_work(w);
}

static void
report(struct work *w, const char *phase, const char *reason, const char *message)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *status = json_make_object(arena, body, "status");

    json_set_string(arena, status, "phase", phase);
    json_set(arena, status, "reason",
             reason != NULL ? json_string(arena, reason) : json_null(arena));
    json_set(arena, status, "message",
             message != NULL ? json_string(arena, message) : json_null(arena));
    w->call = client_call(w->all->s.client, arena,
                          &(struct client_request){
                              .verb = CLIENT_MERGE_PATCH,
                              .kind = &persistent_volume_kind,
                              .name = w->name,
                              .subresource = "status",
                              .body = body,
                          },
                          on_reported, w);
}

/* --- actions -------------------------------------------------------------- */

static void
do_work(void *arg)
{
    struct work *w = arg;
    struct scratch *scratch = w->all->s.scratch;

    if (w->action == MAKE)
        w->result = scratch_make(scratch, &w->volume, &w->err);
    else if (!w->keeps_data)
        w->result = scratch_remove(scratch, w->name, &w->err);
}

static void
work_done(void *arg)
{
    struct work *w = arg;

    if (w->all->freed) {
        end_work(w);
        return;
    }
    if (w->result < 0)
        log_warning("volume '%s': %s", w->name, w->err.text);
    if (w->action == MAKE && w->result == 0)
        report(w, "Available", NULL, NULL);
    else if (w->action == MAKE)
        report(w, "Failed", REASON_PROVISIONING_FAILED, w->err.text);
    else if (w->result == 0)
        report(w, "Released", REASON_REMOVED, NULL);
    else
        end_work(w); /* tried again later */
}

/* --- choosing the action -------------------------------------------------- */

static enum action
find_action(const struct object *object)
{
    const struct persistent_volume *v = persistent_volume_of(object);

    if (object->meta->deleted_at_us == 0)
        return persistent_volume_is_in_phase(v, "Pending") ? MAKE : NOTHING;
    if (!meta_has_finalizer(object->meta, FINALIZER_SCRATCH)
        || persistent_volume_is_in_phase(v, "Bound")
        || (v->status.reason != NULL && strcmp(v->status.reason, REASON_REMOVED) == 0))
        return NOTHING;
    return REMOVE;
}

static int64_t
number(const struct object *object, const char *annotation)
{
    const char *text = string_map_find(&object->meta->annotations, annotation);
    char *end;
    long long value = text != NULL ? strtoll(text, &end, 10) : -1;

    return text != NULL && *end == '\0' && value >= 0 && value < (long long)UINT32_MAX ? value : -1;
}

/* Whether the volume's path is in this node's scratch directory, and this agent
 * may make it for the owner.
 */
static int
check(const struct volumes *v, const struct object *object, struct error *err)
{
    const char *path = persistent_volume_of(object)->spec.local_path;
    CLEANUP_FREE char *here = xasprintf("%s/%s", scratch_dir(v->s.scratch), object->meta->name);

    if (path == NULL || strcmp(path, here) != 0)
        return error_set(err, -EINVAL,
                         "'%s' is not in the scratch directory '%s' of node "
                         "'%s'",
                         path != NULL ? path : "", scratch_dir(v->s.scratch), v->s.node);
    if (v->s.rootless && object->meta->deleted_at_us == 0
        && number(object, ANNOTATION_UID) != (int64_t)v->s.uid)
        return error_set(err, -EPERM,
                         "a rootless agent of uid %u creates volumes only for "
                         "that user",
                         (unsigned)v->s.uid);
    return 0;
}

static void
begin(struct volumes *v, const struct object *object, enum action action)
{
    const struct persistent_volume *p = persistent_volume_of(object);
    struct work *w = xnew(struct work);
    int64_t uid = number(object, ANNOTATION_UID);
    int64_t gid = number(object, ANNOTATION_GID);

    w->all = v;
    w->name = xstrdup(object->meta->name);
    w->action = action;
    w->keeps_data = p->spec.reclaim_policy == NULL || strcmp(p->spec.reclaim_policy, "Delete") != 0;
    w->volume = (struct scratch_volume){
        .name = w->name,
        .bytes = persistent_volume_bytes(p),
        .uid = uid >= 0 ? (uid_t)uid : 0,
        .gid = gid >= 0   ? (gid_t)gid
               : uid >= 0 ? (gid_t)uid
                          : 0,
    };
    map_put(v->busy, w->name, w);
    v->under_way++;
    w->result = check(v, object, &w->err);
    /* Nothing is to be removed for a volume that was never made, or is on
     * another node.
     */
    if (w->result < 0 && action == REMOVE && persistent_volume_is_in_phase(p, "Failed")) {
        w->keeps_data = true;
        w->result = 0;
    }
    if (w->result < 0)
        work_done(w);
    else
        workers_submit(v->s.workers, v->s.loop, do_work, work_done, w);
}

static void
check_volume(struct volumes *v, const struct object *object)
{
    enum action action = find_action(object);

    if (action != NOTHING && map_find(v->busy, object->meta->name) == NULL)
        begin(v, object, action);
}

static void
on_change(const struct object *old_object, const struct object *new_object, void *context)
{
    (void)old_object;
    if (new_object != NULL)
        check_volume(context, new_object);
}

static void
visit(const struct object *object, void *context)
{
    check_volume(context, object);
}

static void
visit_all(void *context)
{
    struct volumes *v = context;

    informer_visit(v->informer, visit, v);
}

static void
tidy(void *arg)
{
    unsigned count = scratch_tidy(arg);

    if (count > 0)
        log_info("%u deleted volumes had been left half emptied, and are "
                 "removed now",
                 count);
}

struct volumes *
volumes_new(const struct volumes_settings *settings)
{
    struct volumes *v = xnew(struct volumes);
    char *selector = xasprintf("spec.nodeName=%s", settings->node);

    v->s = *settings;
    v->busy = map_new();
    v->again = timer_new(settings->loop, visit_all, v);
    v->informer = informer_new(&(struct informer_settings){
        .client = settings->client,
        .kind = &persistent_volume_kind,
        .field_selector = selector,
        .changed = on_change,
        .context = v,
    });
    workers_submit(settings->workers, NULL, tidy, NULL, settings->scratch);
    free(selector);
    return v;
}
