/* SPDX-License-Identifier: Apache-2.0 */
/* event_hooks.c - an agent's events about its node are also lines of the log, because
 * administrators look there when a node misbehaves
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "lib/api/cluster/event.h"
#include "lib/api/object/kind.h"
#include "lib/base/log.h"

static void
log_node_event(struct request *q, const struct object *object)
{
    const struct event *e;

    if (q->principal->type != PRINCIPAL_AGENT)
        return;
    e = event_of(object);
    if (e->involved.kind == NULL || strcmp(e->involved.kind, node_kind.name) != 0)
        return;
    if (e->type != NULL && strcmp(e->type, "Warning") == 0)
        log_warning("node '%s': %s: %s", q->principal->node, e->reason, e->message);
    else
        log_info("node '%s': %s: %s", q->principal->node, e->reason, e->message);
}

const struct kind_hooks event_hooks = {
    .kind = &event_kind,
    .subject = "involvedObject",
    .created = log_node_event,
};

const struct kind_hooks events_event_hooks = {
    .kind = &events_event_kind,
    .subject = "regarding",
    .created = log_node_event,
};
