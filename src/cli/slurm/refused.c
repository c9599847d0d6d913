/* SPDX-License-Identifier: Apache-2.0 */
/* sattach, sprio, sreport, strigger, sview - refused, with what to use
 * instead
 *
 * No links of these names are installed: programs and scripts that look for a
 * command take its presence for a promise.
 */
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/base/macro.h"

static int
refuse(struct slurm_client *client, const char *instead)
{
    slurm_client_error(client, "%s", instead);
    return 1;
}

#define REFUSED(command, summary_, instead)                                                   \
    static int command##_run(struct slurm_client *client, int argc, char **argv)              \
    {                                                                                         \
        if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) { \
            slurm_client_print_version();                                                     \
            return slurm_client_end(client);                                                  \
        }                                                                                     \
        return refuse(client, instead);                                                       \
    }                                                                                         \
    const struct slurm_command command##_slurm_command = {                                    \
        .name = #command,                                                                     \
        .summary = summary_,                                                                  \
        .is_refused = true,                                                                   \
        .run = command##_run,                                                                 \
    }

REFUSED(sattach, "refused: a step is attached to its srun",
        "Kiln has no sattach: the output of a step goes to its srun; 'kctl logs --follow JOB' "
        "follows that of a job");
REFUSED(sprio, "refused: there are no priority factors",
        "You are not running a supported priority plugin: in Kiln jobs go by priority class and "
        "submission; 'kctl why JOB' says how many go before");
REFUSED(strigger, "refused: there are no triggers",
        "Kiln has no triggers: 'kctl get events --watch' and 'kctl wait' tell what happens, and "
        "'sbatch --dependency' starts a job after another");
REFUSED(sview, "refused: there is no window",
        "Kiln has no sview: 'kctl timeline --svg FILE' draws who has which nodes, when");
REFUSED(sreport, "refused: use kctl report",
        "Kiln has no sreport: 'kctl report --by account,user' and '--by month' sum what jobs used");
