/* SPDX-License-Identifier: Apache-2.0 */
/* kctl partitions - lists the partitions, their limits, and the free resources
 * of their nodes
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/name_choice.h"
#include "cli/kctl/output/allowed_users.h"
#include "cli/kctl/output/node_rows.h"
#include "cli/print/grid.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/policy/partition.h"
#include "lib/base/arena.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct partitions_options {
    struct common_options common;
    bool no_headings;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    NO_HEADERS_OPTION(struct partitions_options),
};

static const struct option_table table = {
    .name = "kctl partitions",
    .usage = "[OPTION]... [PARTITION]...",
    .summary = "Show partitions: state, default and longest time limit, "
               "nodes, free CPUs of nodes that take jobs, and who may use "
               "them. * marks the default partition.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl partitions\n"
            "  kctl describe partition gpu",
};

static const char *
text_of(const struct json *object, const char *name)
{
    const char *text = json_get_text(object, name);

    return text != NULL ? text : "";
}

static struct node_sum
sum_nodes(const struct json *nodes, const char *name)
{
    struct node_sum sum = {0};
    size_t n;

    for (uint32_t i = 0; i < json_count(nodes); i++)
        for (const char *at = text_of(json_at(nodes, i), "partition");
             (n = partition_next_name(&at)) > 0; at += n)
            if (strlen(name) == n && strncmp(at, name, n) == 0)
                node_sum_add(&sum, json_at(nodes, i));
    return sum;
}

static void
add_time(int64_t seconds, struct strbuf *out)
{
    if (seconds > 0)
        duration_format(seconds, out);
    else
        strbuf_add_text(out, "none");
}

static void
add_row(struct grid *grid, const struct json *partition, const struct json *nodes)
{
    const struct json *spec = json_get(partition, "spec");
    const char *name = json_path_text(partition, "metadata.name");
    const struct node_sum sum = sum_nodes(nodes, name);
    CLEANUP_STRBUF struct strbuf shown = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf usual = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf most = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf count = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf cpus = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf users = STRBUF_INIT;

    strbuf_printf(&shown, "%s%s", name, json_is_true(json_get(spec, "isDefault")) ? "*" : "");
    add_time(partition_given_time_s(text_of(spec, "defaultTime"), text_of(spec, "maximumTime")),
             &usual);
    add_time(partition_time_s(text_of(spec, "maximumTime")), &most);
    strbuf_printf(&count, "%" PRId64, sum.nodes);
    strbuf_printf(&cpus, "%" PRId64 "/%" PRId64, sum.cpus_free, sum.cpus);
    allowed_users_add(
        &(struct allowed_users){
            .users = json_get(spec, "allowedUsers"),
            .groups = json_get(spec, "allowedGroups"),
            .accounts = json_get(spec, "allowedAccounts"),
        },
        &users);
    grid_add_row(grid, (const char *const[]){shown.text, text_of(spec, "state"), usual.text,
                                             most.text, count.text, cpus.text, users.text,
                                             text_of(spec, "exclusive"), text_of(spec, "reason")});
}

static struct grid *
make_grid(void)
{
    struct grid *grid = grid_new(terminal_colour_is_wanted());

    grid_add_styled(grid, &(struct grid_column){.name = "Partition", .least = 8});
    grid_add_column(grid, "State");
    grid_add_styled(grid,
                    &(struct grid_column){.name = "Default time", .is_right = true, .weight = 2});
    grid_add_styled(grid, &(struct grid_column){.name = "Time limit", .is_right = true});
    grid_add_styled(grid, &(struct grid_column){.name = "Nodes", .is_right = true});
    grid_add_styled(grid, &(struct grid_column){.name = "CPUs free", .is_right = true});
    grid_add_styled(grid, &(struct grid_column){.name = "Users", .least = 9, .weight = 3});
    grid_add_column(grid, "Exclusive");
    grid_add_styled(grid, &(struct grid_column){.name = "Reason", .least = 10, .weight = 3});
    grid_set_gap(grid, 2);
    grid_set_width(grid, terminal_width());
    return grid;
}

static int
partitions_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
               struct error *err)
{
    const struct partitions_options *o = options;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep) struct grid *grid = NULL;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *list = NULL, *nodes = NULL;
    const struct json *items;
    int r = kctl_ask(kctl, "/apis/kiln.hpc/v1/partitions", arena, &list, err);

    if (r == 0)
        r = kctl_ask(kctl, "/kiln/v1/nodes", arena, &nodes, err);
    items = json_get(list, "items");
    if (r == 0)
        r = name_choice_check(items, "partition", n_operands, operands, err);
    if (r < 0)
        return r;
    if (json_count(items) == 0) {
        fprintf(stderr, "No partitions found\n");
        return 0;
    }
    grid = make_grid();
    for (uint32_t i = 0; i < json_count(items); i++)
        if (name_choice_has(json_at(items, i), n_operands, operands))
            add_row(grid, json_at(items, i), json_get(nodes, "nodes"));
    grid_print(grid, !o->no_headings, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command partitions_command = {
    .name = "partitions",
    .options = &table,
    .options_size = sizeof(struct partitions_options),
    .run = partitions_run,
};
