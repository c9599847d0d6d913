/* SPDX-License-Identifier: Apache-2.0 */
/* step_why.h - why a kiln-step has died, for its krun, whose connection was lost (WHY)
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct step_asked;
struct step_channel;
struct step_why;

struct step_why_question {
    const char *name; /* of the pod: its uid, or its group */
    uid_t user;
    int64_t id;
};

/* Whether that step of that user is still here: then krun asks again, for its end is near. */
typedef bool step_why_is_here_fn(const struct step_why_question *q, const void *context);

void step_why_free(struct step_why *w);
struct step_why *step_why_new(void) OWNED_BY(step_why_free);

/* The kernel has killed this kiln-step for memory. A pod that has other ones has a group's
 * name, too; or NULL.
 */
void step_why_add(struct step_why *w, const char *pod_uid, char *group TAKES, uid_t owner,
                  int64_t id);

bool step_why_is_about(const struct step_why_question *q, const char *pod_uid, const char *group);
void step_why_answer(const struct step_why *w, struct step_channel *connection TAKES,
                     const struct step_asked *asked, step_why_is_here_fn *is_here,
                     const void *context);
