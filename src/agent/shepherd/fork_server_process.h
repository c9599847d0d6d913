/* SPDX-License-Identifier: Apache-2.0 */
/* fork_server_process.h - kiln-shepherd as the process that forks others
 *
 * It stays small, because each child begins with a copy of its memory. It is
 * shielded like a shepherd, but ends with the agent, when the agent's end of
 * the socket is closed.
 *
 * Thread: the process's only one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct inherited_state;

/* Whether descriptor 3 is the socket of a fork server. */
bool fork_server_process_is_wanted(void);

/* Runs in each child and does not return. The descriptors are where a shepherd
 * expects them; `has_channel`: a channel is among them.
 */
typedef void fork_server_child_fn(const struct inherited_state *inherited_state,
                                  bool has_channel);

/* In such a child, once its pod's end is on the disk: says so on its channel, and
 * waits for the next pod, with the descriptors where a shepherd has them and no
 * signal left that was meant for the last one. False when nobody is at
 * its other end, and when it may not go on: then the agent asks another.
 */
bool fork_server_process_next(bool (*may_go_on)(void));

NORETURN void
fork_server_process_serve(fork_server_child_fn *run_child,
                          const struct inherited_state *inherited_state);
