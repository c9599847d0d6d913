/* SPDX-License-Identifier: Apache-2.0 */
/* agent_state.h - the private struct of the agent
 *
 * Called by: agent.c and agent_node.c only.
 * Thread:    the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "agent/api_connection.h"
#include "agent/inventory.h"
#include "agent/node_description.h"
#include "agent/node_resources.h"
#include "agent/pods/agent_context.h"
#include "lib/base/macro.h"

struct cluster_identity;
struct hardware_watch;
struct heartbeat;
struct log_requests;
struct loop;
struct metrics_file;
struct node_watch;
struct pods;
struct registration;
struct health_check;
struct self_check;
struct steps;
struct sigwatch;
struct step_port;
struct timer;
struct tmp_dirs;
struct topology;
struct usage_reporter;
struct volumes;
struct workers;

struct agent {
    const struct agent_settings *settings;
    struct loop *loop;
    struct workers *workers;

    struct inventory inventory;
    struct node_resources resources;
    struct node_description description;
    char *output_program; /* path of kiln-output, beside the shepherd */
    char *step_program;   /* path of kiln-step, beside it too */
    char *step_socket;
    struct steps *steps;         /* NULL: the socket could not be made */
    struct step_port *step_port; /* NULL: nothing listens, now or at all */
    struct timer *step_port_again;
    char *krsh;           /* the program beside it; NULL: not installed */
    char *slurm_commands; /* the folder of Slurm's commands beside it; NULL: not installed */
    struct volumes *volumes;

    struct api_connection connection;

    struct agent_context context;
    struct registration *registration;
    struct heartbeat *heartbeat;
    struct node_watch *node_watch;
    struct usage_reporter *usage_reporter; /* NULL: usage is not reported */
    struct metrics_file *metrics;          /* NULL: no file is written */
    struct pods *pods;
    struct log_requests *requests;
    struct hardware_watch *hardware_watch;
    struct tmp_dirs *tmp_dirs;
    struct self_check *self_check;
    struct health_check *health_check; /* NULL: none is configured */
    bool has_begun;                    /* the first self-check has ended */
    struct sigwatch *on_term, *on_int, *on_hup;
    struct cluster_identity *cluster;
    bool has_joined; /* the controller has proved to be of our cluster */
    bool was_foreign;
    unsigned refusals; /* of this node's proof, in a row */
    bool proves;       /* the node proves itself by its secret, if it has one */
    enum agent_next next;
};

/* Callbacks whose context is the agent (agent_node.c). on_doubt: the API may
 * not have the Node as this agent describes it. on_changed: the hardware has
 * changed, or a part of it is gone. find_label: the value of the Node's label,
 * or NULL.
 */
void agent_on_doubt(void *agent);
void agent_on_changed(struct topology *is TAKES, const char *words, bool is_less, void *agent);
const char *agent_find_label(const char *label, void *agent);

/* Starts the watch of this agent's Node. */
void agent_watch_node(struct agent *a);

/* The step manager; jobs also run without one. */
void agent_open_steps(struct agent *a);

/* The port for steps of jobs of several nodes (agent_port.c). If its address is taken, it is
 * tried again. Close stops listening; free it after the workers.
 */
void agent_open_port(struct agent *a);
void agent_close_port(struct agent *a);
