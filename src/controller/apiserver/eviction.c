/* SPDX-License-Identifier: Apache-2.0 */
/* eviction.c - POST pods/NAME/eviction: a deletion that says why */
#include <string.h>

#include "controller/apiserver/request.h"
#include "controller/apiserver/verbs.h"
#include "controller/apiserver/write.h"
#include "lib/json/json.h"

static bool
check_name(struct request *q)
{
    const char *name = json_path_text(q->body, "metadata.name");

    if (name == NULL || strcmp(name, q->route.name) == 0)
        return true;
    reply_bad_request(&q->reply,
                      "name in URL does not match name in Eviction object");
    return false;
}

static void
deleted(struct request *q)
{
    request_done_fn *done = q->outer_done;

    if (q->reply.code == 200)
        reply_success(&q->reply, 201);
    q->done = done;
    request_finish(q);
}

void
verb_evict(struct request *q)
{
    struct json *options = json_get(q->body, "deleteOptions");

    if (!check_name(q)) {
        request_finish(q);
        return;
    }
    /* From here it is the deletion that it asks for. */
    q->route.verb = VERB_DELETE;
    q->route.subresource = SUBRESOURCE_NONE;
    if (!options_parse(&q->options,
                       q->arena,
                       &q->route,
                       q->options.parameters,
                       q->options.n_parameters,
                       options,
                       &q->reply)) {
        request_finish(q);
        return;
    }
    q->outer_done = q->done;
    q->done = deleted;
    verb_delete(q);
}
