/* SPDX-License-Identifier: Apache-2.0 */
/* The secret is what a node proves itself by, so it is given up only when it surely is of no
 * use: after several refusals, and even then the new one replaces it only once it is here, for
 * a refusal may be the controller's error. Every step is repeated without an end, since a node
 * that gives up has to be visited by a person.
 */
#include "agent/node/registration.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/node/node_status.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/auth/node_secret.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define AGAIN_MS        2000
#define CONTROLLER_FULL 507 /* the controller only reads and deletes */
#define UPDATE_MS       300000
/* failures with the proof, before the agent drops it */
#define REFUSALS        3
/* delay when the attempt without proof has failed, too */
#define PROVEN_AGAIN_MS 30000

struct registration {
    struct registration_settings s;
    char *secret_path;
    struct timer *timer;
    bool has_secret; /* in the file */
    bool is_proven;  /* connections prove the node by the secret */
    bool has_rival;  /* the controller has another secret for this node */
    unsigned refusals;
    bool is_ready;
    bool is_written; /* this agent has written the status once */
    bool calling;
    bool changed; /* while a call was under way */
    /* the failure logged last, so that each is logged once */
    struct error trouble;
};

static void step(void *context);

static void
try_again(struct registration *r, const struct client_reply *reply)
{
    struct error err = {0};

    client_reply_error(reply, &err);
    if (strcmp(r->trouble.text, err.text) != 0)
        log_warning("cannot register node '%s': %s, trying again", r->s.facts->name, err.text);
    r->trouble = err;
    if (reply->code != 401 || !r->is_proven)
        r->refusals = 0;
    else if (++r->refusals == REFUSALS) {
        r->s.reconnect(REGISTRATION_UNPROVEN, r->s.context);
        return;
    }
    timer_start(r->timer, AGAIN_MS);
}

/* ---- The secret ---- */

int
registration_read_secret(const char *path, struct node_secret *ret_secret, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct stat st;
    int r;

    if (stat(path, &st) < 0 && errno == ENOENT)
        return -ENOENT;
    r = file_read(path, 1024, &text, err);
    if (r < 0)
        return r;
    while (text.length > 0 && text.text[text.length - 1] == '\n')
        strbuf_truncate(&text, text.length - 1);
    if (node_secret_parse(text.text, ret_secret) < 0)
        return error_set(err, -EINVAL,
                         "'%s' does not contain a node secret; remove it and "
                         "let the node enrol again (kctl reset node NAME)",
                         path);
    return 0;
}

static void
on_enrolled(const struct client_reply *reply, void *context)
{
    struct registration *r = context;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *answer;
    const char *secret;
    struct error err = {0};

    r->calling = false;
    if (reply->code != 200 && reply->code != 201) {
        try_again(r, reply);
        r->has_rival = reply->code == 409 && r->has_secret;
        if (r->has_rival)
            timer_start(r->timer, PROVEN_AGAIN_MS);
        return;
    }
    answer = json_parse(arena, reply->text, reply->length, NULL, NULL);
    secret = json_get_text(answer, "secret");
    if (secret == NULL
        || file_write_atomic(r->secret_path, 0600, secret, strlen(secret), &err) < 0) {
        log_error("cannot store the node's secret: %s",
                  secret == NULL ? "the answer contains none" : err.text);
        timer_start(r->timer, AGAIN_MS);
        return;
    }
    log_info("node '%s' is enrolled", r->s.facts->name);
    r->s.reconnect(REGISTRATION_PROVEN, r->s.context);
}

static void
enrol(struct registration *r)
{
    struct arena *arena = arena_new(0);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &node_kind,
        .name = r->s.facts->name,
        .subresource = "enrol",
        .body = json_object(arena),
        .raw = true,
    };

    r->calling = true;
    client_call(r->s.client, arena, &request, on_enrolled, r);
}

/* ---- The Node ---- */

static void
on_created(const struct client_reply *reply, void *context)
{
    struct registration *r = context;

    r->calling = false;
    if (reply->code != 201 && reply->code != 409)
        try_again(r, reply);
    else
        step(r);
}

static void
create(struct registration *r)
{
    struct arena *arena = arena_new(0);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &node_kind,
        .body = node_status_body(arena, r->s.facts, clock_real_us(r->s.clock)),
    };

    r->calling = true;
    client_call(r->s.client, arena, &request, on_created, r);
}

/* Called also while the controller's disk is full: the node is known and
 * proven, and pods that are deleted meanwhile have to end.
 */
static void
be_ready(struct registration *r)
{
    if (r->is_ready)
        return;
    r->is_ready = true;
    r->s.ready(r->s.context);
}

static void
on_written(const struct client_reply *reply, void *context)
{
    struct registration *r = context;

    r->calling = false;
    if (reply->code != 200) {
        try_again(r, reply);
        if (reply->code == CONTROLLER_FULL)
            be_ready(r);
        return;
    }
    r->trouble = (struct error){0};
    if (r->changed) {
        r->changed = false;
        step(r);
        return;
    }
    timer_start(r->timer, UPDATE_MS);
    if (!r->is_written)
        log_info("node '%s' is registered", r->s.facts->name);
    r->is_written = true;
    be_ready(r);
}

/* Conditions whose status is unchanged keep their lastTransitionTime. */
static void
keep_transitions(struct arena *arena, struct json *conditions, const struct node *node)
{
    char text[TIME_TEXT_SIZE];

    for (uint32_t i = 0; i < json_count(conditions); i++) {
        struct json *c = conditions->items[i];
        const struct node_condition *old = node_find_condition(node, json_get_text(c, "type"));

        if (old == NULL || strcmp(old->status, json_get_text(c, "status")) != 0)
            continue;
        time_format(old->last_transition_at_us, false, text);
        json_set_string(arena, c, "lastTransitionTime", text);
    }
}

/* A merge patch keeps members that it does not name, so members that the node
 * no longer has are set to null.
 */
static void
take_away(struct arena *arena, struct json *is, const struct json *was)
{
    for (uint32_t i = 0; json_is(was, JSON_OBJECT) && i < json_count(was); i++)
        if (json_get(is, was->members[i].name) == NULL)
            json_set(arena, is, was->members[i].name, json_null(arena));
}

static void
write_status(struct registration *r, const struct object *node)
{
    static const char *const maps[] = {"capacity", "allocatable", "topology"};
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *status = node_status_status(arena, r->s.facts, clock_real_us(r->s.clock));
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &node_kind,
        .name = r->s.facts->name,
        .subresource = "status",
        .body = body,
    };
    const struct json *was = json_get(object_tree(node, arena), "status");

    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        take_away(arena, json_get(status, maps[i]), json_get(was, maps[i]));
    keep_transitions(arena, json_get(status, "conditions"), node_of(node));
    json_set(arena, body, "status", status);
    r->calling = true;
    client_call(r->s.client, arena, &request, on_written, r);
}

static void
on_found(const struct client_reply *reply, void *context)
{
    struct registration *r = context;

    r->calling = false;
    if (reply->code == 404 && r->is_proven) {
        log_warning("node '%s' was deleted from the API, registering it again", r->s.facts->name);
        r->s.reconnect(REGISTRATION_UNPROVEN, r->s.context);
    } else if (reply->code == 404)
        create(r);
    else if (reply->code != 200 || reply->object == NULL)
        try_again(r, reply);
    else if (!r->is_proven)
        enrol(r);
    else
        write_status(r, reply->object);
}

/* Reads the Node, and does the next step that is missing. */
static void
step(void *context)
{
    struct registration *r = context;
    struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &node_kind,
        .name = r->s.facts->name,
    };

    if (r->has_rival) {
        r->s.reconnect(REGISTRATION_PROVEN, r->s.context);
        return;
    }
    r->calling = true;
    client_call(r->s.client, NULL, &request, on_found, r);
}

struct registration *
registration_new(const struct registration_settings *settings)
{
    struct registration *r = xnew(struct registration);
    struct stat st;

    r->s = *settings;
    r->secret_path = xstrdup(settings->secret_path);
    r->has_secret = stat(r->secret_path, &st) == 0;
    r->is_proven = r->has_secret && r->s.mode == REGISTRATION_PROVEN;
    r->timer = timer_new(settings->loop, step, r);
    return r;
}

void
registration_free(struct registration *r)
{
    if (r == NULL)
        return;
    timer_free(r->timer);
    free(r->secret_path);
    free(r);
}

void
registration_start(struct registration *r)
{
    timer_start(r->timer, 0);
}

void
registration_update(struct registration *r)
{
    if (r->calling)
        r->changed = true;
    else
        timer_start(r->timer, 0);
}
