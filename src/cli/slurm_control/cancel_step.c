/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_control/cancel_step.h"

#include <errno.h>
#include <stdio.h>

#include "cli/kctl/input/step_operand.h"
#include "cli/slurm/slurm_client.h"
#include "lib/base/error.h"

#define STATUS_UNKNOWN 225 /* the last eight bits of ESLURM_INVALID_JOB_ID */

int
cancel_step(struct slurm_client *client, const char *word, int signal_number, bool is_verbose,
            bool is_plain)
{
    struct error err = {0};
    const char *reason;
    bool is_unknown;
    int r;

    if (!is_plain) {
        slurm_client_error(client,
                           "Kill job error on job step id %s: a step is ended by its name alone, "
                           "without filters, --interactive and --batch",
                           word);
        return 1;
    }
    if (is_verbose && signal_number == 0)
        fprintf(stderr, "scancel: Terminating job step %s\n", word);
    else if (is_verbose)
        fprintf(stderr, "scancel: Signal %d to job step %s\n", signal_number, word);
    r = step_operand_signal(&client->kctl, word, signal_number, client->arena, &err);
    if (r > 0)
        slurm_client_error(
            client, "step %s is not known yet; if it runs, it gets the signal nevertheless", word);
    if (r >= 0)
        return 0;
    is_unknown = r == -ENOENT || r == -ESRCH || r == -EAGAIN;
    if (r == -EPERM)
        reason = "Access/permission denied";
    else if (is_unknown)
        reason = "Invalid job id specified"; /* nothing of that name runs */
    else
        reason = slurm_client_reason(r, &err);
    slurm_client_error(client, "Kill job error on job step id %s: %s", word, reason);
    return r == -EPERM ? CANCEL_STATUS_DENIED : is_unknown ? STATUS_UNKNOWN : 1;
}
