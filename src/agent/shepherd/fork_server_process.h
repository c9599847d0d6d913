/* SPDX-License-Identifier: Apache-2.0 */
/* fork_server_process.h - kiln-shepherd as the process that forks others
 *
 * Stays small: what it knows, its children begin with. It is as hard to end as
 * a shepherd, but ends with the agent, whose end of the socket closes.
 *
 * Thread: the process's only one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct inherited_state;

/* Whether descriptor 3 is the fork server's. */
bool fork_server_process_is_wanted(void);

/* In each child, which does not come back, with its descriptors where a shepherd
 * has them; whether there is a channel among them.
 */
typedef void fork_server_child_fn(const struct inherited_state *inherited_state,
                                  bool has_channel);

/* In such a child, once its pod's end is on the disk: says so on its channel, and
 * waits for the next pod, with the descriptors where a shepherd has them and no
 * signal left that was meant for the last one. False when nobody is at
 * its other end.
 */
bool fork_server_process_next(void);

NORETURN void
fork_server_process_serve(fork_server_child_fn *run_child,
                          const struct inherited_state *inherited_state);
