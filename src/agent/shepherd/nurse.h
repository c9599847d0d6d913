/* SPDX-License-Identifier: Apache-2.0 */
/* nurse.h - kiln-shepherd as the process that gives birth to others
 *
 * Stays small: what it knows, its children begin with. It is as hard to end as
 * a shepherd, but ends with the agent, whose end of the socket closes.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct upbringing;

/* Whether descriptor 3 is a nurse's. */
bool nurse_is_wanted(void);

/* In each child `live`, which does not come back, with its descriptors where a
 * shepherd has them.
 */
typedef void nurse_live_fn(const struct upbringing *upbringing);
NORETURN void nurse_serve(nurse_live_fn *live,
                          const struct upbringing *upbringing);
