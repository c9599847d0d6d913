/* SPDX-License-Identifier: Apache-2.0 */
/* kctl reserve - reserves nodes for some users, or for nobody, for a time */
#include <errno.h>
#include <stddef.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/verbs/nodes/reservation_request.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

struct reserve_options {
    struct common_options common;
    struct reservation_request request;
    bool is_daily, is_weekly;
};

#define PLACE(member) .offset = offsetof(struct reserve_options, request.member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "accounts",
     .argument = "LIST",
     .help = "for the jobs of these accounts (namespaces)",
     .type = OPTION_TEXT,
     PLACE(accounts)},
    {.name = "count",
     .letter = 'N',
     .argument = "N",
     .help = "this many nodes, chosen by Kiln: free ones first",
     .type = OPTION_INT,
     .min = 1,
     .max = 10000,
     PLACE(count)},
    {.name = "daily",
     .help = "repeat each day at the same hour",
     .type = OPTION_FLAG,
     .offset = offsetof(struct reserve_options, is_daily)},
    {.name = "dry-run",
     .help = "create nothing; list the jobs that would still run when it "
             "begins",
     .type = OPTION_FLAG,
     PLACE(is_dry_run)},
    {.name = "duration",
     .argument = "TIME",
     .help = "how long: 90m, 4h, 1-00:00:00 (without it and --end: until it "
             "is deleted)",
     .type = OPTION_TEXT,
     PLACE(duration)},
    {.name = "end", .argument = "TIME", .help = "until this time", .type = OPTION_TEXT, PLACE(end)},
    {.name = "flexible",
     .help = "after the start, its nodes take no other jobs, and it begins "
             "once they are free",
     .type = OPTION_FLAG,
     PLACE(is_flexible)},
    {.name = "groups",
     .argument = "LIST",
     .help = "for the jobs of the members of these Unix groups",
     .type = OPTION_TEXT,
     PLACE(groups)},
    {.name = "maintenance",
     .help = "for maintenance: no jobs, and the nodes are drained meanwhile",
     .type = OPTION_FLAG,
     PLACE(is_maintenance)},
    {.name = "nodes",
     .letter = 'w',
     .argument = "LIST",
     .help = "these nodes: n[1-3],n7",
     .type = OPTION_TEXT,
     PLACE(nodes)},
    {.name = "overlap",
     .help = "allow nodes that are in another reservation at the same time",
     .type = OPTION_FLAG,
     PLACE(may_overlap)},
    {.name = "reason",
     .argument = "TEXT",
     .help = "why; shown to other users",
     .type = OPTION_TEXT,
     PLACE(reason)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "with --count: only nodes with these labels: gpu=a100",
     .type = OPTION_TEXT,
     PLACE(labels)},
    {.name = "start",
     .argument = "TIME",
     .help = "when it begins: now, now+2hours, 18:00, 2026-12-24T18:00 (now)",
     .type = OPTION_TEXT,
     PLACE(start)},
    {.name = "timezone",
     .argument = "ZONE",
     .help = "with --daily or --weekly, the time zone of the hour: "
             "Europe/Berlin (the zone of this machine)",
     .type = OPTION_TEXT,
     PLACE(time_zone)},
    {.name = "users",
     .argument = "LIST",
     .help = "for the jobs of these users",
     .type = OPTION_TEXT,
     PLACE(users)},
    {.name = "weekly",
     .help = "repeat each week at the same hour",
     .type = OPTION_FLAG,
     .offset = offsetof(struct reserve_options, is_weekly)},
};

static const struct option_table table = {
    .name = "kctl reserve",
    .usage = "[OPTION]... NAME",
    .summary = "Reserve nodes for some users' jobs, or for maintenance. Other "
               "jobs run there only outside that time. Lists the jobs that "
               "may still run there when it begins.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl reserve course --nodes n[1-4] --start 'tomorrow 09:00' "
            "--duration 3h --groups students\n"
            "  kctl reserve night --count 8 --start 20:00 --duration 10h --daily "
            "--users ann\n"
            "  kctl delete reservation course",
};

static int
reserve_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct reserve_options *o = options;
    struct reservation_request request = o->request;

    if (n_operands != 1)
        return error_set(err, -EINVAL, "give one name for the reservation");
    if ((request.nodes != NULL) == (request.count > 0))
        return error_set(err, -EINVAL, "give the nodes (--nodes), or how many (--count)");
    if (request.labels != NULL && request.nodes != NULL)
        return error_set(err, -EINVAL, "--selector requires --count");
    if (o->is_daily && o->is_weekly)
        return error_set(err, -EINVAL, "give --daily or --weekly, not both");
    if (request.time_zone != NULL && !o->is_daily && !o->is_weekly)
        return error_set(err, -EINVAL, "--timezone requires --daily or --weekly");
    request.name = operands[0];
    request.recurrence = o->is_daily ? "Daily" : o->is_weekly ? "Weekly" : NULL;
    return reservation_request_send(kctl, &request, arena, err);
}

const struct command reserve_command = {
    .name = "reserve",
    .options = &table,
    .options_size = sizeof(struct reserve_options),
    .run = reserve_run,
};
