/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pods.h"

#include <stdbool.h>
#include <string.h>

#include "agent/pods/blobs.h"
#include "agent/pods/commons.h"
#include "agent/pods/ground.h"
#include "agent/pods/site.h"
#include "agent/pods/stay.h"
#include "agent/shepherd/fence.h"
#include "agent/volumes/mountings.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/announcer.h"
#include "lib/client/informer.h"
#include "lib/loop/timer.h"

struct pods {
    const struct ground *ground;
    struct blobs *blobs;
    struct mountings *mountings;
    struct commons *commons;
    struct informer *informer;
    struct map *stays; /* by uid of the pod */
    unsigned n_launched;
    struct map *over;     /* uids of pods that are over here, until the watch,
                             which may lag behind, has shown that */
    struct map *doubted;  /* uids of pods that the API has forgotten */
    struct map *dropped;  /* and of those that are over here, by a list */
    struct timer *arrive; /* looks after those that wait for their cores */
    void (*left)(void *context);
    void *context;
};

/* What the watch has of the pod, which may lag behind what was said of it; NULL
 * when it does not know it, or knows another of the same name.
 */
static const struct object *
find_known(const struct pods *p, const struct object *pod)
{
    const struct object *o =
        p->informer != NULL
            ? informer_find(p->informer, pod->meta->namespace, pod->meta->name)
            : NULL;

    return o != NULL && strcmp(o->meta->uid, pod->meta->uid) == 0 ? o : NULL;
}

/* Whether the watch may still bring the pod as it was before its end: started
 * again by that, a job that is over would run a second time.
 */
static bool
may_be_shown_alive(const struct pods *p, const struct object *pod)
{
    const struct object *known = find_known(p, pod);

    if (known == NULL)
        return p->informer == NULL || !informer_has_synced(p->informer);
    return !pod_is_finished(pod_of(known));
}

/* Memory that others gave back may be enough for those that had lost some. */
static void
recheck_losers(struct pods *p)
{
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        if (stay_has_lost(stay))
            stay_recheck(stay);
}

/* All that pods here were given of a NUMA node's memory. */
static int64_t
sum_given(int64_t node, int64_t page_bytes, void *context)
{
    const struct pods *p = context;
    int64_t sum = 0;
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay)) {
        const struct allocation *a = pod_of(stay_pod(stay))->status.allocation;

        if (a != NULL && stay_holds_cores(stay) && !stay_is_waiting(stay))
            sum += allocation_memory_of(a, node, page_bytes);
    }
    return sum;
}

static void
on_over(struct stay *stay, void *context)
{
    struct pods *p = context;

    map_remove(p->stays, stay_uid(stay));
    if (may_be_shown_alive(p, stay_pod(stay)))
        map_put(p->over, stay_uid(stay), p);
    if (stay_is_gone(stay))
        site_forget(p->ground, stay_uid(stay));
    else
        site_settle(p->ground, stay_uid(stay));
    stay_free(stay);
    recheck_losers(p);
    p->left(p->context);
}

/* Later, as this one has still to be told. */
static void
on_holding_changed(UNUSED struct stay *stay, void *context)
{
    struct pods *p = context;

    timer_start(p->arrive, 0);
}

static struct stay *
add_stay(struct pods *p, const struct object *pod)
{
    struct stay_settings settings = {
        .ground = p->ground,
        .blobs = p->blobs,
        .mountings = p->mountings,
        .commons = p->commons,
        .over = on_over,
        .holding_changed = on_holding_changed,
        .given = sum_given,
        .context = p,
        .n_launched = &p->n_launched,
    };
    struct stay *stay = stay_new(&settings, pod);

    map_put(p->stays, stay_uid(stay), stay);
    return stay;
}

/* The one here whose cores or devices the pod's allocation overlaps. One that
 * waits for its cores has none yet.
 */
static const struct stay *
find_overlap(const struct pods *p, const struct object *pod, struct error *err)
{
    const struct allocation *wanted = pod_of(pod)->status.allocation;
    size_t at = 0;
    void *other;

    while (map_next(p->stays, &at, NULL, &other)) {
        const struct object *there = stay_pod(other);
        const struct allocation *a = pod_of(there)->status.allocation;

        if (a != NULL && stay_holds_cores(other) && !stay_is_waiting(other)
            && allocation_check_disjoint(a, wanted, err) < 0)
            return other;
    }
    return NULL;
}

/* The API gives cores to a pod when their holder has ended: what is left of
 * that here, after a restart of the agent for example, is waited for. Nobody
 * waits for one that the API has running beside it, nor for one that cannot be
 * killed, which may stay for days: the pod is tried elsewhere.
 */
static bool
is_leaving(const struct pods *p, const struct stay *stay)
{
    const struct object *known = find_known(p, stay_pod(stay));

    if (stay_is_stuck(stay))
        return false;
    return known == NULL || pod_is_finished(pod_of(known))
           || known->meta->deleted_at_us != 0 || stay_is_gone(stay);
}

static void
refuse_overlap(struct stay *stay,
               const struct stay *other,
               const struct error *err)
{
    char *text =
        xasprintf("its allocation overlaps that of pod '%s/%s' here: %s",
                  stay_pod(other)->meta->namespace,
                  stay_pod(other)->meta->name,
                  err->text);

    stay_refuse(stay, BROKEN_OVERLAP, text);
    free(text);
}

static void
say_waiting(const struct pods *p,
            const struct stay *stay,
            const struct stay *other,
            const struct error *err)
{
    const struct object *pod = stay_pod(stay);
    CLEANUP_FREE char *text =
        xasprintf("waits until what is left of pod '%s/%s' here is gone: %s",
                  stay_pod(other)->meta->namespace,
                  stay_pod(other)->meta->name,
                  err->text);

    log_info("pod '%s/%s' %s", pod->meta->namespace, pod->meta->name, text);
    announcer_say(p->ground->announcer,
                  pod,
                  ANNOUNCE_NORMAL,
                  "WaitingForCores",
                  text);
}

static void
arrive(struct pods *p, struct stay *stay)
{
    struct error err = {0};
    const struct stay *other = find_overlap(p, stay_pod(stay), &err);

    if (other == NULL)
        stay_resume(stay);
    else if (is_leaving(p, other))
        say_waiting(p, stay, other, &err);
    else
        refuse_overlap(stay, other, &err);
}

/* Those that wait, once more. */
static void
arrive_all(void *context)
{
    struct pods *p = context;
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        if (stay_is_waiting(stay))
            arrive(p, stay);
}

static void
admit(struct pods *p, const struct object *pod)
{
    struct error err = {0};
    bool wants_to_run =
        !pod_is_finished(pod_of(pod)) && pod->meta->deleted_at_us == 0;
    const struct stay *other = wants_to_run ? find_overlap(p, pod, &err) : NULL;
    struct stay *stay = add_stay(p, pod);

    /* Its end was told when its cores were free: no more is to be done for it
     * than to let it go.
     */
    if (pod_is_finished(pod_of(pod))) {
        stay_dismiss(stay);
        return;
    }
    if (other == NULL) {
        stay_resume(stay);
        return;
    }
    /* Judged when all that came together, a list, has been taken in. */
    stay_await(stay);
    timer_start(p->arrive, 0);
}

static void
end_forgotten(struct stay *stay)
{
    log_info("pod '%s/%s' is not in the API any more, ending it",
             stay_pod(stay)->meta->namespace,
             stay_pod(stay)->meta->name);
    stay_vanish(stay);
}

/* One that was not being deleted is asked about first: the API may be another
 * cluster's, or know less than it did.
 */
static void
forget(struct pods *p, struct stay *stay)
{
    if (p->ground->doubt == NULL || stay_pod(stay)->meta->deleted_at_us != 0
        || pod_is_finished(pod_of(stay_pod(stay)))) {
        end_forgotten(stay);
        return;
    }
    map_put(p->doubted, stay_uid(stay), p);
    p->ground->doubt(p->ground->doubt_context);
}

/* Another cluster's list has none of ours, whose output is kept. */
static void
forget_place(struct pods *p, const char *uid)
{
    if (p->ground->doubt == NULL || !informer_is_listing(p->informer)) {
        site_forget(p->ground, uid);
        return;
    }
    map_put(p->dropped, uid, p);
    p->ground->doubt(p->ground->doubt_context);
}

static bool
make_orphan(struct stay *stay)
{
    const struct object *pod = stay_pod(stay);

    if (stay_is_orphan(stay))
        return false;
    log_warning("pod '%s/%s' is not known to the API, whose store has lost "
                "what was written then: it is kept until an administrator "
                "decides (kctl orphans)",
                pod->meta->namespace,
                pod->meta->name);
    stay_orphan(stay, true);
    return true;
}

struct sweep {
    struct pods *pods;
    struct map *known; /* the API's pods here, by uid: whether they are over */
};

static char over, not_over;
#define OVER     ((void *)&over)
#define NOT_OVER ((void *)&not_over)

static void
note_uid(const struct object *pod, void *context)
{
    struct sweep *s = context;

    map_put(s->known,
            pod->meta->uid,
            pod_is_finished(pod_of(pod)) ? OVER : NOT_OVER);
}

/* The cluster is ours, and still does not have them. */
static void
forget_dropped(struct pods *p)
{
    struct sweep s = {.pods = p, .known = map_new()};
    const char *uid;
    size_t at = 0;
    void *value;

    informer_visit(p->informer, note_uid, &s);
    while (map_next(p->dropped, &at, &uid, &value))
        if (map_find(s.known, uid) == NULL)
            site_forget(p->ground, uid);
    map_free(s.known);
    map_free(p->dropped);
    p->dropped = map_new();
}

bool
pods_settle_doubts(struct pods *p, pods_is_lost_fn *is_lost, void *context)
{
    struct map *doubted = p->doubted;
    bool has_orphans = false;
    const char *uid;
    size_t at = 0;
    void *value;

    p->doubted = map_new();
    while (map_next(doubted, &at, &uid, &value)) {
        struct stay *stay = map_find(p->stays, uid);

        if (stay == NULL || find_known(p, stay_pod(stay)) != NULL)
            continue;
        if (is_lost(stay_pod(stay)->revision, context))
            has_orphans |= make_orphan(stay);
        else
            end_forgotten(stay);
    }
    map_free(doubted);
    if (map_count(p->dropped) > 0)
        forget_dropped(p);
    return has_orphans;
}

void
pods_end_orphans(struct pods *p, const char *uids)
{
    struct stay **ending = NULL;
    size_t n = 0, capacity = 0, at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        if (stay_is_orphan(stay) && strstr(uids, stay_uid(stay)) != NULL) {
            xgrow(ending, n, capacity);
            ending[n++] = stay;
        }
    for (size_t i = 0; i < n; i++) {
        log_info("an administrator ends the orphan '%s/%s'",
                 stay_pod(ending[i])->meta->namespace,
                 stay_pod(ending[i])->meta->name);
        stay_orphan(ending[i], false);
        stay_vanish(ending[i]);
    }
    free(ending);
}

static void
on_change(const struct object *old_object,
          const struct object *new_object,
          void *context)
{
    struct pods *p = context;
    const struct object *pod = new_object ? new_object : old_object;
    struct stay *stay = map_find(p->stays, pod->meta->uid);
    struct stay *former;

    if (new_object == NULL || pod_is_finished(pod_of(pod)))
        map_remove(p->over, pod->meta->uid);
    if (new_object == NULL) {
        if (stay != NULL)
            forget(p, stay);
        else
            forget_place(p, pod->meta->uid);
        return;
    }
    /* Deleted and made again while we did not look. */
    if (old_object != NULL
        && strcmp(old_object->meta->uid, pod->meta->uid) != 0) {
        former = map_find(p->stays, old_object->meta->uid);
        if (former != NULL)
            stay_vanish(former);
    }
    if (stay != NULL) {
        stay_orphan(stay, false); /* the store that knew it is back */
        stay_update(stay, pod);
    } else if (pod_is_finished(pod_of(pod)) && pod->meta->deleted_at_us == 0)
        return; /* its end was told; its output stays as long as it does */
    else if (map_find(p->over, pod->meta->uid) != NULL)
        return;
    else if (pod_of(pod)->status.allocation != NULL
             || pod->meta->deleted_at_us != 0)
        admit(p, pod);
    /* Bound without an allocation: the scheduler gives one, or refuses. */
}

static void
forget_unknown(const char *uid, void *context)
{
    const struct sweep *s = context;
    const void *state = map_find(s->known, uid);

    if (map_find(s->pods->stays, uid) != NULL)
        return;
    if (state == NULL)
        site_forget(s->pods->ground, uid);
    else if (state == OVER) /* and told, by an agent that was killed then */
        site_settle(s->pods->ground, uid);
}

/* Places of pods that were deleted, or settled, while no agent looked. */
static void
sweep_places(struct pods *p)
{
    struct sweep s = {.pods = p, .known = map_new()};

    informer_visit(p->informer, note_uid, &s);
    site_list(p->ground, forget_unknown, &s);
    map_free(s.known);
}

/* A list that was made before their end would have them. */
static void
forget_over(struct pods *p)
{
    struct sweep s = {.pods = p, .known = map_new()};
    const char *uid;
    size_t at = 0;
    void *value;

    informer_visit(p->informer, note_uid, &s);
    while (map_next(p->over, &at, &uid, &value))
        if (map_find(s.known, uid) == NULL)
            map_remove(p->over, uid);
    map_free(s.known);
}

/* What was here before and is not in the API's list any more is gone. */
static void
on_synced(void *context)
{
    struct pods *p = context;
    struct stay **gone = NULL;
    size_t n = 0, capacity = 0, at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay)) {
        const struct meta *meta = stay_pod(stay)->meta;
        const struct object *pod =
            informer_find(p->informer, meta->namespace, meta->name);

        if (pod != NULL && strcmp(pod->meta->uid, meta->uid) == 0)
            continue;
        xgrow(gone, n, capacity);
        gone[n++] = stay;
    }
    for (size_t i = 0; i < n; i++) {
        forget(p, gone[i]);
    }
    free(gone);
    forget_over(p);
    sweep_places(p);
}

static void
take_up(const char *uid, const char *text, size_t length, void *context)
{
    struct pods *p = context;
    const struct object *pod;
    struct error err = {0};

    if (object_parse(&pod_kind, text, length, &pod, &err) < 0) {
        log_warning("what is kept of pod '%s' cannot be read: %s, ignoring",
                    uid,
                    err.text);
        return;
    }
    stay_resume(add_stay(p, pod));
    object_unref(pod);
}

static void
visit_stays(void (*each)(const struct stay *stay, void *arg),
            void *arg,
            void *context)
{
    const struct pods *p = context;
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        each(stay, arg);
}

struct pods *
pods_new(const struct ground *ground,
         void (*left)(void *context),
         void *context)
{
    struct pods *p = xnew(struct pods);

    p->ground = ground;
    p->blobs = blobs_new(ground->client);
    p->mountings = mountings_new(ground->client);
    p->commons = commons_new(ground, visit_stays, p);
    p->stays = map_new();
    p->over = map_new();
    p->doubted = map_new();
    p->dropped = map_new();
    p->arrive = timer_new(ground->loop, arrive_all, p);
    p->left = left;
    p->context = context;
    return p;
}

void
pods_take_up(struct pods *p)
{
    site_visit(p->ground, take_up, p);
}

void
pods_start(struct pods *p)
{
    char *selector = xasprintf("spec.nodeName=%s", p->ground->node);
    struct informer_settings settings = {
        .client = p->ground->client,
        .kind = &pod_kind,
        .field_selector = selector,
        .changed = on_change,
        .synced = on_synced,
        .context = p,
    };

    p->informer = informer_new(&settings);
    free(selector);
}

void
pods_free(struct pods *p)
{
    size_t at = 0;
    void *stay;

    if (p == NULL)
        return;
    informer_free(p->informer);
    while (map_next(p->stays, &at, NULL, &stay))
        stay_free(stay);
    map_free(p->stays);
    map_free(p->over);
    map_free(p->doubted);
    map_free(p->dropped);
    timer_free(p->arrive);
    commons_free(p->commons);
    blobs_free(p->blobs);
    mountings_free(p->mountings);
    free(p);
}

void
pods_note_heard(struct pods *p, int64_t heard_us)
{
    CLEANUP_FREE char *path = xasprintf(GROUND_HEARD, p->ground->run_dir);
    struct error err = {0};

    if (fence_note(path, heard_us, &err) < 0)
        log_warning("%s; pods with fenceAfterSeconds may end", err.text);
}

void
pods_hurry(struct pods *p, int64_t within_ms)
{
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        stay_tell_now(stay);
    if (p->informer != NULL)
        informer_hurry(p->informer, within_ms);
}

void
pods_note_topology(struct pods *p)
{
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        stay_recheck(stay);
    commons_recount(p->commons);
}

bool
pods_disown(struct pods *p, const char *uid)
{
    const struct stay *stay = map_find(p->stays, uid);

    if (stay != NULL && stay_holds_cores(stay))
        return false;
    if (stay == NULL)
        map_put(p->over, uid, p);
    return true;
}

const struct object *
pods_find(const struct pods *p, const char *namespace, const char *name)
{
    return p->informer != NULL ? informer_find(p->informer, namespace, name)
                               : NULL;
}

size_t
pods_count_running(const struct pods *p)
{
    size_t n = 0, at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        n += stay_holds_cores(stay);
    return n;
}

void
pods_visit_unclaimed(const struct pods *p,
                     void (*visit)(const struct object *pod, void *context),
                     void *context)
{
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay))
        if (stay_is_unclaimed(stay))
            visit(stay_pod(stay), context);
}

void
pods_visit_running(const struct pods *p, pods_visit_fn *visit, void *context)
{
    size_t at = 0;
    void *stay;

    while (map_next(p->stays, &at, NULL, &stay)) {
        struct stay_footing footing;

        if (stay_find_footing(stay, &footing))
            visit(&footing, context);
    }
}
