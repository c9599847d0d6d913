/* SPDX-License-Identifier: Apache-2.0 */
/* step_port.h - the agent's TCP port, where krun on other nodes asks for tasks of
 * a step here
 *
 * Anybody can connect to it. So what has not proved its user is bounded: in
 * number (the oldest is closed for a new one), in bytes (one line), in time, and
 * in how many credentials are read at once. After the handshake
 * (lib/auth/step_handshake.h) a connection belongs to the one who takes it.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

#define STEP_PORT_STRANGERS_MOST 512 /* connections that have not proved a user */

struct credential_backend;
struct digest;
struct error;
struct loop;
struct step_caller;
struct step_port;
struct workers;

struct step_port_settings {
    struct loop *loop;
    struct workers *workers;
    struct credential_backend *credential_backend;
    const char *cluster;
    const char *node;
    const char *listen;  /* as in http_listener_bind */
    uid_t own_uid;       /* of the agent */
    int64_t patience_ms; /* from the connection to the caller's line */

    /* The verifier of the node's secret, which grants of the controller are signed with
     * (lib/auth/exec_grant.h). Runs on a worker.
     */
    int (*find_verifier)(struct digest *ret_verifier, void *context, struct error *err);

    /* Whether the caller may have a connection to its pod here: 0, or a negative
     * errno with words for it.
     */
    int (*check)(const struct step_caller *caller, void *context, struct error *err);

    /* A caller that passed; takes the descriptor, which does not block, and the
     * keys of the caller, to whom the answer has been sent.
     */
    void (*connected)(int fd TAKES, const struct step_caller *caller, void *context);
    void *context;
};

/* Life. All texts are copied. Open fails if nothing can listen at the address. Close
 * stops listening and closes the connections that nobody has taken; free it when
 * the workers are done.
 */
int step_port_open(const struct step_port_settings *settings, struct step_port **ret_port,
                   struct error *err);
void step_port_close(struct step_port *port);
void step_port_free(struct step_port *port);

unsigned step_port_number(const struct step_port *port);
size_t step_port_count_strangers(const struct step_port *port);
