/* SPDX-License-Identifier: Apache-2.0 */
/* No clock of another machine is believed: a holder is thought dead when its record has not
 * changed for the lease's duration, by the own clock. A holder gives up earlier than that, so
 * that two never work at a time, if clocks run at about the same rate.
 */
#include "lib/client/leader_election.h"

#include <stdbool.h>
#include <string.h>

#include "lib/api/cluster/lease.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

struct leader_election {
    struct leader_election_settings settings;
    struct client_call *call;
    const struct object *seen; /* the lease as last read, or NULL */
    int64_t seen_us;           /* when it last changed, by the local clock */
    int64_t asked_us;
    int64_t renewed_us;
    int64_t next_us;
    bool is_mine;
    struct error failure; /* the last one, while the lease cannot be renewed */
    struct error told;    /* the last one that was reported */
};

static int64_t
now_us(const struct leader_election *l)
{
    return clock_monotonic_us(l->settings.clock);
}

struct leader_election *
leader_election_new(const struct leader_election_settings *settings)
{
    struct leader_election *l = xnew(struct leader_election);

    l->settings = *settings;
    l->settings.namespace = xstrdup(settings->namespace);
    l->settings.name = xstrdup(settings->name);
    l->settings.identity = xstrdup(settings->identity);
    l->next_us = now_us(l);
    return l;
}

void
leader_election_free(struct leader_election *l)
{
    if (l == NULL)
        return;
    client_cancel(l->call);
    object_unref(l->seen);
    free((char *)(uintptr_t)l->settings.namespace);
    free((char *)(uintptr_t)l->settings.name);
    free((char *)(uintptr_t)l->settings.identity);
    free(l);
}

/* The state of the lease */

static bool
is_held_by_me(const struct leader_election *l)
{
    const char *holder = l->seen != NULL ? lease_of(l->seen)->spec.holder : NULL;

    return holder != NULL && strcmp(holder, l->settings.identity) == 0;
}

static bool
is_in_group(const struct leader_election *l, const char *holder)
{
    const char *rest = strchr(holder, '_');

    return l->settings.group != NULL && rest != NULL && strcmp(rest + 1, l->settings.group) == 0;
}

static bool
is_held_by_other(const struct leader_election *l)
{
    const struct lease_spec *spec;

    if (l->seen == NULL || is_held_by_me(l))
        return false;
    spec = &lease_of(l->seen)->spec;
    return spec->holder != NULL && *spec->holder != '\0' && !is_in_group(l, spec->holder)
           && l->seen_us + spec->duration_s * SECOND_US > now_us(l);
}

static void
note(struct leader_election *l, const struct object *lease)
{
    const char *old = l->seen != NULL ? l->seen->meta->resource_version : NULL;
    const char *new = lease->meta->resource_version;

    if (old == NULL || new == NULL || strcmp(old, new) != 0)
        l->seen_us = now_us(l);
    lease = object_ref(lease);
    object_unref(l->seen);
    l->seen = lease;
}

static void
forget(struct leader_election *l)
{
    object_unref(l->seen);
    l->seen = NULL;
}

/* Gaining and losing the lease */

static void
set_failing(const struct leader_election *l, bool is_failing)
{
    if (l->settings.is_failing != NULL)
        atomic_store(l->settings.is_failing, is_failing);
}

static void
gain(struct leader_election *l)
{
    if (now_us(l) - l->asked_us >= l->settings.renew_us)
        return; /* ignore an answer that arrives after the renew deadline */
    l->renewed_us = l->asked_us;
    set_failing(l, false);
    l->failure = l->told = (struct error){0};
    if (l->is_mine)
        return;
    l->is_mine = true;
    l->settings.gained(l->settings.context);
}

static void
lose(struct leader_election *l, const char *why)
{
    if (!l->is_mine)
        return;
    l->is_mine = false;
    l->settings.lost(why, l->settings.context);
}

static void
failed(struct leader_election *l, const struct client_reply *reply)
{
    client_reply_error(reply, &l->failure);
    if (l->is_mine)
        set_failing(l, true);
    if (strcmp(l->failure.text, l->told.text) == 0)
        return;
    l->told = l->failure;
    if (l->settings.failed != NULL)
        l->settings.failed(l->failure.text, l->settings.context);
}

/* Requests */

static void get_lease(struct leader_election *l);

/* The lease was changed or deleted by another client: read it again. */
static bool
is_not_as_seen(int code)
{
    return code == 409 || code == 404 || code == 400;
}

static void
written(const struct client_reply *reply, void *context)
{
    struct leader_election *l = context;
    bool is_new = l->seen == NULL;

    l->call = NULL;
    if (reply->code == 200 || reply->code == 201) {
        note(l, reply->object);
        gain(l);
        return;
    }
    forget(l);
    if (!is_new && is_not_as_seen(reply->code))
        get_lease(l);
    else if (reply->code != 409)
        failed(l, reply);
}

static struct json *
make_lease(const struct leader_election *l, struct arena *arena)
{
    struct json *body = json_object(arena), *meta, *spec;
    const struct lease_spec *old = l->seen != NULL ? &lease_of(l->seen)->spec : NULL;
    bool is_same = is_held_by_me(l);
    char now[TIME_TEXT_SIZE], acquired[TIME_TEXT_SIZE];

    time_format(clock_real_us(l->settings.clock), true, now);
    if (is_same && old->acquired_at_us != 0)
        time_format(old->acquired_at_us, true, acquired);
    else
        memcpy(acquired, now, sizeof(acquired));
    json_set_string(arena, body, "apiVersion", lease_kind.api_version);
    json_set_string(arena, body, "kind", lease_kind.name);
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "name", l->settings.name);
    json_set_string(arena, meta, "namespace", l->settings.namespace);
    if (l->seen != NULL)
        json_set_string(arena, meta, "resourceVersion", l->seen->meta->resource_version);
    spec = json_make_object(arena, body, "spec");
    json_set_string(arena, spec, "holderIdentity", l->settings.identity);
    json_set_int(arena, spec, "leaseDurationSeconds", l->settings.lease_us / SECOND_US);
    json_set_string(arena, spec, "acquireTime", acquired);
    json_set_string(arena, spec, "renewTime", now);
    json_set_int(arena, spec, "leaseTransitions", old == NULL ? 0 : old->transitions + !is_same);
    return body;
}

static void
write_lease(struct leader_election *l)
{
    struct arena *arena = arena_new(1024);
    struct client_request request = {
        .verb = l->seen != NULL ? CLIENT_REPLACE : CLIENT_CREATE,
        .kind = &lease_kind,
        .namespace = l->settings.namespace,
        .name = l->seen != NULL ? l->settings.name : NULL,
        .body = make_lease(l, arena),
    };

    l->asked_us = now_us(l);
    l->call = client_call(l->settings.client, arena, &request, written, l);
}

static void
yield_to_other(struct leader_election *l)
{
    set_failing(l, false);
    lose(l, "another holder has it");
}

static void
looked(const struct client_reply *reply, void *context)
{
    struct leader_election *l = context;

    l->call = NULL;
    if (reply->code == 404) {
        forget(l);
        write_lease(l);
    } else if (reply->code != 200) {
        failed(l, reply);
    } else {
        note(l, reply->object);
        if (!is_held_by_other(l))
            write_lease(l);
        else
            yield_to_other(l);
    }
}

static void
get_lease(struct leader_election *l)
{
    l->call = client_call(l->settings.client, NULL,
                          &(struct client_request){
                              .verb = CLIENT_GET,
                              .kind = &lease_kind,
                              .namespace = l->settings.namespace,
                              .name = l->settings.name,
                          },
                          looked, l);
}

void
leader_election_tick(struct leader_election *l)
{
    int64_t now = now_us(l);

    if (l->is_mine && now - l->renewed_us >= l->settings.renew_us) {
        set_failing(l, true);
        lose(l, l->failure.text[0] != '\0' ? l->failure.text : "it was not renewed in time");
    }
    if (l->call != NULL || now < l->next_us)
        return;
    l->next_us = now + l->settings.retry_us;
    if (l->is_mine && is_held_by_me(l))
        write_lease(l);
    else
        get_lease(l);
}
