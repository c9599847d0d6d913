/* SPDX-License-Identifier: Apache-2.0 */
/* step_socket.h - the Unix socket where kruns ask for steps
 *
 * Every user of the machine can connect. A connection has to send its request within
 * ten seconds, and each user may have only so many connections that have not; if all have too many,
 * the oldest of the user with the most is ended for one of a user with fewer, or of root. The
 * kernel says who the user is.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"
#include "lib/step/step_frames.h"

struct error;
struct loop;
struct step_channel;
struct step_socket;

/* The maker of a connection: from the kernel, or from a credential on another node. */
struct step_peer {
    pid_t pid; /* 0: on another node */
    uid_t uid;
    const char *pod; /* that the credential names: a uid or a group; NULL: on this node */
    const char *by;  /* who has a grant (lib/auth/exec_grant.h); NULL: the user itself */
};

/* All that it has sent; borrowed for the call. */
struct step_asked {
    struct step_peer peer;
    enum step_frame_type type; /* HELLO, ASK, HOLD, AWAIT, ENTER, CALL or WHY */
    const char *text;          /* the request, or the name of a pod */
    size_t length;
    const char *grant; /* of the step manager, for a step on several nodes; or NULL */
    size_t grant_length;
    const char *places; /* the nodes of the job, for the step manager; or NULL */
    size_t places_length;
};

/* All of it is here. The connection now belongs to the callee. */
typedef void step_socket_asked_fn(struct step_channel *connection TAKES,
                                  const struct step_asked *asked, void *context);

struct step_socket_settings {
    struct loop *loop;
    const char *path;
    step_socket_asked_fn *asked;
    /* Whether the user has pods here. Users who have none count as one, as nobody knows how many
     * uids a user has (subuid(5)). NULL: each counts.
     */
    bool (*has_pod)(uid_t user, void *context);
    void *context;
};

/* Life. A socket that an earlier agent has left is replaced. */
void step_socket_free(struct step_socket *d);
int step_socket_open(const struct step_socket_settings *settings, struct step_socket **ret_door,
                     struct error *err);
DEFINE_CLEANUP(struct step_socket, step_socket_free)

/* Takes a connection to the agent's port (step_port.h), whose user has been proved. */
struct step_caller;
void step_socket_take(struct step_socket *d, int fd TAKES, const struct step_caller *caller);

/* Sends a frame without waiting for the receiver. Close ends a connection; release frees all but
 * its descriptor.
 */
void step_socket_answer(struct step_channel *connection, enum step_frame_type type,
                        const char *payload);
void step_socket_close(struct step_channel *connection TAKES);
int step_socket_release(struct step_channel *connection TAKES);
