/* SPDX-License-Identifier: Apache-2.0 */
/* kctl controllers - which controller leads, and which wait; and handover */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/connect/call_retry.h"
#include "cli/connect/connection.h"
#include "cli/connect/inquiry.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PATH "/kiln/v1/controllers"

/* A successor leads within a second, or after three if it is gone, and then reads
 * the store.
 */
#define CONFIRM_US INT64_C(15000000)
#define ASK_MS     100

struct controllers_options {
    struct common_options common;
    const char *form;
    bool no_headings;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "no-headers",
     .help = "without headings",
     .type = OPTION_FLAG,
     .offset = offsetof(struct controllers_options, no_headings)},
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "json",
     .type = OPTION_TEXT,
     .offset = offsetof(struct controllers_options, form)},
};

static const struct option_table table = {
    .name = "kctl controllers",
    .usage = "[OPTION]...\n[OPTION]... handover [NAME]",
    .summary = "Show which controller leads and since when, and which wait to take over. "
               "With 'handover', the one that leads finishes what it writes, and the one of that "
               "name or address leads, or any that waits.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl controllers\n"
            "  kctl controllers handover head2",
};

/* --- the list ------------------------------------------------------------------ */

static const char *
text_of(const struct json *item, const char *name)
{
    const char *text = json_get_text(item, name);

    return text != NULL ? text : "";
}

/* "cold": it reads everything when it takes over. "loading": it does so now. */
static const char *
behind(const struct json *item, int64_t newest, struct arena *arena)
{
    int64_t revision = json_get_int(item, "revision", -1);
    char age[HUMAN_TEXT_SIZE];

    if (strcmp(text_of(item, "state"), "Leading") == 0)
        return "";
    if (strcmp(text_of(item, "state"), "Silent") == 0) {
        human_duration(json_get_int(item, "silentSeconds", 0) * 1000000, age);
        return arena_printf(arena, "not seen for %s", age);
    }
    if (revision < 0)
        return json_is_true(json_get(item, "loading")) ? "loading" : "cold";
    return newest > revision ? arena_printf(arena, "%" PRId64 " changes", newest - revision)
                             : "nothing";
}

static const char *
since_text(const struct json *item, struct arena *arena)
{
    char age[HUMAN_TEXT_SIZE];
    int64_t us;

    if (time_parse(text_of(item, "since"), &us) < 0)
        return "";
    us = clock_real_us(&clock_system) - us;
    human_duration(us > 0 ? us : 0, age);
    return arena_strdup(arena, age);
}

static void
print_table(const struct json *answer, bool with_headings, struct arena *arena, struct strbuf *out)
{
    CLEANUP(grid_freep) struct grid *grid = grid_new(terminal_colour_is_wanted());
    const struct json *items = json_get(answer, "controllers");
    int64_t newest = json_get_int(answer, "revision", 0);

    grid_add_column(grid, "Name");
    grid_add_column(grid, "State");
    grid_add_column(grid, "For");
    grid_add_column(grid, "Behind");
    grid_add_column(grid, "Address");
    grid_add_styled(grid, &(struct grid_column){.name = "Release", .least = 8, .weight = 2});
    grid_add_styled(grid, &(struct grid_column){.name = "State directory", .weight = 1});
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);

        grid_add_row(grid,
                     (const char *const[]){text_of(item, "name"), text_of(item, "state"),
                                           since_text(item, arena), behind(item, newest, arena),
                                           text_of(item, "address"), text_of(item, "release"),
                                           text_of(item, "stateDirectory")});
    }
    grid_set_width(grid, terminal_width());
    grid_print(grid, with_headings, out);
}

/* A store in the state directory has no others. */
static void
print_alone(const struct json *answer)
{
    if (!json_is_true(json_get(answer, "inDatabase")))
        fputs("There is no standby: the store is in the state directory (kiln-ha(7) describes a "
              "replicated one)\n",
              stderr);
    else if (json_count(json_get(answer, "controllers")) < 2)
        fputs("There is no standby: start a controller on another machine (kiln-ha(7))\n", stderr);
}

static int
list_controllers(struct kctl *kctl, const struct controllers_options *o, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *answer = NULL;
    int r;

    if (o->form != NULL && strcmp(o->form, "json") != 0)
        return error_set(err, -EINVAL, "-o: '%s' is not json", o->form);
    r = kctl_ask(kctl, PATH, arena, &answer, err);
    if (r < 0)
        return r;
    if (o->form != NULL) {
        json_print_indented(answer, &out);
        strbuf_add_char(&out, '\n');
    } else {
        print_table(answer, !o->no_headings, arena, &out);
    }
    fwrite(out.text, 1, out.length, stdout);
    fflush(stdout);
    if (o->form == NULL)
        print_alone(answer);
    return 0;
}

/* --- handing over ---------------------------------------------------------------- */

static bool
leads(const struct json *answer, const char *address, const char *name)
{
    const struct json *items = json_get(answer, "controllers");

    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);

        if (strcmp(text_of(item, "state"), "Leading") == 0)
            return strcmp(text_of(item, "address"), address) == 0
                   && strcmp(text_of(item, "name"), name) == 0;
    }
    return false;
}

/* The socket of a head that leads no longer cannot tell who does. */
static bool
asks_one_head(struct kctl *kctl)
{
    const char *server = connection_retry(kctl->connection)->server;

    return server != NULL && (server[0] == '/' || strncmp(server, "http+unix:", 10) == 0);
}

/* Asks whoever answers until it is the successor. */
static bool
await_successor(struct kctl *kctl, const char *address, const char *name, int64_t began_us)
{
    int64_t now_us;

    connection_retry(kctl->connection)->program = "kctl";
    connection_retry(kctl->connection)->patience_us = CONFIRM_US;
    do {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *answer = NULL;

        if (kctl_ask(kctl, PATH, arena, &answer, NULL) == 0 && leads(answer, address, name))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = ASK_MS * 1000000}, NULL);
        now_us = clock_monotonic_us(&clock_system);
    } while (now_us - began_us < CONFIRM_US);
    return false;
}

static int
hand_over(struct kctl *kctl, const char *to, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    int64_t began_us = clock_monotonic_us(&clock_system);
    const char *name, *address;
    struct json *answer = NULL;
    int r = kctl_open(kctl, err);

    if (r == 0)
        r = inquiry_run(kctl->connection, HTTP_POST,
                        to != NULL ? arena_printf(arena, PATH "/handover?to=%s", to)
                                   : PATH "/handover",
                        NULL, arena, &answer, err);
    if (r < 0)
        return r;
    name = text_of(answer, "name");
    address = text_of(answer, "address");
    if (kctl->no_wait || asks_one_head(kctl)) {
        printf("the lead is handed over to %s (%s)\n", name, address);
        return 0;
    }
    if (!await_successor(kctl, address, name, began_us))
        return error_set(err, -ETIMEDOUT,
                         "the lead was handed over to %s, which did not answer here within %d s; "
                         "try 'kctl --server http://%s controllers'",
                         name, (int)(CONFIRM_US / 1000000), address);
    printf("%s (%s) leads, after %.1f s\n", name, address,
           (double)(clock_monotonic_us(&clock_system) - began_us) / 1e6);
    return 0;
}

/* Part of a request's target. */
static bool
is_name(const char *text)
{
    return text[0] != '\0'
           && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                ".:-_[]")]
                  == '\0';
}

static int
controllers_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
                struct error *err)
{
    const struct controllers_options *o = options;

    if (n_operands == 0)
        return list_controllers(kctl, o, err);
    if (strcmp(operands[0], "handover") != 0)
        return error_set(err, -EINVAL, "'%s' is not 'handover'", operands[0]);
    if (n_operands > 2)
        return error_set(err, -EINVAL, "handover takes one name");
    if (o->form != NULL)
        return error_set(err, -EINVAL, "-o is for the list");
    if (n_operands == 2 && !is_name(operands[1]))
        return error_set(err, -EINVAL, "'%s' is no name of a machine, and no address", operands[1]);
    return hand_over(kctl, n_operands == 2 ? operands[1] : NULL, err);
}

const struct command controllers_command = {
    .name = "controllers",
    .options = &table,
    .options_size = sizeof(struct controllers_options),
    .run = controllers_run,
};
