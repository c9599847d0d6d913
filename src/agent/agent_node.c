/* SPDX-License-Identifier: Apache-2.0 */
/* agent_node.c - connects the agent to its Node object: reports changes of the
 * machine, and reacts to what the API says about the node
 */
#include "agent/agent_state.h"

#include <stdbool.h>

#include "agent/api_connection.h"
#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/hardware/machine.h"
#include "agent/inventory.h"
#include "agent/node/cluster_identity.h"
#include "agent/node/hardware_watch.h"
#include "agent/node/heartbeat.h"
#include "agent/node/metrics_file.h"
#include "agent/node/node_watch.h"
#include "agent/node/registration.h"
#include "agent/node/self_check.h"
#include "agent/node/usage_reporter.h"
#include "agent/node_description.h"
#include "agent/node_resources.h"
#include "agent/output/log_requests.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pods.h"
#include "agent/settings.h"
#include "agent/steps/steps.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/node/node.h"
#include "lib/api/node/node_hardware.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/quantity.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/event_recorder.h"

const char *
agent_find_label(const char *label, void *context)
{
    const struct agent *a = context;
    const struct object *node = a->node_watch != NULL ? node_watch_node(a->node_watch) : NULL;

    return node != NULL ? string_map_find(&node->meta->labels, label) : NULL;
}

void
agent_on_doubt(void *context)
{
    struct agent *a = context;

    registration_update(a->registration);
}

/* The hardware has changed, or a part of it is gone. */
void
agent_on_changed(struct topology *is TAKES, const char *words, bool is_less, void *context)
{
    struct agent *a = context;
    const struct object *node = a->node_watch != NULL ? node_watch_node(a->node_watch) : NULL;

    log_warning("this machine has changed: %s", words);
    inventory_change(&a->inventory, is);
    a->description.facts.topology = is;
    a->context.topology = is;
    if (node != NULL)
        event_recorder_record(a->connection.event_recorder, node,
                              is_less ? RECORD_WARNING : RECORD_NORMAL, EVENT_TOPOLOGY_CHANGED,
                              words);
    if (a->resources.cgroups != NULL) {
        cgroot_refill(a->resources.cgroups);
        cgpool_renew(a->resources.pool);
    }
    registration_update(a->registration);
    pods_note_topology(a->pods);
}

static bool
confirm_gone(const char *pod_uid, void *context)
{
    struct agent *a = context;

    return pods_confirm_gone(a->pods, pod_uid);
}

static void
end_orphans(const char *uids, void *context)
{
    struct agent *a = context;

    pods_end_orphans(a->pods, uids);
}

static void
visit_retained(void (*visit)(const struct object *pod, void *arg), void *arg, void *context)
{
    struct agent *a = context;

    pods_visit_retained(a->pods, visit, arg);
}

/* The Node records which hardware is expected; the agent compares it with the
 * hardware that was found.
 */
static void
on_seen(const struct object *node, void *context)
{
    struct agent *a = context;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    bool is_missing = node_hardware_is_missing(node_of(node), &words);

    if (is_missing)
        strbuf_printf(&words,
                      "; repair it, or accept the present hardware: kctl "
                      "annotate node %s " ANNOTATION_EXPECTED_HARDWARE "-",
                      a->description.name);
    if (!node_description_set_missing(&a->description, is_missing ? words.text : NULL))
        return;
    if (is_missing) {
        log_warning("this node has less hardware than before: %s", a->description.missing);
        event_recorder_record(a->connection.event_recorder, node, RECORD_WARNING,
                              NODE_HARDWARE_MISSING, a->description.missing);
    } else
        log_info("all expected hardware of this node is present again");
    registration_update(a->registration);
}

/* The controller judges the node by its Lease. Without a renewed lease it would
 * soon undo what the status says.
 */
static void
on_outdated(void *context)
{
    struct agent *a = context;

    heartbeat_hasten(a->heartbeat);
    registration_update(a->registration);
}

void
agent_watch_node(struct agent *a)
{
    a->node_watch = node_watch_new(&(struct node_watch_settings){
        .seen = on_seen,
        .loop = a->loop,
        .client = a->connection.client,
        .node = a->description.name,
        .outdated = on_outdated,
        .confirm_gone = confirm_gone,
        .end_orphans = end_orphans,
        .visit_retained = visit_retained,
        .context = a,
    });
}

/* Jobs run without steps, too. */
void
agent_open_steps(struct agent *a)
{
    struct error err = {0};

    a->context.signal_step = steps_signal; /* of no step, if they cannot be opened */
    if (steps_open(
            &(struct steps_settings){
                .agent = &a->context,
                .pods = a->pods,
                .program = a->step_program,
                .socket = a->step_socket,
                .munge_socket = a->settings->munge_socket,
            },
            &a->steps, &err)
        < 0) {
        log_warning("krun cannot be used in jobs of this node: %s", err.text);
        return;
    }
    a->context.step_socket = a->step_socket;
    if (a->step_socket[0] == '/')
        a->description.facts.step_socket = a->step_socket;
    a->context.end_steps = steps_end_pod;
    a->context.freeze_steps = steps_freeze_pod;
    a->context.steps_context = a->steps;
}
