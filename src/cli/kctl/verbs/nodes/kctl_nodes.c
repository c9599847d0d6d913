/* SPDX-License-Identifier: Apache-2.0 */
/* kctl nodes - lists the nodes, their free resources, and why some accept no
 * jobs
 *
 * The server returns a few numbers for each node. If there are many nodes,
 * those that are alike (partition, state, reason) are one line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/node_rows.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define FEW 24 /* up to this many nodes have a line each */

struct nodes_options {
    struct common_options common;
    const char *form;
    const char *partition;
    const char *state;
    bool groups;
    bool no_headings;
};

#define PLACE(member) .offset = offsetof(struct nodes_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "group",
     .letter = 'g',
     .help = "show similar nodes in one line (the default for more than 24 "
             "nodes)",
     .type = OPTION_FLAG,
     PLACE(groups)},
    NO_HEADERS_OPTION(struct nodes_options),
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "wide (one line for each node), json or name",
     .type = OPTION_TEXT,
     PLACE(form)},
    {.name = "partition",
     .letter = 'p',
     .argument = "NAME",
     .help = "only nodes of this partition",
     .type = OPTION_TEXT,
     PLACE(partition)},
    {.name = "state",
     .letter = 't',
     .argument = "STATE",
     .help = "only nodes in this state, or in one of A,B: Idle, Mixed, Full, "
             "Tainted, Draining, Drained, Down, Silent, Faulty, Fenced, New",
     .type = OPTION_TEXT,
     PLACE(state)},
};

static const struct option_table table = {
    .name = "kctl nodes",
    .usage = "[OPTION]... [NODE]...",
    .summary = "Show nodes by partition and state: their free resources, and "
               "why some take no jobs. Only nodes that take jobs count as "
               "having free CPUs, memory and GPUs.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl nodes\n"
            "  kctl nodes -o wide -p gpu\n"
            "  kctl nodes 'rack1-n[01-16]'\n"
            "  kctl nodes --state Down,Silent",
};

/* ---- Selection ---- */

static int
check_states(const char *text, struct error *err)
{
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        char word[64];
        bool is_known = false;
        const char *near;

        memcpy(word, at, length < 63 ? length : 63);
        word[length < 63 ? length : 63] = '\0';
        for (size_t i = 0; i < node_rows_n_states; i++)
            is_known |= strcasecmp(node_rows_states[i], word) == 0;
        near = spelling_nearest(word, node_rows_states, node_rows_n_states);
        if (!is_known && near != NULL)
            return error_set(err, -EINVAL,
                             "--state: '%s' is not a state of a node (did you "
                             "mean '%s'?)",
                             word, near);
        if (!is_known)
            return error_set(err, -EINVAL,
                             "--state: '%s' is not a state of a node (such as "
                             "Idle, Mixed, Drained or Down)",
                             word);
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

static bool
is_among(const char *list, const char *word)
{
    for (const char *at = list;;) {
        const size_t length = strcspn(at, ",");

        if (strlen(word) == length && strncasecmp(at, word, length) == 0)
            return true;
        if (at[length] == '\0')
            return false;
        at += length + 1;
    }
}

/* Whether one partition of a list such as "all,gpu" is wanted. */
static bool
has_partition(const char *wanted, const char *has)
{
    CLEANUP_FREE char *copy = xstrdup(has != NULL ? has : "");
    char *rest = copy;
    char *name;

    while ((name = strsep(&rest, ",")) != NULL)
        if (name[0] != '\0' && is_among(wanted, name))
            return true;
    return false;
}

/* A node that operands name, and whether there is one of that name. */
struct wanted_node {
    const char *name;
    bool is_there;
};

static int
compare_wanted(const void *a, const void *b)
{
    return strcmp(((const struct wanted_node *)a)->name, ((const struct wanted_node *)b)->name);
}

/* Whether operands name the node; marks it. */
static bool
is_named(const char *name, struct wanted_node *wanted, size_t count)
{
    const struct wanted_node key = {.name = name};
    struct wanted_node *found = NULL;

    if (count == 0)
        return true;
    found = bsearch(&key, wanted, count, sizeof(*wanted), compare_wanted);
    if (found != NULL)
        found->is_there = true;
    return found != NULL;
}

static int
choose(const struct nodes_options *o, const struct json *all, const char *const *names,
       size_t n_names, struct arena *arena, struct json *chosen, struct error *err)
{
    CLEANUP_FREE struct wanted_node *wanted = xcalloc(n_names + 1, sizeof(*wanted));
    const char **missing = arena_new_array(arena, const char *, n_names + 1);
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    size_t n_missing = 0;

    for (size_t i = 0; i < n_names; i++)
        wanted[i].name = names[i];
    qsort(wanted, n_names, sizeof(*wanted), compare_wanted);

    for (uint32_t i = 0; i < json_count(all); i++) {
        struct json *node = json_at(all, i);
        const char *partition = json_get_text(node, "partition");

        if (!is_named(json_get_text(node, "name"), wanted, n_names)
            || (o->state != NULL && !is_among(o->state, json_get_text(node, "state")))
            || (o->partition != NULL && !has_partition(o->partition, partition)))
            continue;
        json_append(arena, chosen, node);
    }
    for (size_t i = 0; i < n_names; i++)
        if (!wanted[i].is_there)
            missing[n_missing++] = wanted[i].name;
    if (n_missing == 0)
        return 0;
    if (n_missing == 1)
        return error_set(err, -ENOENT, "node \"%s\" not found", missing[0]);
    hostlist_format(missing, n_missing, 200, &list);
    return error_set(err, -ENOENT, "nodes %s not found", list.text);
}

/* ---- Text ---- */

static void
print_tree(const struct json *nodes)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    json_print_indented(nodes, &out);
    puts(out.text);
}

static void
print_names(const struct json *nodes)
{
    for (uint32_t i = 0; i < json_count(nodes); i++)
        printf("node/%s\n", json_get_text(json_at(nodes, i), "name"));
}

static int
nodes_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct nodes_options *o = options;
    const bool is_wide = o->form != NULL && strcmp(o->form, "wide") == 0;
    const char **names = NULL;
    size_t n_names = 0;
    struct json *answer, *chosen = json_array(arena);
    struct node_rows_style style = {
        .no_headings = o->no_headings,
        .has_colours = terminal_colour_is_wanted(),
        .is_wide = is_wide,
        .width = is_wide ? 0 : terminal_width(),
    };
    int r = 0;

    if (o->form != NULL && !is_wide && strcmp(o->form, "json") != 0 && strcmp(o->form, "name") != 0)
        return error_set(err, -EINVAL,
                         "-o: '%s' is not wide, json or name ('kctl get "
                         "nodes' has more formats)",
                         o->form);
    if (o->state != NULL)
        r = check_states(o->state, err);
    if (r == 0)
        r = resource_parse_nodes(kctl, n_operands, operands, arena, &names, &n_names, err);
    if (r == 0)
        r = kctl_ask(kctl, "/kiln/v1/nodes", arena, &answer, err);
    if (r == 0)
        r = choose(o, json_get(answer, "nodes"), names, n_names, arena, chosen, err);
    if (r < 0)
        return r;
    if (o->form != NULL && strcmp(o->form, "json") == 0) {
        print_tree(chosen);
        return 0;
    }
    if (json_count(chosen) == 0) {
        fprintf(stderr, "No nodes found\n");
        return 0;
    }
    if (o->form != NULL && strcmp(o->form, "name") == 0) {
        print_names(chosen);
        return 0;
    }
    style.groups = o->groups || (!is_wide && n_names == 0 && json_count(chosen) > FEW);
    node_rows_print(chosen, &style, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command nodes_command = {
    .name = "nodes",
    .options = &table,
    .options_size = sizeof(struct nodes_options),
    .run = nodes_run,
};
