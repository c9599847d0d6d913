/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/binders.h"

#include "controller/scheduler/extenders/courier.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_wire.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

struct binders {
    struct binders_settings settings;
    struct list requests;
};

struct bind_request {
    struct list link;
    struct binders *owner;
    struct assignment *a;
    const struct extender *to;
    struct courier_trip *trip;
};

struct binders *
binders_new(const struct binders_settings *settings)
{
    struct binders *b = xnew(struct binders);

    b->settings = *settings;
    list_init(&b->requests);
    return b;
}

static void
request_free(struct bind_request *r)
{
    if (r->trip != NULL)
        courier_cancel(r->owner->settings.courier, r->trip);
    list_remove(&r->link);
    free(r);
}

void
binders_free(struct binders *b)
{
    if (b == NULL)
        return;
    list_foreach_safe(link, &b->requests)
        request_free(container_of(link, struct bind_request, link));
    free(b);
}

static void
answered(const char *text, size_t length, const char *failure, void *context)
{
    struct bind_request *r = context;
    const struct binders_settings *s = &r->owner->settings;
    struct assignment *a = r->a;
    const struct extender *e = r->to;
    CLEANUP_FREE char *words = NULL;
    struct error err = {0};

    r->trip = NULL;
    request_free(r);
    if (failure == NULL && extender_binding_decode(text, length, &err) < 0)
        failure = words = xasprintf("extender \"%s\", %s: %s",
                                    e->url,
                                    e->bind_verb,
                                    err.text);
    if (failure == NULL) {
        s->bound(a, VERDICT_OK, s->context);
    } else if (e->is_ignorable) {
        log_info("pod '%s': %s; it is ignorable, binding without it",
                 a->queued->key,
                 failure);
        s->bound(a, VERDICT_SKIP, s->context);
    } else {
        a->error = xasprintf("binding to node '%s': %s", a->node_name, failure);
        s->bound(a, VERDICT_ERROR, s->context);
    }
}

bool
binders_bind(struct binders *b, struct assignment *a)
{
    const struct extenders *all = b->settings.extenders;
    struct strbuf body = STRBUF_INIT;
    struct bind_request *r;
    unsigned i = 0;

    while (i < all->count
           && (all->items[i].bind_verb == NULL
               || !extender_is_concerned(&all->items[i], a->cycle.pod)))
        i++;
    if (i == all->count)
        return false;
    r = xnew(struct bind_request);
    r->owner = b;
    r->a = a;
    r->to = &all->items[i];
    list_init(&r->link);
    list_add_last(&b->requests, &r->link);
    extender_binding_encode(a->cycle.pod, a->node_name, &body);
    r->trip = courier_post(b->settings.courier,
                           r->to,
                           r->to->bind_verb,
                           &body,
                           answered,
                           r);
    return true;
}
