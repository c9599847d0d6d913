/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - the steps of the jobs of this node
 *
 * The step manager: gives out ids and CPUs of a pod, all or none and in the order in
 * which kruns ask, and starts a kiln-step for each step:
 *
 *   WAITING --> RUNNING
 *
 * WAITING: krun's connection is here; other steps have the CPUs. RUNNING: kiln-step has
 * the connection (step_process.h), until nothing of the step is left; then the CPUs are free.
 *
 * A restarted agent finds its steps in their logs (step_log.h); kruns that waited ask
 * again.
 *
 * Owns:   the socket, the steps and their connections.
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct agent_context;
struct error;
struct pod_signal;
struct pods;
struct steps;

struct steps_settings {
    const struct agent_context *agent;
    const struct pods *pods;
    const char *program;      /* kiln-step */
    const char *socket;       /* where kruns connect */
    const char *munge_socket; /* NULL: the usual one */
};

/* Life. Opening resumes the steps on the disk; call it before the pods are resumed, and
 * steps_end_unknown after that. Stop starts no more steps; free when the workers have
 * ended. Running steps go on.
 */
void steps_stop(struct steps *steps);
void steps_free(struct steps *steps);
int steps_open(const struct steps_settings *settings, struct steps **ret_steps, struct error *err);
DEFINE_CLEANUP(struct steps, steps_free)

/* Ends the steps of pods that are not here. */
void steps_end_unknown(struct steps *steps);

/* Connections from other nodes (step_port.h). Check: whether the user may have one to the
 * pod, which a uid or a group names. Set_port: where they come in; 0: nowhere.
 */
struct step_caller;
int steps_check_caller(struct steps *steps, const char *pod, uid_t user, struct error *err);
void steps_take(struct steps *steps, int fd TAKES, const struct step_caller *caller);
void steps_set_port(struct steps *steps, unsigned port);

/* Ends the steps of a pod, and refuses others; true when none is left. */
bool steps_end_pod(const char *uid, void *steps);

/* Signals a step, or ends it, for the API's server, which knows that its sender may. An
 * agent sends no signal that is older than itself.
 */
void steps_signal(const char *uid, const struct pod_signal *signal, void *steps);

/* For a pod without a cgroup: stops the processes of its steps, or lets them go on.
 * Repeating the call has no effect.
 */
void steps_freeze_pod(const char *uid, bool still, void *steps);
