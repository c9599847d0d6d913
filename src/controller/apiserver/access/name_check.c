/* SPDX-License-Identifier: Apache-2.0 */
/* An unknown user in a list is nearly always a typing mistake, but the directory may know the
 * name tomorrow or be down just now. So nothing is refused: the request succeeds, and its
 * answer waits two seconds at most for a warning.
 */
#include "controller/apiserver/access/name_check.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/account_names.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define MOST_MS   2000
#define MOST_TOLD 10u

struct checked_name {
    char *name;
    bool is_group;
    bool is_unknown;
};

/* The worker uses the names until `looked_up`, which frees the struct. `q` is
 * NULL once the request is answered.
 */
struct name_check {
    struct request *q;
    struct timer *timer;
    struct checked_name *names;
    struct map *seen[2]; /* the same names: of users, of groups */
    size_t count, capacity;
    struct error err; /* of the first name whose look-up failed */
};

static void
name_check_free(struct name_check *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->names[i].name);
    free(c->names);
    map_free(c->seen[0]);
    map_free(c->seen[1]);
    timer_free(c->timer);
    free(c);
}

static void
answer(struct name_check *c)
{
    struct request *q = c->q;

    if (c->timer != NULL)
        timer_stop(c->timer);
    c->q = NULL;
    q->name_check = NULL;
    q->done = q->outer_done;
    q->done(q);
}

static void
look_up(void *arg)
{
    struct name_check *c = arg;

    for (size_t i = 0; i < c->count; i++) {
        struct checked_name *n = &c->names[i];
        struct error *err = c->err.code == 0 ? &c->err : NULL;
        struct error unknown = {0};
        int r = policy_find_name(n->name, n->is_group, &unknown);

        n->is_unknown = r == -ENOENT;
        if (r < 0 && r != -ENOENT)
            error_set(err, r, "%s", unknown.text);
    }
}

static void
warn_unknown(const struct name_check *c, bool is_group)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    unsigned n = 0;

    for (size_t i = 0; i < c->count; i++) {
        if (!c->names[i].is_unknown || c->names[i].is_group != is_group)
            continue;
        if (n++ < MOST_TOLD)
            strbuf_printf(&text, "%s'%.64s'", n > 1 ? ", " : "", c->names[i].name);
    }
    if (n == 0)
        return;
    if (n > MOST_TOLD)
        strbuf_printf(&text, ", and %u more", n - MOST_TOLD);
    reply_warn(&c->q->reply, "%s%s %s %s unknown: nobody gets access by %s name%s",
               is_group ? "group" : "user", n == 1 ? "" : "s", text.text, n == 1 ? "is" : "are",
               n == 1 ? "that" : "these", n == 1 ? "" : "s");
}

static void
looked_up(void *arg)
{
    struct name_check *c = arg;

    if (c->q != NULL) {
        warn_unknown(c, false);
        warn_unknown(c, true);
        if (c->err.code != 0)
            reply_warn(&c->q->reply, "not all of its names could be checked: %s", c->err.text);
        answer(c);
    }
    name_check_free(c);
}

static void
take_no_longer(void *arg)
{
    struct name_check *c = arg;

    reply_warn(&c->q->reply, "its names were not checked: users and groups are looked up "
                             "too slowly");
    answer(c);
}

static void
request_is_done(struct request *q)
{
    struct name_check *c = q->name_check;

    if (q->reply.code >= 300) {
        answer(c);
        name_check_free(c);
        return;
    }
    c->timer = timer_new(q->server->loop, take_no_longer, c);
    timer_start(c->timer, MOST_MS);
    workers_submit(q->server->workers, q->server->loop, look_up, looked_up, c);
}

void
name_check_add(struct request *q, const char *name, bool is_group)
{
    struct name_check *c = q->name_check;

    if (c == NULL) {
        c = q->name_check = xnew(struct name_check);
        c->q = q;
        c->seen[0] = map_new();
        c->seen[1] = map_new();
        q->outer_done = q->done;
        q->done = request_is_done;
    }
    if (map_find(c->seen[is_group], name) != NULL)
        return;
    map_put(c->seen[is_group], name, c);
    xgrow(c->names, c->count, c->capacity);
    c->names[c->count++] = (struct checked_name){.name = xstrdup(name), .is_group = is_group};
}

/* ---- Lists in the spec ---- */

static void
add_names(struct request *q, const struct json *spec, const char *field, bool is_group)
{
    const struct json *list = json_get(spec, field);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = json_text(json_at(list, i));

        if (name != NULL)
            name_check_add(q, name, is_group);
    }
}

/* The names of the namespaces replace how a site spells them. */
static void
take_accounts(struct request *q, struct json *list)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    unsigned n = 0;

    for (uint32_t i = 0; i < json_count(list); i++) {
        struct json *item = json_at(list, i);
        const char *name = json_text(item);
        const char *found = name != NULL ? account_names_find(q->server->store, name) : NULL;

        if (found != NULL && strcmp(found, name) != 0)
            *item = *json_string(q->arena, found);
        if (name == NULL || found != NULL)
            continue;
        if (n++ < MOST_TOLD)
            strbuf_printf(&text, "%s'%.64s'", n > 1 ? ", " : "", name);
    }
    if (n == 0)
        return;
    if (n > MOST_TOLD)
        strbuf_printf(&text, ", and %u more", n - MOST_TOLD);
    reply_warn(&q->reply, "there %s no account%s %s", n == 1 ? "is" : "are", n == 1 ? "" : "s",
               text.text);
}

/* Only changed lists are checked. */
static bool
is_as_before(struct request *q, const struct json *spec, const struct object *old_object,
             const char *field)
{
    const struct json *was =
        old_object != NULL ? json_get(json_get(request_old_tree(q, old_object), "spec"), field)
                           : NULL;

    return was != NULL && json_equals(was, json_get(spec, field));
}

bool
name_check_add_lists(struct request *q, struct json *tree, const struct object *old_object,
                     const char *users, const char *groups, const char *accounts)
{
    const struct json *spec = json_get(tree, "spec");

    if (!principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE)
        return true;
    if (!is_as_before(q, spec, old_object, users))
        add_names(q, spec, users, false);
    if (!is_as_before(q, spec, old_object, groups))
        add_names(q, spec, groups, true);
    if (!is_as_before(q, spec, old_object, accounts))
        take_accounts(q, json_get(spec, accounts));
    return true;
}
