/* SPDX-License-Identifier: Apache-2.0 */
/* agent_port.c - the port for steps of jobs of several nodes */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_state.h"
#include "agent/node/registration.h"
#include "agent/settings.h"
#include "agent/steps/step_port.h"
#include "agent/steps/steps.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"

#define PATIENCE_MS 10000 /* for the line of a caller */
#define AGAIN_MS    5000

static int
check(const struct step_caller *caller, void *context, struct error *err)
{
    const struct agent *a = context;

    return steps_check_caller(a->steps, caller->pod, caller->uid, err);
}

/* Another secret may be there after each enrolment. */
static int
find_verifier(struct digest *ret_verifier, void *context, struct error *err)
{
    const struct agent *a = context;
    struct node_secret secret;
    int r = registration_read_secret(a->resources.secret_path, &secret, err);

    if (r == -ENOENT)
        return error_set(err, r, "this node has no secret yet, so no grant can be checked");
    if (r < 0) {
        log_warning("a grant cannot be checked: %s", err->text);
        return error_set(err, r, "this node cannot read its secret; see its log");
    }
    node_secret_verifier(&secret, ret_verifier);
    explicit_bzero(&secret, sizeof(secret));
    return 0;
}

static void
on_connected(int fd, const struct step_caller *caller, void *context)
{
    const struct agent *a = context;

    steps_take(a->steps, fd, caller);
}

static void
try_port(void *context)
{
    struct agent *a = context;
    struct error err = {0};
    int r = step_port_open(
        &(struct step_port_settings){
            .loop = a->loop,
            .workers = a->workers,
            .credential_backend = a->connection.credential_backend,
            .cluster = a->settings->cluster,
            .node = a->description.name,
            .listen = a->settings->listen,
            .own_uid = geteuid(),
            .patience_ms = PATIENCE_MS,
            .find_verifier = find_verifier,
            .check = check,
            .connected = on_connected,
            .context = a,
        },
        &a->step_port, &err);

    if (r < 0) {
        if (a->step_port_again == NULL) {
            log_warning("no step of another node reaches this one: %s; trying again", err.text);
            a->step_port_again = timer_new(a->loop, try_port, a);
        }
        timer_start(a->step_port_again, AGAIN_MS);
        return;
    }
    a->description.facts.step_port = step_port_number(a->step_port);
    steps_set_port(a->steps, a->description.facts.step_port);
    if (a->has_joined)
        registration_update(a->registration);
}

void
agent_open_port(struct agent *a)
{
    if (a->steps == NULL || strcmp(a->settings->listen, SETTINGS_NO_PORT) == 0)
        return;
    if (a->connection.credential_backend == NULL) /* the controller is on this machine */
        a->connection.credential_backend = credential_backend_new_munge(a->settings->munge_socket);
    try_port(a);
}

void
agent_close_port(struct agent *a)
{
    timer_free(a->step_port_again);
    a->step_port_again = NULL;
    step_port_close(a->step_port);
}
