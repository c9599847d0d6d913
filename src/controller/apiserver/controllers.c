/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/controllers.h"

#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/store/store.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/json/record.h"

#define PATH "/kiln/v1/controllers"

static const char *
state_of(const struct engine_controller *c)
{
    return c->leads ? "Leading" : c->silent_ms > CONTROLLER_SILENT_MS ? "Silent" : "Waiting";
}

/* --- the list ---------------------------------------------------------------- */

struct controller_listing {
    struct arena *arena;
    struct json *items;
};

static void
add_controller(const struct engine_controller *c, void *context)
{
    struct controller_listing *l = context;
    struct json *item = json_object(l->arena);
    char since[TIME_TEXT_SIZE];

    time_format(c->since_s * 1000000, false, since);
    json_set_string(l->arena, item, "name", c->name);
    json_set_string(l->arena, item, "state", state_of(c));
    json_set_string(l->arena, item, "since", since);
    json_set_string(l->arena, item, "address", c->address);
    json_set_string(l->arena, item, "release", c->release);
    json_set_string(l->arena, item, "stateDirectory", c->directory);
    json_set_int(l->arena, item, "silentSeconds", c->silent_ms / 1000);
    if (c->revision >= 0)
        json_set_int(l->arena, item, "revision", c->revision);
    if (c->revision == ENGINE_LOADING)
        json_set_bool(l->arena, item, "loading", true);
    json_append(l->arena, l->items, item);
}

static void
list_controllers(struct request *q)
{
    struct controller_listing l = {q->arena, json_array(q->arena)};
    struct json *tree = json_object(q->arena);

    if (!summary_check(q)) {
        request_finish(q);
        return;
    }
    store_visit_controllers(q->server->store, add_controller, &l);
    json_set_bool(q->arena, tree, "inDatabase", store_is_in_database(q->server->store));
    json_set_int(q->arena, tree, "revision", store_revision(q->server->store));
    json_set(q->arena, tree, "controllers", l.items);
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
}

/* --- handing over -------------------------------------------------------------- */

struct successor_choice {
    struct arena *arena;
    const char *to; /* a name or an address; or NULL */
    unsigned n;     /* that wait, and match */
    unsigned n_silent;
    const char *others; /* names of all that wait */
    struct engine_controller found;
    const char *place;
};

static bool
matches(const struct successor_choice *choice, const struct engine_controller *c)
{
    return choice->to == NULL || strcmp(choice->to, c->name) == 0
           || strcmp(choice->to, c->address) == 0;
}

static void
consider(const struct engine_controller *c, void *context)
{
    struct successor_choice *choice = context;

    if (c->leads)
        return;
    if (strcmp(state_of(c), "Silent") == 0) {
        choice->n_silent += matches(choice, c);
        return;
    }
    choice->others = arena_printf(choice->arena, "%s%s%s (%s)", choice->others,
                                  choice->others[0] != '\0' ? ", " : "", c->name, c->address);
    if (!matches(choice, c))
        return;
    if (choice->n++ == 0) {
        choice->found = (struct engine_controller){
            .name = arena_strdup(choice->arena, c->name),
            .address = arena_strdup(choice->arena, c->address),
        };
        choice->place = arena_strdup(choice->arena, c->place);
    }
}

static void
refuse(struct request *q, int code, const char *reason, const char *message)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = code,
                              .reason = reason,
                              .message = message,
                          });
}

static bool
is_refused(struct request *q, const struct successor_choice *c)
{
    const char *why = NULL;

    if (!store_is_in_database(q->server->store))
        why = "no other controller can take over: the store is in the state directory "
              "(kiln-ha(7) describes a replicated one)";
    else if (c->n == 0 && c->n_silent > 0)
        why = arena_printf(q->arena, "%s has said nothing for %d s, and would not take over",
                           c->to != NULL ? c->to : "the controller that waited",
                           CONTROLLER_SILENT_MS / 1000);
    else if (c->n == 0 && c->to != NULL && c->others[0] != '\0')
        why = arena_printf(q->arena, "no controller '%s' waits to lead; there are: %s", c->to,
                           c->others);
    else if (c->n == 0)
        why = "no other controller waits to lead";
    else if (c->n > 1 && c->to != NULL)
        why = arena_printf(q->arena, "several controllers are called '%s': give an address of %s",
                           c->to, c->others);
    if (why != NULL)
        refuse(q, 409, "Conflict", why);
    return why != NULL;
}

static void
hand_over(struct request *q, const char *to)
{
    struct apiserver *server = q->server;
    struct successor_choice c = {.arena = q->arena, .to = to, .others = ""};
    struct json *tree = json_object(q->arena);

    store_visit_controllers(server->store, consider, &c);
    if (is_refused(q, &c)) {
        request_finish(q);
        return;
    }
    log_info("user '%s' hands the lead over to '%s' (%s)", q->principal->name, c.found.name,
             c.found.address);
    json_set_string(q->arena, tree, "name", c.found.name);
    json_set_string(q->arena, tree, "address", c.found.address);
    reply_tree(&q->reply, 200, tree);
    store_name_successor(server->store, c.place);
    request_finish(q);
    server->hand_over(server->hand_over_context);
}

bool
controllers_serve(struct request *q, const char *path, const char *to)
{
    if (strncmp(path, PATH, strlen(PATH)) != 0)
        return false;
    if (strcmp(path, PATH) == 0) {
        list_controllers(q);
        return true;
    }
    if (strcmp(path, PATH "/handover") != 0)
        return false;
    if (q->principal->type != PRINCIPAL_ADMINISTRATOR)
        refuse(q, 403, "Forbidden", "only administrators hand the lead over");
    else if (q->method != HTTP_POST)
        refuse(q, 405, "MethodNotAllowed", "hand over with POST");
    else if (q->server->hand_over == NULL)
        refuse(q, 409, "Conflict", "this controller cannot hand over");
    else {
        hand_over(q, to);
        return true;
    }
    request_finish(q);
    return true;
}
