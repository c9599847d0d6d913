/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-slurm - Slurm's commands for a Kiln cluster
 *
 * The program is installed once, with a link of each command's name.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

static const struct slurm_command *const commands[] = {
    &sacct_slurm_command,    &sacctmgr_slurm_command, &salloc_slurm_command,
    &sattach_slurm_command,  &sbatch_slurm_command,   &sbcast_slurm_command,
    &scancel_slurm_command,  &scontrol_slurm_command, &scrontab_slurm_command,
    &sdiag_slurm_command,    &seff_slurm_command,     &sinfo_slurm_command,
    &sprio_slurm_command,    &squeue_slurm_command,   &sreport_slurm_command,
    &srun_slurm_command,     &sshare_slurm_command,   &sstat_slurm_command,
    &strigger_slurm_command, &sview_slurm_command,
};

static const struct slurm_command *
find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* The end of --help. */
static char *
list_commands(void)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, "Slurm's commands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        strbuf_printf(&text, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    strbuf_add_text(&text, "\n'kiln-slurm COMMAND --help' describes each.");
    return strbuf_take(&text);
}

static int
run(const struct slurm_command *command, int argc, char **argv)
{
    struct slurm_client client;
    int status;

    slurm_client_init(&client, command->name);
    status = command->run(&client, argc, argv);
    slurm_client_fini(&client);
    return status;
}

int
main(int argc, char **argv)
{
    CLEANUP_FREE char *more = NULL;
    struct option_table table = {
        .name = "kiln-slurm",
        .usage = "COMMAND [OPTION]... [ARGUMENT]...",
        .summary = "Run one of Slurm's commands against a Kiln cluster. The program does the same "
                   "when it is started by the command's name, by a link.",
        .has_version = true,
        .stops_at_operand = true,
    };
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const struct slurm_command *command =
        argc > 0 ? find_command(slash != NULL ? slash + 1 : argv[0]) : NULL;
    int at;

    if (command != NULL)
        return run(command, argc, argv);
    more = list_commands();
    table.more = more;
    at = program_begin(&table, argc, argv, NULL);
    if (at == argc)
        program_refuse(&table, "a command is required");
    command = find_command(argv[at]);
    if (command == NULL)
        program_refuse(&table, "'%s' is none of Slurm's commands that Kiln has", argv[at]);
    return run(command, argc - at, argv + at);
}
