/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/scheduling_switch.h"

#include <stdio.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/kctl.h"
#include "lib/base/arena.h"

int
scheduling_switch(struct kctl *kctl, bool pauses, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *answer;
    int r = kctl_open(kctl, err);

    if (r == 0)
        r = inquiry_run(kctl->connection, HTTP_POST,
                        pauses ? "/kiln/v1/scheduling/pause" : "/kiln/v1/scheduling/resume", NULL,
                        arena, &answer, err);
    if (r == 0)
        puts(pauses ? "scheduling is paused: no job starts until 'kctl resume scheduling'; running "
                      "jobs go on"
                    : "scheduling is resumed");
    return r;
}
