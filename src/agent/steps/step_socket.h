/* SPDX-License-Identifier: Apache-2.0 */
/* step_socket.h - the Unix socket where kruns ask for steps
 *
 * Every user of the machine can connect. A connection has to send its request within
 * ten seconds, and each user may have only so many connections that have not; the
 * kernel says who the user is.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct loop;
struct step_socket;

/* The process that has connected, as the kernel knows it. */
struct step_peer {
    pid_t pid;
    uid_t uid;
};

/* A request is complete. The connection now belongs to the callee; the request is
 * borrowed for the call.
 */
typedef void step_socket_asked_fn(int connection TAKES, const struct step_peer *caller,
                                  const char *request, size_t length, void *context);

struct step_socket_settings {
    struct loop *loop;
    const char *path;
    step_socket_asked_fn *asked;
    void *context;
};

/* Life. A socket that an earlier agent has left is replaced. */
void step_socket_free(struct step_socket *d);
int step_socket_open(const struct step_socket_settings *settings, struct step_socket **ret_door,
                     struct error *err);
DEFINE_CLEANUP(struct step_socket, step_socket_free)

/* Sends a refusal, or why the step waits, without waiting for the receiver. */
enum step_frame_type;
void step_socket_answer(int connection, enum step_frame_type type, const char *words);
