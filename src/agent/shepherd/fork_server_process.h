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
typedef void fork_server_child_fn(const struct inherited_state *inherited_state, bool has_channel);

/* Runs in such a child after its pod's exit record is on the disk. Reports that
 * on the channel, and waits for the next pod. Then the descriptors are where a
 * shepherd expects them, and pending signals for the former pod are dropped.
 * False when the channel's other end is closed, or when a pod has come and
 * may_go_on returns false: the agent then asks another shepherd.
 */
bool fork_server_process_next(bool (*may_go_on)(void));

NORETURN void fork_server_process_serve(fork_server_child_fn *run_child,
                                        const struct inherited_state *inherited_state);
