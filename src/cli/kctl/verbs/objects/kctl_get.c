/* SPDX-License-Identifier: Apache-2.0 */
/* kctl get - lists objects as the server's tables, JSON, YAML or names */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/listing.h"
#include "cli/kctl/output/sort_by.h"
#include "cli/kctl/output/task_table.h"
#include "cli/kctl/output/watch_output.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct get_options {
    struct common_options common;
    const char *form;
    const char *label_selector;
    const char *field_selector;
    const char *label_columns;
    const char *sort_by;
    int64_t limit;
    bool all_namespaces;
    bool watches;
    bool no_headings;
    bool shows_labels;
    bool ignores_missing;
    struct job_selection jobs; /* only if all types are jobs */
    bool mine;
};

#define PLACE(member) .offset = offsetof(struct get_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all-namespaces",
     .letter = 'A',
     .help = "in all namespaces",
     .type = OPTION_FLAG,
     PLACE(all_namespaces)},
    {.name = "field-selector",
     .argument = "LIST",
     .help = "only objects with these fields: spec.nodeName=n7",
     .type = OPTION_TEXT,
     PLACE(field_selector)},
    {.name = "ignore-not-found",
     .help = "a name that does not exist is not an error",
     .type = OPTION_FLAG,
     PLACE(ignores_missing)},
    {.name = "label-columns",
     .letter = 'L',
     .argument = "LIST",
     .help = "show these labels, each in its own column",
     .type = OPTION_TEXT,
     PLACE(label_columns)},
    {.name = "limit",
     .argument = "N",
     .help = "at most this many objects",
     .type = OPTION_INT,
     .min = 1,
     .max = INT32_MAX,
     PLACE(limit)},
    {.name = "mine", .help = "only your own jobs", .type = OPTION_FLAG, PLACE(mine)},
    NO_HEADERS_OPTION(struct get_options),
    {.name = "node",
     .argument = "NODES",
     .help = "only jobs that run or ran on these nodes: n1, n[1-4],gpu1",
     .type = OPTION_TEXT,
     PLACE(jobs.node)},
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "wide, json, yaml, name, jsonpath=TEMPLATE or "
             "custom-columns=HEADING:PATH,...",
     .type = OPTION_TEXT,
     PLACE(form)},
    {.name = "partition",
     .argument = "NAME",
     .help = "only jobs that asked for this partition",
     .type = OPTION_TEXT,
     PLACE(jobs.partition)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only objects with these labels: kiln.hpc/user=alice",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
    {.name = "show-labels",
     .help = "show all labels in a column",
     .type = OPTION_FLAG,
     PLACE(shows_labels)},
    {.name = "sort-by",
     .argument = "PATH",
     .help = "sort by this field of the objects: .spec.nodeName",
     .type = OPTION_TEXT,
     PLACE(sort_by)},
    {.name = "state",
     .argument = "STATE",
     .help = "only jobs in this state, or in one of A,B",
     .type = OPTION_TEXT,
     PLACE(jobs.state)},
    {.name = "user",
     .argument = "NAME",
     .help = "only jobs of this user",
     .type = OPTION_TEXT,
     PLACE(jobs.user)},
    {.name = "watch",
     .letter = 'w',
     .help = "keep showing changes",
     .type = OPTION_FLAG,
     PLACE(watches)},
};

static const struct option_table table = {
    .name = "kctl get",
    .usage = "[OPTION]... TYPE[,TYPE]... [NAME]...\n"
             "[OPTION]... TYPE/NAME...",
    .summary = "List nodes, pods, jobs and other objects.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl get jobs\n"
            "  kctl get pods -A -o wide --field-selector spec.nodeName=n7\n"
            "  kctl get job 1042 -o yaml\n"
            "  kctl get job '1042_[3-9]'\n"
            "  kctl get jobs --sort-by .status.startTime\n"
            "  kctl get pods -o jsonpath='{.items[*].spec.nodeName}'\n"
            "  kctl get jobs -A --mine --state Running,Pending -o yaml\n"
            "  kctl get nodes -w",
};

static struct client_request
request_of(const struct get_options *o, const struct listing_style *style,
           const struct target_object *object, struct arena *arena)
{
    const char *query =
        o->sort_by != NULL && listing_accept(style) != NULL ? "includeObject=Object" : NULL;

    return (struct client_request){
        .verb = object->name != NULL ? CLIENT_GET : CLIENT_LIST,
        .kind = object->kind,
        .namespace = object->namespace,
        .name = object->name,
        .label_selector = object->name == NULL ? o->label_selector : NULL,
        .field_selector = object->name == NULL ? o->field_selector : NULL,
        .accept = listing_accept(style),
        .query = object->name == NULL ? job_selection_query(&o->jobs, query, arena) : NULL,
    };
}

/* Joins the objects of all pages into one list. */
static void
join_page(struct arena *arena, struct json **whole, struct json *page)
{
    struct json *items;
    const char *of = json_get(page, "rows") != NULL ? "rows" : "items";
    const struct json *more = json_get(page, of);

    if (*whole == NULL) {
        *whole = page;
        return;
    }
    items = json_get(*whole, of);
    for (uint32_t i = 0; i < json_count(more); i++)
        json_append(arena, items, json_at(more, i));
}

/* The items of a list have no kind and apiVersion. Both are added to each, so
 * that an item can be copied from the output.
 */
static void
name_kinds(struct arena *arena, struct json *list, const struct kind *kind)
{
    struct json *items = json_get(list, "items");

    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);
        struct json *whole = json_object(arena);

        if (json_get(item, "kind") != NULL)
            continue;
        json_set_string(arena, whole, "apiVersion", kind->api_version);
        json_set_string(arena, whole, "kind", kind->name);
        for (uint32_t m = 0; m < json_count(item); m++)
            json_add(arena, whole, item->members[m].name, item->members[m].value);
        items->items[i] = whole;
    }
}

/* Reads all pages. Tables go into the listing at once and leave *whole NULL;
 * other answers are joined in *whole. A watch continues from the version of the
 * first page.
 */
static int
fetch(struct kctl *kctl, const struct get_options *o, struct client_request *request,
      struct listing *listing, struct arena *arena, struct json **whole, size_t *count,
      const char **ret_version, struct error *err)
{
    int64_t left = o->limit > 0 ? o->limit : INT64_MAX;

    for (;;) {
        struct json *page = NULL;
        int r;

        if (request->verb == CLIENT_LIST)
            request->limit = left < KCTL_PAGE ? left : KCTL_PAGE;
        r = kctl_call(kctl, request, arena, &page, err);
        if (r < 0)
            return r;
        if (page == NULL)
            return error_set(err, -EPROTO, "the server's answer is not JSON");
        if (*ret_version == NULL)
            *ret_version = json_path_text(page, "metadata.resourceVersion");
        if (request->accept != NULL && o->sort_by == NULL)
            *count += listing_add(listing, page);
        else
            join_page(arena, whole, page);
        request->continue_token = json_path_text(page, "metadata.continue");
        left -= KCTL_PAGE;
        if (request->continue_token == NULL || request->continue_token[0] == '\0' || left <= 0)
            break;
    }
    if (*whole != NULL) {
        name_kinds(arena, *whole, request->kind);
        json_remove(json_get(*whole, "metadata"), "continue");
        json_remove(json_get(*whole, "metadata"), "remainingItemCount");
    }
    return 0;
}

static int
fill(struct kctl *kctl, const struct get_options *o, struct client_request *request,
     struct listing *listing, struct arena *arena, size_t *ret_count, const char **ret_version,
     struct error *err)
{
    struct json *whole = NULL;
    size_t count = 0;
    int r = fetch(kctl, o, request, listing, arena, &whole, &count, ret_version, err);

    if (r == 0 && whole != NULL && o->sort_by != NULL)
        r = sort_by_sort(whole, o->sort_by, arena, err);
    if (r < 0)
        return r;
    if (whole != NULL)
        count = listing_add(listing, whole);
    *ret_count = count;
    return 0;
}

static void
print_nothing_found(const struct target_object *object)
{
    if ((object->kind->flags & KIND_NAMESPACED) == 0 || object->namespace == NULL)
        fprintf(stderr, "No resources found\n");
    else
        fprintf(stderr, "No resources found in %s namespace.\n", object->namespace);
}

/* Whether the form needs no message for an empty list, such as JSON or YAML. */
static bool
says_so_itself(const struct listing_style *style)
{
    return style->form == LISTING_JSON || style->form == LISTING_YAML
           || style->form == LISTING_TEMPLATE;
}

static int
show(struct kctl *kctl, const struct get_options *o, const struct listing_style *style,
     const struct target_object *object, bool *has_printed, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(listing_freep)
    struct listing *listing = listing_new(style, object->kind);
    struct client_request request = request_of(o, style, object, arena);
    const char *version = NULL;
    size_t count = 0;
    int r = fill(kctl, o, &request, listing, arena, &count, &version, err);

    if (r == -ENOENT && o->ignores_missing)
        return 0;
    if (r < 0)
        return r;
    if (count == 0 && !job_selection_is_empty(&o->jobs))
        r = job_selection_check_exists(kctl, &o->jobs, err);
    if (r < 0)
        return r;
    if (count == 0 && !o->watches && !says_so_itself(style))
        print_nothing_found(object);
    if (count > 0 && *has_printed && request.accept != NULL)
        putchar('\n'); /* between tables */
    *has_printed = *has_printed || count > 0;
    listing_print(listing);
    if (!o->watches)
        return 0;
    return watch_output_run(kctl,
                            &(struct watch_output){
                                .object = object,
                                .label_selector = o->label_selector,
                                .field_selector = o->field_selector,
                                .version = version,
                                .listing = listing,
                                .accept = listing_accept(style),
                            },
                            err);
}

/* Refuses names together with all namespaces, as kubectl does. */
static int
check(const struct get_options *o, const struct named_resources *resources, struct error *err)
{
    for (size_t i = 0; i < resources->count; i++)
        if (resources->items[i].name != NULL
            && (o->all_namespaces || o->label_selector != NULL || o->field_selector != NULL))
            return error_set(err, -EINVAL,
                             "a name does not go with -A, -l or "
                             "--field-selector");
    if (o->sort_by != NULL && sort_by_check(o->sort_by, err) < 0)
        return -EINVAL;
    if (o->watches && o->sort_by != NULL)
        return error_set(err, -EINVAL, "--sort-by does not go with -w");
    if (o->watches && resources->count > 1)
        return error_set(err, -EINVAL, "-w watches one resource at a time");
    return 0;
}

/* Adds --mine and the options that select jobs to the field selector. */
static int
add_job_selection(struct kctl *kctl, struct get_options *o, const struct named_resources *resources,
                  struct arena *arena, struct error *err)
{
    int r = 0;

    if (!o->mine && job_selection_is_empty(&o->jobs))
        return 0;
    for (size_t i = 0; i < resources->count; i++)
        if (resources->items[i].kind != &job_kind || resources->items[i].name != NULL)
            return error_set(err, -EINVAL,
                             "--mine, --user, --state, --partition and "
                             "--node select jobs only, as in 'kctl get jobs "
                             "--mine'");
    if (o->watches && o->jobs.node != NULL)
        return error_set(err, -EINVAL,
                         "--node does not go with -w; 'kctl jobs --node %s "
                         "-w' shows the list again whenever it changes",
                         o->jobs.node);
    if (o->mine && o->jobs.user != NULL)
        return error_set(err, -EINVAL, "--mine does not go with --user");
    if (o->mine)
        r = job_selection_find_own_user(kctl, arena, &o->jobs.user, err);
    if (r == 0)
        r = job_selection_check(&o->jobs, err);
    if (r == 0)
        o->field_selector = job_selection_fields(&o->jobs, o->field_selector, arena);
    return r;
}

static bool
are_of_several_kinds(const struct named_resources *resources)
{
    for (size_t i = 1; i < resources->count; i++)
        if (resources->items[i].kind != resources->items[0].kind)
            return true;
    return false;
}

/* In a form for programs several resources become one List. The others are
 * printed even when one does not exist.
 */
static int
show_together(struct kctl *kctl, const struct get_options *o, const struct listing_style *style,
              const struct named_resources *resources, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(listing_freep)
    struct listing *listing = listing_new(style, resources->items[0].kind);
    struct json *list = json_object(arena), *items = json_array(arena);
    int result = 0;

    json_set_string(arena, list, "apiVersion", "v1");
    json_set(arena, list, "items", items);
    json_set_string(arena, list, "kind", "List");
    json_set_string(arena, json_make_object(arena, list, "metadata"), "resourceVersion", "");
    for (size_t i = 0; i < resources->count; i++) {
        const struct target_object *object = &resources->items[i];
        struct client_request request = request_of(o, style, object, arena);
        struct json *whole = NULL;
        const char *version = NULL;
        struct error each = {0};
        size_t count = 0;
        int r = fetch(kctl, o, &request, listing, arena, &whole, &count, &version, &each);

        if (r == 0 && object->name != NULL)
            json_append(arena, items, whole);
        else if (r == 0)
            for (uint32_t k = 0; k < json_count(json_get(whole, "items")); k++)
                json_append(arena, items, json_at(json_get(whole, "items"), k));
        else if (r != -ENOENT || !o->ignores_missing) {
            if (result < 0)
                fprintf(stderr, "kctl: get: %s\n", err->text);
            result = error_set(err, r, "%s", each.text);
        }
    }
    if (o->sort_by != NULL) {
        int r = sort_by_sort(list, o->sort_by, arena, err);

        if (r < 0)
            return r;
    }
    listing_add(listing, list);
    listing_print(listing);
    fflush(stdout); /* before messages about the others */
    return result;
}

/* Several names of one kind make one table. The others are printed even when
 * one does not exist.
 */
static int
show_names(struct kctl *kctl, const struct get_options *o, const struct listing_style *style,
           const struct named_resources *resources, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(listing_freep)
    struct listing *listing = listing_new(style, resources->items[0].kind);
    int result = 0;

    for (size_t i = 0; i < resources->count; i++) {
        struct client_request request = request_of(o, style, &resources->items[i], arena);
        const char *version = NULL;
        struct error each = {0};
        size_t count = 0;
        int r = fill(kctl, o, &request, listing, arena, &count, &version, &each);

        if (r == 0 || (r == -ENOENT && o->ignores_missing))
            continue;
        if (result < 0)
            fprintf(stderr, "kctl: get: %s\n", err->text);
        result = error_set(err, r, "%s", each.text);
    }
    listing_print(listing);
    fflush(stdout); /* before messages about the others */
    return result;
}

static int
get_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct get_options with_jobs = *(const struct get_options *)options;
    struct get_options *o = &with_jobs;
    struct named_resources resources;
    struct listing_style style = {
        .no_headings = o->no_headings,
        .shows_labels = o->shows_labels,
        .shows_namespace = o->all_namespaces,
        .label_columns = o->label_columns,
        .keeps_order = o->sort_by != NULL,
    };
    bool has_printed = false;
    int r;

    kctl->takes_tasks = true;
    if (job_tasks_are_meant(n_operands, operands) && !o->watches && o->sort_by == NULL)
        return task_table_show(kctl, n_operands, operands, o->form, !o->no_headings, err);
    r = listing_style_parse(o->form, &style, err);
    if (r == 0)
        r = resource_parse(kctl, NULL, n_operands, operands, arena, &resources, err);
    if (r == 0)
        r = add_job_selection(kctl, o, &resources, arena, err);
    if (r == 0)
        r = check(o, &resources, err);
    if (r < 0)
        return r;
    style.prefixes_kind = are_of_several_kinds(&resources);
    for (size_t i = 0; o->all_namespaces && i < resources.count; i++)
        resources.items[i].namespace = NULL;
    if (resources.count > 1 && says_so_itself(&style))
        return show_together(kctl, o, &style, &resources, err);
    if (resources.count > 1 && resources.items[0].name != NULL && !style.prefixes_kind)
        return show_names(kctl, o, &style, &resources, err);
    for (size_t i = 0; i < resources.count && r == 0; i++)
        r = show(kctl, o, &style, &resources.items[i], &has_printed, err);
    return r;
}

const struct command get_command = {
    .name = "get",
    .options = &table,
    .options_size = sizeof(struct get_options),
    .run = get_run,
};
