/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/group_nodes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/pod_group.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/loop/timer.h"

#define AGAIN_FIRST_MS 50
#define AGAIN_MOST_MS  2000
#define LATE_MS        2000 /* a wait that is logged */

struct group_nodes {
    struct client *client;
    struct list requests;
};

struct nodes_request {
    struct list link;
    struct group_nodes *all;
    struct group_nodes_question question; /* with texts of its own */
    char *namespace, *group, *node;
    struct client_call *call; /* NULL while it waits for a retry */
    struct timer *again;
    int64_t again_ms;
};

struct group_nodes *
group_nodes_new(struct client *client)
{
    struct group_nodes *g = xnew(struct group_nodes);

    g->client = client;
    list_init(&g->requests);
    return g;
}

static void
end(struct nodes_request *r, const char *list, const struct error *err)
{
    list_remove(&r->link);
    timer_free(r->again);
    r->question.got(list, err, r->question.context);
    free(r->namespace);
    free(r->group);
    free(r->node);
    free(r);
}

void
group_nodes_free(struct group_nodes *g)
{
    struct error err = {0};

    if (g == NULL)
        return;
    error_set(&err, -ECANCELED, "the agent is stopping");
    list_foreach_safe(link, &g->requests)
    {
        struct nodes_request *r = container_of(link, struct nodes_request, link);

        if (r->call != NULL)
            client_cancel(r->call);
        end(r, NULL, &err);
    }
    free(g);
}

static void
ask_later(struct nodes_request *r)
{
    if (r->again_ms == LATE_MS)
        log_info("the nodes of the group '%s/%s' are not known yet; asking until they are",
                 r->namespace, r->group);
    r->again_ms = backoff_next(r->again_ms, AGAIN_FIRST_MS, AGAIN_MOST_MS);
    timer_start(r->again, r->again_ms);
}

static bool
has_name(const char *list, const char *node)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **names = NULL;
    size_t count = 0;

    if (hostlist_expand(arena, list, &names, &count, NULL) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], node) == 0)
            return true;
    return false;
}

static void
on_group(const struct client_reply *reply, void *context)
{
    struct nodes_request *r = context;
    const char *list;

    r->call = NULL;
    if (!client_reply_is_final(reply)) {
        ask_later(r);
        return;
    }
    if (reply->code != 200 || reply->object == NULL || !pod_group_is_one_per_node(reply->object)) {
        end(r, NULL, NULL);
        return;
    }
    list = pod_group_nodes(reply->object);
    if (list != NULL && has_name(list, r->node))
        end(r, list, NULL);
    else
        ask_later(r);
}

static void
ask(void *context)
{
    struct nodes_request *r = context;

    if (!r->question.is_wanted(r->question.context)) {
        end(r, NULL, NULL);
        return;
    }
    r->call = client_call(r->all->client, NULL,
                          &(struct client_request){
                              .verb = CLIENT_GET,
                              .kind = &pod_group_kind,
                              .namespace = r->namespace,
                              .name = r->group,
                          },
                          on_group, r);
}

void
group_nodes_get(struct group_nodes *g, const struct group_nodes_question *question)
{
    struct nodes_request *r = xnew(struct nodes_request);

    r->all = g;
    r->question = *question;
    r->namespace = xstrdup(question->namespace);
    r->group = xstrdup(question->group);
    r->node = xstrdup(question->node);
    r->again = timer_new(g->client->loop, ask, r);
    list_add_last(&g->requests, &r->link);
    ask(r);
}
