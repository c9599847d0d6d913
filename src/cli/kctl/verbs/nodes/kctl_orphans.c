/* SPDX-License-Identifier: Apache-2.0 */
/* kctl orphans - lists processes on nodes whose pods were deleted from the API,
 * and ends them
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/print/grid.h"
#include "cli/print/terminal.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct orphans_options {
    struct common_options common;
    bool ends;
    bool all;
    bool no_headers;
};

#define PLACE(member) .offset = offsetof(struct orphans_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all", .help = "with --end: all orphans", .type = OPTION_FLAG, PLACE(all)},
    {.name = "end", .help = "tell their nodes to end them", .type = OPTION_FLAG, PLACE(ends)},
    {.name = "no-headers", .help = "print no headings", .type = OPTION_FLAG, PLACE(no_headers)},
};

static const struct option_table table = {
    .name = "kctl orphans",
    .usage = "[OPTION]...\n"
             "--end UID...\n"
             "--end --all",
    .summary = "Show pods that run on nodes but are unknown to the API, "
               "because its store was restored from a backup or they were "
               "deleted by force. An orphan keeps its cores until it ends.",
    OPTION_ROWS(rows),
    .more = "Example: kctl orphans --end "
            "5f0c1c9e-8f8e-4f5b-9d35-0b2a6d0f6a11",
};

static bool
is_meant(const char *uid, const struct orphans_options *o, int n_operands, char **operands)
{
    for (int i = 0; i < n_operands; i++)
        if (strcmp(operands[i], uid) == 0)
            return true;
    return o->all;
}

static void
add_row(struct grid *grid, struct arena *arena, const char *node, const struct json_member *orphan)
{
    const struct json *o = orphan->value;
    const char *cells[5];

    cells[0] = node;
    cells[1] =
        arena_printf(arena, "%s/%s", json_get_text(o, "namespace"), json_get_text(o, "name"));
    cells[2] = json_path_text(o, "allocation.cpus");
    cells[3] = json_get_text(o, "leftAt");
    cells[4] = orphan->name;
    grid_add_row(grid, cells);
}

static int
end_on(struct kctl *kctl, struct arena *arena, const char *node, const char *uids,
       struct error *err)
{
    const struct target_object target = {.kind = &node_kind, .name = node};
    struct json *patch = json_object(arena);
    struct json *meta = json_make_object(arena, patch, "metadata");

    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_END_ORPHANS,
                    uids);
    return kctl_patch(kctl, &target, patch, arena, NULL, err);
}

/* Ends the selected processes of one node. */
static int
end_those(struct kctl *kctl, struct arena *arena, const struct json *node,
          const struct orphans_options *o, int n_operands, char **operands, struct error *err)
{
    const char *name = json_path_text(node, "metadata.name");
    const struct json *list = json_get_path(node, "status.remnants");
    CLEANUP_STRBUF struct strbuf uids = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf said = STRBUF_INIT;
    int r = 0;

    for (uint32_t i = 0; i < json_count(list); i++)
        if (is_meant(list->members[i].name, o, n_operands, operands)) {
            strbuf_printf(&uids, "%s%s", uids.length > 0 ? " " : "", list->members[i].name);
            strbuf_printf(&said, "%s on %s: told to end\n", list->members[i].name, name);
        }
    if (uids.length > 0)
        r = end_on(kctl, arena, name, uids.text, err);
    if (r == 0)
        fputs(said.text != NULL ? said.text : "", stdout);
    return r;
}

/* Checks all names first, so that nothing is ended when one is mistyped. */
static int
check_uids(const struct json *items, int n_operands, char **operands, struct error *err)
{
    for (int i = 0; i < n_operands; i++) {
        bool is_there = false;

        for (uint32_t k = 0; k < json_count(items) && !is_there; k++)
            is_there =
                json_get(json_get_path(json_at(items, k), "status.remnants"), operands[i]) != NULL;
        if (!is_there)
            return error_set(err, -ENOENT,
                             "there is no orphan '%s', see kctl orphans; "
                             "nothing was ended",
                             operands[i]);
    }
    return 0;
}

static int
orphans_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    const struct orphans_options *o = options;
    const struct target_object nodes = {.kind = &node_kind};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep) struct grid *grid = grid_new(false);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *items = NULL;
    int r;

    if (o->ends != (o->all || n_operands > 0))
        return error_set(err, -EINVAL,
                         o->ends ? "--end: give the uids of the orphans, or "
                                   "--all"
                                 : "uids and --all need --end");
    r = kctl_list(kctl, &nodes, NULL, NULL, arena, &items, err);
    if (r == 0)
        r = check_uids(items, n_operands, operands, err);
    grid_set_width(grid, terminal_width());
    grid_add_column(grid, "Node");
    grid_add_column(grid, "Pod");
    grid_add_column(grid, "CPUs");
    grid_add_column(grid, "Since");
    grid_add_column(grid, "UID");
    for (uint32_t i = 0; r == 0 && i < json_count(items); i++) {
        const struct json *node = json_at(items, i);
        const struct json *list = json_get_path(node, "status.remnants");

        if (o->ends)
            r = end_those(kctl, arena, node, o, n_operands, operands, err);
        else
            for (uint32_t k = 0; k < json_count(list); k++)
                add_row(grid, arena, json_path_text(node, "metadata.name"), &list->members[k]);
    }
    if (r < 0 || o->ends)
        return r;
    if (grid_rows(grid) == 0) {
        fprintf(stderr, "there are no orphans\n");
        return 0;
    }
    grid_print(grid, !o->no_headers, &text);
    fputs(text.text, stdout);
    return 0;
}

const struct command orphans_command = {
    .name = "orphans",
    .options = &table,
    .options_size = sizeof(struct orphans_options),
    .run = orphans_run,
};
