/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/standing.h"

#include <string.h>

#include "lib/api/kind.h"
#include "lib/api/node.h"
#include "lib/api/object.h"
#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/client/informer.h"

struct standing {
    struct standing_settings s;
    struct informer *informer;
};

static bool
is_given_up(const struct object *node)
{
    const struct node_condition *ready =
        node_find_condition(node_of(node), "Ready");

    return ready != NULL && strcmp(ready->status, "Unknown") == 0;
}

static void
on_node(const struct object *old_object,
        const struct object *new_object,
        void *context)
{
    struct standing *s = context;

    if (new_object != NULL && !is_given_up(new_object))
        return;
    if (new_object != NULL && (old_object == NULL || !is_given_up(old_object)))
        log_info("the controller had not heard of this node, telling it that "
                 "it is well");
    s->s.doubted(s->s.context);
}

struct standing *
standing_new(const struct standing_settings *settings)
{
    struct standing *s = xnew(struct standing);
    char *selector = xasprintf("metadata.name=%s", settings->node);
    struct informer_settings informer = {
        .client = settings->client,
        .kind = &node_kind,
        .field_selector = selector,
        .changed = on_node,
        .context = s,
    };

    s->s = *settings;
    s->informer = informer_new(&informer);
    free(selector);
    return s;
}

void
standing_free(struct standing *s)
{
    if (s == NULL)
        return;
    informer_free(s->informer);
    free(s);
}
