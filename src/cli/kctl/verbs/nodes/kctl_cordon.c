/* SPDX-License-Identifier: Apache-2.0 */
/* kctl cordon, kctl uncordon - keep new jobs off nodes, or admit them again */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/node_rows.h"
#include "cli/kctl/verbs/nodes/cordon.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

struct cordon_options {
    struct common_options common;
    const char *label_selector;
    const char *reason;
};

#define PLACE(member) .offset = offsetof(struct cordon_options, member)
#define SELECTOR                                                                           \
    {                                                                                      \
        .name = "selector", .letter = 'l', .argument = "LIST",                             \
        .help = "the nodes with these labels", .type = OPTION_TEXT, PLACE(label_selector), \
    }

static const struct option_spec cordon_rows[] = {
    COMMON_OPTIONS,
    {.name = "reason",
     .argument = "TEXT",
     .help = "why; shown to other administrators",
     .type = OPTION_TEXT,
     PLACE(reason)},
    SELECTOR,
};
static const struct option_spec uncordon_rows[] = {COMMON_OPTIONS, SELECTOR};

static const struct option_table cordon_table = {
    .name = "kctl cordon",
    .usage = "[OPTION]... NODE...",
    .summary = "Keep new jobs off nodes; running ones go on.",
    OPTION_ROWS(cordon_rows),
    .more = "Example: kctl cordon --reason 'bad fan' n7",
};
static const struct option_table uncordon_table = {
    .name = "kctl uncordon",
    .usage = "[OPTION]... NODE...",
    .summary = "Let jobs start on nodes again, and report planned maintenance.",
    OPTION_ROWS(uncordon_rows),
    .more = "Example: kctl uncordon n7",
};

/* A single node needs no check: its change fails. */
int
cordon_check(struct kctl *kctl, const struct target_object *nodes, size_t count, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **missing = arena_new_array(arena, const char *, count + 1);
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && count > 1 && i < count; i++) {
        struct json *found = NULL;

        r = kctl_find(kctl, &nodes[i], arena, &found, err);
        if (r == 0 && found == NULL)
            missing[n++] = nodes[i].name;
    }
    if (r < 0 || n == 0)
        return r;
    hostlist_format(missing, n, 200, &names);
    return error_set(err, -ENOENT, "node%s %s not found; nothing was changed", n > 1 ? "s" : "",
                     names.text);
}

int
cordon_set(struct kctl *kctl, const struct target_object *node, bool cordoned, const char *reason,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *current = NULL;
    struct json *patch = json_object(arena);
    struct json *annotations;
    const char *maintenance;
    bool was_cordoned;
    int r = kctl_get(kctl, node, arena, &current, err);

    if (r < 0)
        return r;
    maintenance = json_get_text(json_get_path(current, "metadata.annotations"), CORDON_MAINTENANCE);
    if (!cordoned && maintenance != NULL)
        return error_set(err, -EPERM,
                         "%s is under maintenance until reservation %s ends; "
                         "'kctl delete reservation %s' ends it now",
                         kctl_label(node, arena), maintenance, maintenance);
    was_cordoned = json_is_true(json_get_path(current, "spec.unschedulable"));
    json_set(arena, json_make_object(arena, patch, "spec"), "unschedulable",
             cordoned ? json_bool(arena, true) : json_null(arena));
    if (reason != NULL || !cordoned) {
        annotations =
            json_make_object(arena, json_make_object(arena, patch, "metadata"), "annotations");
        json_set(arena, annotations, CORDON_REASON,
                 reason != NULL ? json_string(arena, reason) : json_null(arena));
    }
    r = kctl_patch(kctl, node, patch, arena, NULL, err);
    if (r == 0 && !kctl->is_silent)
        printf("%s %s%s\n", kctl_label(node, arena), was_cordoned == cordoned ? "already " : "",
               cordoned ? "cordoned" : "uncordoned");
    return r;
}

static const struct json *
nodes_of(const struct json *reservation)
{
    const struct json *chosen = json_get_path(reservation, "status.nodes");

    return json_count(chosen) > 0 ? chosen : json_get_path(reservation, "spec.nodes");
}

static bool
has_node(const struct json *reservation, const char *name)
{
    const struct json *nodes = nodes_of(reservation);

    for (uint32_t i = 0; i < json_count(nodes); i++) {
        const char *node = json_text(json_at(nodes, i));

        if (node != NULL && strcmp(node, name) == 0)
            return true;
    }
    return false;
}

static void
print_planned(const struct json *reservation, const struct target_object *node, struct arena *arena)
{
    const char *name = json_path_text(reservation, "metadata.name");
    const char *reason = json_path_text(reservation, "spec.reason");
    const char *start = json_path_text(reservation, "status.start");
    CLEANUP_FREE char *words = sanitize_text_dup(reason != NULL ? reason : "");
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;
    char from[LOCAL_TIME_SIZE] = "its start";
    int64_t us;

    if (start == NULL)
        start = json_path_text(reservation, "spec.start");
    if (start != NULL && time_parse(start, &us) == 0)
        local_time_format_brief(us, clock_real_us(&clock_system), from);
    node_rows_format_names(nodes_of(reservation), &nodes);
    printf("%s will be drained again from %s on by reservation %s%s%s; 'kctl "
           "delete reservation %s' cancels that for %s\n",
           kctl_label(node, arena), from, name, words[0] != '\0' ? ": " : "", words, name,
           nodes.text);
}

/* Prints planned drains of the nodes: uncordon does not cancel them, and the
 * caller may not know of them.
 */
static int
print_all_planned(struct kctl *kctl, const struct named_resources *nodes, struct arena *arena,
                  struct error *err)
{
    const struct target_object all = {.kind = &reservation_kind};
    struct json *items = NULL;
    int r = kctl_list(kctl, &all, NULL, NULL, arena, &items, err);

    if (r == -ENOENT) /* the server does not have this kind */
        return 0;
    for (size_t n = 0; r == 0 && n < nodes->count; n++)
        for (uint32_t i = 0; i < json_count(items); i++) {
            const struct json *item = json_at(items, i);
            const char *state = json_path_text(item, "status.state");

            if (json_is_true(json_get_path(item, "spec.maintenance"))
                && (state == NULL || strcmp(state, "Ended") != 0)
                && has_node(item, nodes->items[n].name))
                print_planned(item, &nodes->items[n], arena);
        }
    return r;
}

static int
set_all(struct kctl *kctl, const struct cordon_options *o, int n_operands, char **operands,
        bool cordoned, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct named_resources nodes;
    int r = resource_select(kctl, &node_kind, n_operands, operands, o->label_selector, false, arena,
                            &nodes, err);

    if (r == 0)
        r = cordon_check(kctl, nodes.items, nodes.count, err);
    for (size_t i = 0; r == 0 && i < nodes.count; i++)
        r = cordon_set(kctl, &nodes.items[i], cordoned, o->reason, err);
    if (r == 0 && !cordoned && nodes.count > 0)
        r = print_all_planned(kctl, &nodes, arena, err);
    return r;
}

static int
cordon_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    return set_all(kctl, options, n_operands, operands, true, err);
}

static int
uncordon_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
             struct error *err)
{
    return set_all(kctl, options, n_operands, operands, false, err);
}

const struct command cordon_command = {
    .name = "cordon",
    .options = &cordon_table,
    .options_size = sizeof(struct cordon_options),
    .run = cordon_run,
};

const struct command uncordon_command = {
    .name = "uncordon",
    .options = &uncordon_table,
    .options_size = sizeof(struct cordon_options),
    .run = uncordon_run,
};
