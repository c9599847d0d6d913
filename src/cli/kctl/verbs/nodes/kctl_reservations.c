/* SPDX-License-Identifier: Apache-2.0 */
/* kctl reservations - lists which nodes are reserved, for whom and when */
#include <stdio.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/name_choice.h"
#include "cli/kctl/output/allowed_users.h"
#include "cli/kctl/output/node_rows.h"
#include "cli/print/grid.h"
#include "cli/print/local_time.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

struct reservations_options {
    struct common_options common;
    bool no_headings;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    NO_HEADERS_OPTION(struct reservations_options),
};

static const struct option_table table = {
    .name = "kctl reservations",
    .usage = "[OPTION]... [RESERVATION]...",
    .summary = "Show reservations: state, when they begin and end (or do so "
               "next), their nodes, who may use them, and what is wrong with "
               "them or what they are for.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl reservations\n"
            "  kctl describe reservation night",
};

static const char *
text_of(const struct json *object, const char *name)
{
    const char *text = json_get_text(object, name);

    return text != NULL ? text : "";
}

static void
add_users(const struct json *spec, struct strbuf *out)
{
    if (json_is_true(json_get(spec, "maintenance")))
        strbuf_add_text(out, "none");
    else
        allowed_users_add(
            &(struct allowed_users){
                .users = json_get(spec, "users"),
                .groups = json_get(spec, "groups"),
                .accounts = json_get(spec, "accounts"),
            },
            out);
}

static void
format_time(const char *text, char out[LOCAL_TIME_SIZE])
{
    int64_t us;

    out[0] = '\0';
    if (text[0] != '\0' && time_parse(text, &us) == 0)
        local_time_format_brief(us, clock_real_us(&clock_system), out);
}

/* Adds "maintenance, daily: new kernel". */
static void
add_words(const struct json *spec, const struct json *status, struct strbuf *out)
{
    const char *message = text_of(status, "message");
    const char *reason = text_of(spec, "reason");
    const char *recurrence = text_of(spec, "recurrence");

    strbuf_add_text(out, message);
    if (json_is_true(json_get(spec, "maintenance")))
        strbuf_printf(out, "%smaintenance", out->length > 0 ? "; " : "");
    if (recurrence[0] != '\0')
        strbuf_printf(out, "%s%s", out->length > 0 ? ", " : "",
                      recurrence[0] == 'W' ? "weekly" : "daily");
    if (reason[0] != '\0')
        strbuf_printf(out, "%s%s", out->length > 0 ? ": " : "", reason);
}

static void
add_row(struct grid *grid, const struct json *reservation)
{
    const struct json *spec = json_get(reservation, "spec");
    const struct json *status = json_get(reservation, "status");
    const struct json *nodes = json_get(status, "nodes");
    const char *start = text_of(status, "start");
    char from[LOCAL_TIME_SIZE], until[LOCAL_TIME_SIZE];
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf users = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    format_time(start[0] != '\0' ? start : text_of(spec, "start"), from);
    format_time(text_of(status, "end"), until);
    node_rows_format_names(json_count(nodes) > 0 ? nodes : json_get(spec, "nodes"), &names);
    add_users(spec, &users);
    add_words(spec, status, &words);
    grid_add_row(grid, (const char *const[]){
                           json_path_text(reservation, "metadata.name"),
                           text_of(status, "state"),
                           from,
                           until,
                           names.length > 0 ? names.text : "",
                           users.text,
                           words.length > 0 ? words.text : "",
                       });
}

static struct grid *
make_grid(void)
{
    struct grid *grid = grid_new(terminal_colour_is_wanted());

    grid_add_styled(grid, &(struct grid_column){.name = "Reservation", .least = 10});
    grid_add_column(grid, "State");
    grid_add_column(grid, "Start");
    grid_add_column(grid, "End");
    grid_add_styled(grid, &(struct grid_column){.name = "Nodes", .least = 8});
    grid_add_styled(grid, &(struct grid_column){.name = "Users", .least = 8, .weight = 3});
    grid_add_styled(grid, &(struct grid_column){.name = "Reason", .least = 10, .weight = 3});
    grid_set_gap(grid, 2);
    grid_set_width(grid, terminal_width());
    return grid;
}

static int
reservations_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
                 struct error *err)
{
    const struct reservations_options *o = options;
    const struct target_object all = {.kind = &reservation_kind};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep) struct grid *grid = NULL;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *items = NULL;
    int r = kctl_list(kctl, &all, NULL, NULL, arena, &items, err);

    if (r == 0)
        r = name_choice_check(items, "reservation", n_operands, operands, err);
    if (r < 0)
        return r;
    if (json_count(items) == 0) {
        fprintf(stderr, "No reservations found\n");
        return 0;
    }
    grid = make_grid();
    for (uint32_t i = 0; i < json_count(items); i++)
        if (name_choice_has(json_at(items, i), n_operands, operands))
            add_row(grid, json_at(items, i));
    grid_print(grid, !o->no_headings, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command reservations_command = {
    .name = "reservations",
    .options = &table,
    .options_size = sizeof(struct reservations_options),
    .run = reservations_run,
};
