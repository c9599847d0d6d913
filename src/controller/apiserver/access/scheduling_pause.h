/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling_pause.h - whether jobs may start, as an administrator decides
 *
 *   POST /kiln/v1/scheduling/pause   no pod gets a node from now on
 *   POST /kiln/v1/scheduling/resume  pods get nodes again
 *
 * The store keeps the decision, so a restart does not change it. The scheduler
 * reads it on its own thread, from a flag; bindings that are under way then are
 * refused by the API.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct apiserver;
struct arena;
struct request;

/* At the start of the server: reads the decision. `begins_paused`: pauses, for an
 * administrator who has started the controller so.
 */
void scheduling_pause_begin(struct apiserver *server, bool begins_paused);

/* Holds scheduling back while the controller does not know yet what runs on the
 * nodes; that is not stored, and described as no pause.
 */
void scheduling_pause_hold(struct apiserver *server, bool holds);

/* Returns false when the path is another. Otherwise the request is answered,
 * perhaps later.
 */
bool scheduling_pause_serve(struct request *q, const char *path);

/* "since TIME by NAME"; NULL: scheduling is not paused. */
const char *scheduling_pause_describe(const struct apiserver *server, struct arena *arena);
