/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/job_placement.h"

#include <stdbool.h>
#include <string.h>

#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"

struct placement_search {
    const struct apiserver *server;
    const char *feature; /* NULL: the first pod found is enough */
    struct job_placement found;
};

static bool
note_former(const struct object *node, void *context)
{
    bool *are_former = context;

    (void)node;
    *are_former = true;
    return false;
}

static bool
has_former_agents(const struct apiserver *server)
{
    bool are_former = false;

    store_visit_index(server->store, &node_kind, NODE_BY_RELEASE, STORE_PENDING, NODE_FORMER,
                      note_former, &are_former);
    return are_former;
}

static bool
visit(const struct object *object, void *context)
{
    struct placement_search *s = context;
    const char *name = pod_of(object)->spec.node_name;
    const struct object *node;

    s->found.node = name;
    if (s->feature == NULL)
        return false;
    node = store_find(s->server->store, STORE_PENDING, &node_kind, NULL, name);
    if (node != NULL && !node_has_feature(node_of(node), s->feature))
        s->found.old_agent = name;
    return s->found.old_agent == NULL;
}

struct job_placement
job_placement_find(const struct apiserver *server, const struct object *job, const char *feature)
{
    struct placement_search s = {.server = server};

    if (feature != NULL && has_former_agents(server))
        s.feature = feature;
    store_visit_index(server->store, &pod_kind, POD_LIVE_BY_JOB, STORE_PENDING, job->meta->uid,
                      visit, &s);
    return s.found;
}

#define LOOKED_AT 64

struct state_search {
    enum job_state state;
    unsigned count;
};

static bool
note_state(const struct object *object, void *context)
{
    struct state_search *s = context;
    const char *phase = pod_of(object)->status.phase;

    if (object->meta->deleted_at_us != 0)
        s->state = s->state == JOB_STATE_NONE ? JOB_STATE_ENDING : s->state;
    else if (phase != NULL && strcmp(phase, "Running") == 0)
        s->state = JOB_STATE_RUNNING;
    else
        s->state = JOB_STATE_STARTING;
    return s->state != JOB_STATE_RUNNING && ++s->count < LOOKED_AT;
}

enum job_state
job_placement_state(const struct apiserver *server, const struct object *job)
{
    const enum job_state state = job_find_state(job_of(job));
    struct state_search s = {.state = JOB_STATE_NONE};

    if (job_state_words(state)->class != JOB_STATE_WAITS && state != JOB_STATE_STARTING)
        return state;
    store_visit_index(server->store, &pod_kind, POD_LIVE_BY_JOB, STORE_PENDING, job->meta->uid,
                      note_state, &s);
    return s.state != JOB_STATE_NONE ? s.state : state;
}
