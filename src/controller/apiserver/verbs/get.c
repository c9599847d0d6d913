/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"

void
verb_get(struct request *q)
{
    const struct route *route = &q->route;
    const struct object *object = store_find(
        q->server->store, STORE_PUBLISHED, kind_stored(route->kind), route->namespace, route->name);

    /* The requested resourceVersion may be older than the newest, but not
     * newer.
     */
    if (q->options.resource_version > store_revision(q->server->store))
        reply_from_future(&q->reply, q->options.resource_version, store_revision(q->server->store));
    else if (object == NULL)
        write_not_found(q);
    else if (authorization_covers(q, object))
        reply_object(&q->reply, 200, object);
    request_finish(q);
}
