/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/heartbeat.h"

#include <stdbool.h>

#include "lib/api/cluster/lease.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define DEFAULT_EVERY_MS 10000
#define AGAIN_MS         2000
#define DURATION         4 /* lease duration in intervals, like a kubelet's */

struct heartbeat {
    struct heartbeat_settings s;
    struct timer *timer;
    char *node;
    int64_t sent_us;
    bool was_renewed;
    bool creating;
    bool is_sent; /* a request is not answered yet */
    bool quiet;   /* the current failure has been logged */
};

static struct json *
make_spec(const struct heartbeat *h, struct arena *arena)
{
    struct json *spec = json_object(arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(h->s.clock), true, now);
    json_set_string(arena, spec, "renewTime", now);
    json_set_string(arena, spec, "holderIdentity", h->node);
    json_set_int(arena, spec, "leaseDurationSeconds", (h->s.every_ms * DURATION + 999) / 1000);
    return spec;
}

static void send_create(struct heartbeat *h);

static void
on_answer(const struct client_reply *reply, void *context)
{
    struct heartbeat *h = context;
    struct error err = {0};

    h->is_sent = false;
    if (reply->code == 404 && !h->creating) {
        send_create(h);
        if (h->was_renewed)
            h->s.lost(h->s.context);
        return;
    }
    if (reply->code == 200 || reply->code == 201) {
        bool was_quiet = h->quiet;

        h->quiet = false;
        h->was_renewed = true;
        if (was_quiet)
            log_info("the controller answers again");
        if (was_quiet && h->s.back != NULL)
            h->s.back(h->s.context);
        if (h->s.renewed != NULL)
            h->s.renewed(h->sent_us, h->s.context);
        timer_start(h->timer, h->s.every_ms);
        return;
    }
    client_reply_error(reply, &err);
    if (!h->quiet)
        log_warning("cannot renew the lease of node '%s': %s, trying again; "
                    "running jobs are not affected",
                    h->node, err.text);
    h->quiet = true;
    timer_start(h->timer, h->s.every_ms < AGAIN_MS ? h->s.every_ms : AGAIN_MS);
}

static void
send_create(struct heartbeat *h)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &lease_kind,
        .namespace = NODE_LEASE_NAMESPACE,
        .body = body,
    };

    json_set_string(arena, body, "apiVersion", lease_kind.api_version);
    json_set_string(arena, body, "kind", lease_kind.name);
    json_set_string(arena, json_make_object(arena, body, "metadata"), "name", h->node);
    json_set(arena, body, "spec", make_spec(h, arena));
    h->creating = true;
    h->is_sent = true;
    client_call(h->s.client, arena, &request, on_answer, h);
}

static void
renew(void *context)
{
    struct heartbeat *h = context;
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &lease_kind,
        .namespace = NODE_LEASE_NAMESPACE,
        .name = h->node,
        .body = body,
    };

    json_set(arena, body, "spec", make_spec(h, arena));
    h->sent_us = clock_boottime_us();
    h->creating = false;
    h->is_sent = true;
    client_call(h->s.client, arena, &request, on_answer, h);
}

struct heartbeat *
heartbeat_new(const struct heartbeat_settings *settings)
{
    struct heartbeat *h = xnew(struct heartbeat);

    h->s = *settings;
    if (h->s.every_ms == 0)
        h->s.every_ms = DEFAULT_EVERY_MS;
    h->node = xstrdup(settings->node);
    h->s.node = h->node;
    h->timer = timer_new(settings->loop, renew, h);
    return h;
}

void
heartbeat_free(struct heartbeat *h)
{
    if (h == NULL)
        return;
    timer_free(h->timer);
    free(h->node);
    free(h);
}

void
heartbeat_start(struct heartbeat *h)
{
    timer_start(h->timer, 0);
}

void
heartbeat_hasten(struct heartbeat *h)
{
    if (!h->is_sent)
        timer_start(h->timer, 0);
}
