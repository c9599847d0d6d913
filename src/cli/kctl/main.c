/* SPDX-License-Identifier: Apache-2.0 */
/* kctl - shows a Kiln cluster, and changes it */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

static const struct command *const commands[] = {
    &jobs_command,         &show_command,          &nodes_command,         &partitions_command,
    &reservations_command, &status_command,        &history_command,       &report_command,
    &efficiency_command,   &whoami_command,        &get_command,           &describe_command,
    &events_command,       &why_command,           &logs_command,          &script_command,
    &top_command,          &topology_command,      &timeline_command,      &wait_command,
    &cancel_command,       &hold_command,          &release_command,       &requeue_command,
    &resubmit_command,     &update_command,        &suspend_command,       &resume_command,
    &priority_command,     &create_command,        &apply_command,         &replace_command,
    &delete_command,       &label_command,         &annotate_command,      &cordon_command,
    &uncordon_command,     &drain_command,         &reserve_command,       &taint_command,
    &approve_command,      &reset_command,         &fence_command,         &unfence_command,
    &explain_command,      &api_resources_command, &proxy_command,         &orphans_command,
    &kubeconfig_command,   &credential_command,    &metrics_token_command, &version_command,
    &pause_command,        &hostnames_command,     &signal_command,        &exec_command,
    &attach_command,       &steps_command,         &controllers_command,
};

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct command *
find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* The list "Commands:" at the end of --help. */
static char *
list_commands(void)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, "Commands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        const char *summary = commands[i]->options->summary;

        strbuf_printf(&text, "  %-14s %.*s\n", commands[i]->name, (int)strcspn(summary, ".;"),
                      summary);
    }
    strbuf_add_text(&text, "\n"
                           "'kctl COMMAND --help' describes each command.");
    return strbuf_take(&text);
}

static void NORETURN
refuse_command(const struct option_table *table, const char *name)
{
    const char *names[ARRAY_SIZE(commands)];
    const char *near;

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        names[i] = commands[i]->name;
    near = spelling_nearest(name, names, ARRAY_SIZE(names));
    if (near != NULL)
        program_refuse(table, "unknown command '%s' (did you mean '%s'?)", name, near);
    program_refuse(table, "unknown command '%s'", name);
}

/* Applies --color and --utc to the whole process, because all output follows
 * them.
 */
static int
set_output(const struct common_options *options, struct error *err)
{
    if (options->utc) {
        setenv("TZ", "UTC0", 1);
        tzset();
    }
    if (options->colour == NULL || terminal_colour_set(options->colour) == 0)
        return 0;
    return error_set(err, -EINVAL, "--color: '%s' is not auto, always or never", options->colour);
}

/* Options before the verb apply too, unless an option of the verb replaces
 * them.
 */
static int
run_command(const struct command *command, const struct common_options *before, int argc,
            char **argv)
{
    CLEANUP_FREE void *options = xcalloc(1, command->options_size);
    const struct common_options *common = options;
    int operands = program_begin(command->options, argc, argv, options);
    struct kctl kctl = {
        .server = common->server != NULL ? common->server : before->server,
        .namespace = common->namespace != NULL ? common->namespace : before->namespace,
        .no_wait = common->no_wait || before->no_wait,
        .as_user = common->as_user != NULL ? common->as_user : before->as_user,
    };
    struct error err = {0};
    enum exit_status status;
    int r = set_output(before, &err);

    if (r == 0)
        r = set_output(common, &err);
    if (r == 0)
        r = command->run(&kctl, options, argc - operands, argv + operands, &err);
    status = program_end(kctl.program != NULL ? kctl.program : command->options->name, r, &err);
    /* -EINVAL before the first request is a usage error. */
    if (r == -EINVAL && kctl.connection == NULL)
        status = EXIT_STATUS_USAGE;
    kctl_fini(&kctl);
    return kctl.exit_code != 0 ? kctl.exit_code : (int)status;
}

/* Handles "kctl help" and "kctl help drain". */
static int
help(const struct option_table *table, int n_operands, char **operands)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct command *command = NULL;

    if (n_operands > 0) {
        command = find_command(operands[0]);
        if (command == NULL)
            refuse_command(table, operands[0]);
    }
    option_format_help(command != NULL ? command->options : table, &text);
    fwrite(text.text, 1, text.length, stdout);
    return 0;
}

int
main(int argc, char **argv)
{
    CLEANUP_FREE char *more = list_commands();
    const struct option_table table = {
        .name = "kctl",
        .usage = "COMMAND [OPTION]... [ARGUMENT]...",
        .summary = "Look at the jobs, pods and nodes of a Kiln cluster, and change "
                   "them. A number means the job with that id.",
        OPTION_ROWS(rows),
        .more = more,
        .has_version = true,
        .stops_at_operand = true,
    };
    struct common_options before = {0};
    const struct command *command;
    int at = program_begin(&table, argc, argv, &before);

    if (at == argc)
        program_refuse(&table, "a command is required");
    if (strcmp(argv[at], "help") == 0)
        return help(&table, argc - at - 1, argv + at + 1);
    command = find_command(argv[at]);
    if (command == NULL)
        refuse_command(&table, argv[at]);
    return run_command(command, &before, argc - at, argv + at);
}
