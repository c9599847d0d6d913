/* SPDX-License-Identifier: Apache-2.0 */
/* step_pace.h - how fast a connection is read whose peer has little to say
 *
 * A krun or kalloc that has a connection here sends some bytes every few seconds. One that
 * sends without a pause is not read for a while, so that it costs the loop next to nothing;
 * what it sends waits at the peer. Its end is seen at once.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

/* So many units may come at once, and one each second after that. Each receive counts as a unit at
 * least.
 */
#define STEP_PACE_UNIT  1024u /* bytes */
#define STEP_PACE_BURST 8u    /* units */

struct fdwatch;
struct loop;
struct step_pace;

/* Life. The watch waits to read, and outlives the pace. */
void step_pace_free(struct step_pace *p);
struct step_pace *step_pace_new(struct loop *loop, struct fdwatch *watch) OWNED_BY(step_pace_free);

/* After each receive of so many bytes: may stop the reading, until it is time again. */
void step_pace_take(struct step_pace *p, size_t bytes);
