/* SPDX-License-Identifier: Apache-2.0 */
/* pass.h - a whole controller that starts with thousands of waiting pods and
 * thousands of nodes where they fit
 *
 * Its scheduler begins at once and decides one pod after the other; no agent
 * runs them.
 */
#pragma once

#include "lib/base/macro.h"
#include "testsuite/bench/http/served.h"

/* Life. Its state is below that directory. pass_stop removes nothing. */
void pass_start(struct served *ret_server, const char *directory, unsigned long nodes,
                unsigned long pods);
void pass_stop(struct served *server);

/* Text: a request to its socket, which authenticates the peer. */
struct strbuf;
void pass_add_get(struct strbuf *out, const char *target, ...) PRINTF(2, 3);

/* Look: pass_decided is the number of pods that have a node; pass_wait waits
 * for that number.
 */
double pass_decided(const struct served *server);
void pass_wait(const struct served *server, unsigned long pods);
