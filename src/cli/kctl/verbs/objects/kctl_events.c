/* SPDX-License-Identifier: Apache-2.0 */
/* kctl events - lists events, oldest first */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/listing.h"
#include "cli/kctl/output/object_events.h"
#include "cli/kctl/output/watch_output.h"
#include "cli/print/grid.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/job_elements.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct events_options {
    struct common_options common;
    const char *about;
    const char *type;
    bool all_namespaces;
    bool no_headings;
    bool watches;
};

#define PLACE(member) .offset = offsetof(struct events_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all-namespaces",
     .letter = 'A',
     .help = "in all namespaces",
     .type = OPTION_FLAG,
     PLACE(all_namespaces)},
    {.name = "for",
     .argument = "TYPE/NAME|JOB|JOB_TASK",
     .help = "only events of this object; of a job or task, also those of its "
             "pods",
     .type = OPTION_TEXT,
     PLACE(about)},
    NO_HEADERS_OPTION(struct events_options),
    {.name = "types",
     .argument = "TYPE",
     .help = "only this type: Normal or Warning",
     .type = OPTION_TEXT,
     PLACE(type)},
    {.name = "watch",
     .letter = 'w',
     .help = "keep showing new events",
     .type = OPTION_FLAG,
     PLACE(watches)},
};

static const struct option_table table = {
    .name = "kctl events",
    .usage = "[OPTION]...",
    .summary = "Show events, oldest first.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl events --for 1042\n"
            "  kctl events --for 1042_7\n"
            "  kctl events --for node/n7 -w\n"
            "  kctl events -A --types Warning",
};

static int
check(const struct events_options *o, int n_operands, char **operands, struct error *err)
{
    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected; --for %s names an object",
                         operands[0], operands[0]);
    if (o->about != NULL && o->all_namespaces)
        return error_set(err, -EINVAL, "--for does not go with -A");
    if (o->type != NULL && strcmp(o->type, "Normal") != 0 && strcmp(o->type, "Warning") != 0)
        return error_set(err, -EINVAL, "--types '%s' is neither Normal nor Warning", o->type);
    return 0;
}

/* Finds the object of --for, which may be deleted and still have events. */
static int
find_object(struct kctl *kctl, const struct events_options *o, struct arena *arena,
            struct target_object *ret_object, struct error *err)
{
    char *operand = arena_strdup(arena, o->about);
    struct job_elements meant;

    if (job_elements_looks_like(operand) && job_elements_parse(arena, operand, &meant, NULL) == 0
        && meant.tasks.total != 1)
        return error_set(err, -EINVAL,
                         "--for '%s' names several tasks, but only the events "
                         "of one can be shown, such as --for "
                         "%" PRId64 "_%" PRId64 "; --for %" PRId64 " shows "
                         "the events of all",
                         operand, meant.job, task_list_at(&meant.tasks, 0), meant.job);
    kctl->takes_tasks = true;
    return resource_parse_one(kctl, strchr(operand, '/') != NULL ? NULL : &job_kind, 1, &operand,
                              arena, ret_object, err);
}

static void
print(const struct events_options *o, const struct json *events, bool of_one)
{
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object_events_style style = {
        .names_namespaces = o->all_namespaces,
        .names_objects = true,
    };

    object_events_add_columns(grid, &style);
    for (uint32_t i = 0; i < json_count(events); i++) {
        const char *type = json_get_text(json_at(events, i), "type");

        if (o->type == NULL || (type != NULL && strcmp(type, o->type) == 0))
            object_events_add_row(grid, &style, json_at(events, i));
    }
    if (grid_rows(grid) == 0) {
        fprintf(stderr, "No events found%s%s%s.\n", of_one ? " for " : "", of_one ? o->about : "",
                o->type != NULL ? " of that type" : "");
        return;
    }
    grid_print(grid, !o->no_headings, &text);
    fwrite(text.text, 1, text.length, stdout);
}

/* Prints new events of one object, or of the namespace. */
static int
watch(struct kctl *kctl, const struct events_options *o, const struct target_object *object,
      struct arena *arena, struct error *err)
{
    const struct listing_style style = {
        .no_headings = true,
        .shows_namespace = o->all_namespaces,
    };
    CLEANUP(listing_freep)
    struct listing *listing = listing_new(&style, &event_kind);
    const struct target_object events = {
        .kind = &event_kind,
        .namespace = o->all_namespaces                             ? NULL
                     : object != NULL && object->namespace != NULL ? object->namespace
                     : object != NULL                              ? "default"
                                                                   : kctl_namespace(kctl),
    };
    struct strbuf selector = STRBUF_INIT;
    struct json *newest = NULL;
    const struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = &event_kind,
        .namespace = events.namespace,
        .limit = 1,
    };
    int r = kctl_call(kctl, &request, arena, &newest, err);

    if (r < 0)
        return r;
    if (object != NULL)
        strbuf_printf(&selector, "involvedObject.kind=%s,involvedObject.name=%s",
                      object->kind->name, object->name);
    if (o->type != NULL)
        strbuf_printf(&selector, "%stype=%s", selector.length > 0 ? "," : "", o->type);
    r = watch_output_run(kctl,
                         &(struct watch_output){
                             .object = &events,
                             .field_selector = selector.length > 0 ? selector.text : NULL,
                             .version = json_path_text(newest, "metadata.resourceVersion"),
                             .listing = listing,
                             .accept = listing_accept(&style),
                         },
                         err);
    strbuf_fini(&selector);
    return r;
}

static int
events_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct events_options *o = options;
    struct target_object object = {0};
    const struct target_object *about = NULL;
    struct json *events = NULL;
    int r = check(o, n_operands, operands, err);

    if (r == 0 && o->about != NULL) {
        r = find_object(kctl, o, arena, &object, err);
        about = &object;
    }
    if (r == 0)
        r = object_events_collect(kctl, about, o->all_namespaces ? NULL : kctl_namespace(kctl),
                                  arena, &events, err);
    if (r < 0)
        return r;
    if (json_count(events) > 0 || !o->watches)
        print(o, events, about != NULL);
    return o->watches ? watch(kctl, o, about, arena, err) : 0;
}

const struct command events_command = {
    .name = "events",
    .options = &table,
    .options_size = sizeof(struct events_options),
    .run = events_run,
};
