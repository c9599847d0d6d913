/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_options.h - what scancel was told by its command line and its environment
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

#include "cli/kctl/input/job_selection.h"
#include "cli/slurm/slurm_client.h"

struct scancel_options {
    struct slurm_common_options common;
    struct job_selection selection;
    const char *clusters, *nodes, *qos, *reservation, *wckey, *sibling;
    const char *signal;
    int number;    /* of the signal to send; 0: the jobs are to end */
    bool is_named; /* jobs were named, and nothing selects among them */
    const char *states_given;
    bool me, batch, ctld, full, hurry, interactive, quiet, verbose;
};

/* Reads and checks options, and then SCANCEL_* for what they leave out: a variable that restricts
 * which jobs are ended must never be overlooked. Returns an exit status; 0: go on. *ret_first: the
 * first operand.
 */
int cancel_options_read(struct slurm_client *client, int argc, char **argv,
                        struct scancel_options *o, int *ret_first);
