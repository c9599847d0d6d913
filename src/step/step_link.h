/* SPDX-License-Identifier: Apache-2.0 */
/* step_link.h - the connection to krun
 *
 * A link that was lost accepts everything and sends nothing.
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct step_events;
struct step_frame;
struct step_keys;
struct step_link;
struct strbuf;

/* Takes a frame of krun; a negative errno: krun breaks the protocol, and is as good as none. */
typedef int step_link_take_fn(void *context, const struct step_frame *f);

/* Life. The connection is plain until it gets keys. Open watches it. */
struct step_link *step_link_new(int fd);
void step_link_set_keys(struct step_link *l, const struct step_keys *keys);
void step_link_open(struct step_link *l, struct step_events *events, step_link_take_fn *take,
                    void *context);

/* Frames are added to `out`; flush sends what it can. Check looks whether krun's machine
 * is there, and returns the milliseconds to the next look, or -1. Lose gives krun up.
 */
struct strbuf *step_link_out(struct step_link *l);
void step_link_flush(struct step_link *l);
int step_link_check(struct step_link *l, int64_t now_ms);
void step_link_lose(struct step_link *l);

/* Has_room: the queue is short enough for another piece of output. Is_received: krun's
 * kernel has all. Is_sealed: krun is on another node.
 */
bool step_link_has_room(const struct step_link *l);
bool step_link_is_flushed(const struct step_link *l);
bool step_link_is_received(const struct step_link *l);
bool step_link_is_lost(const struct step_link *l);
bool step_link_is_sealed(const struct step_link *l);
