/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/wait_condition.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/connect/outage_notice.h"
#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/client/informer.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

struct condition_wait {
    struct loop *loop;
    struct informer *informer;
    wait_condition_fn *is_met;
    void *context;
    bool is_over;
    bool has_timed_out;
    struct error refusal; /* code 0: none */
};

static void
finish(struct condition_wait *w)
{
    if (!w->is_over)
        loop_stop(w->loop);
    w->is_over = true;
}

static void
object_changed(const struct object *old_object, const struct object *new_object, void *context)
{
    struct condition_wait *w = context;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = new_object != NULL ? object_tree(new_object, arena) : NULL;

    (void)old_object;
    if (!w->is_over && w->is_met(tree, w->context))
        finish(w);
}

static void
objects_listed(void *context)
{
    struct condition_wait *w = context;

    if (informer_count(w->informer) == 0 && !w->is_over && w->is_met(NULL, w->context))
        finish(w);
}

static void
objects_refused(const struct error *err, void *context)
{
    struct condition_wait *w = context;

    error_set(&w->refusal, err->code, "%s", err->text);
    finish(w);
}

static void
time_is_up(void *context)
{
    struct condition_wait *w = context;

    w->has_timed_out = true;
    finish(w);
}

int
wait_for_condition(struct kctl *kctl, const struct target_object *object, int64_t timeout_us,
                   wait_condition_fn *is_met, void *context, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *selector = xasprintf("metadata.name=%s", object->name);
    struct condition_wait w = {.is_met = is_met, .context = context};
    struct informer_settings settings = {
        .kind = object->kind,
        .namespace = object->namespace,
        .field_selector = selector,
        .changed = object_changed,
        .synced = objects_listed,
        .refused = objects_refused,
        .context = &w,
    };
    struct outage_notice *outage;
    struct timer *timer;
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    settings.client = kctl_client(kctl);
    w.loop = settings.client->loop;
    w.informer = informer_new(&settings);
    timer = timer_new(w.loop, time_is_up, &w);
    outage = outage_notice_new(w.loop, w.informer, "kctl");
    if (timeout_us > 0)
        timer_start(timer, timeout_us / 1000);
    loop_run(w.loop);
    timer_free(timer);
    outage_notice_free(outage);
    informer_free(w.informer);
    if (w.refusal.code != 0)
        return error_set(err, w.refusal.code, "%s", w.refusal.text);
    if (w.has_timed_out)
        return error_set(err, -ETIMEDOUT, "timed out waiting for %s", kctl_label(object, arena));
    return 0;
}

static bool
is_gone(const struct json *object, void *context)
{
    (void)context;
    return object == NULL;
}

int
wait_for_deletion(struct kctl *kctl, const struct target_object *object, int64_t timeout_us,
                  struct error *err)
{
    return wait_for_condition(kctl, object, timeout_us, is_gone, NULL, err);
}
