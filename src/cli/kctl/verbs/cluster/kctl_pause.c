/* SPDX-License-Identifier: Apache-2.0 */
/* kctl pause - pauses scheduling; kctl resume (kctl_hold.c) resumes it */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/scheduling_switch.h"
#include "lib/base/error.h"

struct pause_options {
    struct common_options common;
};

static const struct option_spec pause_rows[] = {COMMON_OPTIONS};

static const struct option_table pause_table = {
    .name = "kctl pause",
    .usage = "[OPTION]... scheduling",
    .summary = "Start no more jobs, until scheduling is resumed; running jobs go on, and jobs "
               "can be submitted.",
    OPTION_ROWS(pause_rows),
    .more = "For administrators. A restart of the controller does not resume scheduling.\n"
            "\n"
            "Examples:\n"
            "  kctl pause scheduling\n"
            "  kctl resume scheduling",
};

static int
pause_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    (void)options;
    if (n_operands == 1 && strcmp(operands[0], "scheduling") == 0)
        return scheduling_switch(kctl, true, err);
    return error_set(err, -EINVAL,
                     "only scheduling as a whole can be paused: 'kctl pause scheduling'; use 'kctl "
                     "hold' for jobs that wait, and 'kctl suspend' for running ones");
}

const struct command pause_command = {
    .name = "pause",
    .options = &pause_table,
    .options_size = sizeof(struct pause_options),
    .run = pause_run,
};
