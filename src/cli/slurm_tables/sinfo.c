/* SPDX-License-Identifier: Apache-2.0 */
/* sinfo - shows partitions and the states of their nodes */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/kctl/client/kctl.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm_tables/field_format.h"
#include "cli/slurm_tables/job_choice.h"
#include "cli/slurm_tables/node_fields.h"
#include "cli/slurm_tables/node_group.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_json.h"
#include "cli/slurm_tables/slurm_time.h"
#include "lib/api/object/kind.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/program/option.h"

#define USUAL_FORMAT     "%#P %.5a %.10l %.6D %.6t %N"
#define LONG_FORMAT      "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
#define SUMMARY_FORMAT   "%#P %.5a %.10l %.16F %N"
#define NODE_FORMAT      "%#N %.6D %.#P %6t"
#define NODE_LONG_FORMAT "%#N %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
#define REASON_FORMAT    "%20E %9u %19H %N"
#define REASON_LONG      "%20E %12U %19H %6t %N"

/* ---- Reservations (-T) ---- */

#define LEAST_WIDTH 9 /* of the names */

static const char *
name_of(const struct json *reservation)
{
    const char *name = json_path_text(reservation, "metadata.name");

    return name != NULL ? name : "";
}

static void
add_line(const struct json *reservation, int width, struct arena *arena)
{
    struct strbuf times[2] = {STRBUF_INIT, STRBUF_INIT};
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, length = STRBUF_INIT;
    static const char *const members[] = {"status.start", "status.end"};
    const struct json *list = json_get_path(reservation, "status.nodes");
    const char **names = arena_new_array(arena, const char *, json_count(list) + 1);
    const char *state = json_path_text(reservation, "status.state");
    int64_t us[2] = {0};
    size_t count = 0;

    for (size_t i = 0; i < 2; i++) {
        const char *text = json_path_text(reservation, members[i]);

        if (text != NULL && time_parse(text, &us[i]) == 0)
            slurm_time_add(us[i], &times[i]);
        else
            strbuf_add_text(&times[i], "Unknown");
    }
    if (us[0] != 0 && us[1] != 0)
        slurm_time_add_elapsed((us[1] - us[0]) / 1000000, &length);
    else
        strbuf_add_text(&length, "UNLIMITED");
    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_text(json_at(list, i)) != NULL)
            names[count++] = json_text(json_at(list, i));
    if (count > 0)
        hostlist_format(names, count, 0, &nodes);
    printf("%-*s  %8s  %19s  %19s  %11s  %s\n", width, name_of(reservation),
           state != NULL && strcmp(state, "Active") == 0 ? "ACTIVE" : "INACTIVE", times[0].text,
           times[1].text, length.text, nodes.text);
    for (size_t i = 0; i < 2; i++)
        strbuf_fini(&times[i]);
}

/* Prints the table, or an error; the exit status. */
static int
print_reservations(struct slurm_client *client, bool has_heading)
{
    const struct target_object all = {.kind = &reservation_kind};
    struct json *list = NULL;
    struct error err = {0};
    size_t width = LEAST_WIDTH;
    int r = kctl_list(&client->kctl, &all, NULL, NULL, client->arena, &list, &err);

    if (r < 0) {
        fprintf(stderr, "slurm_load_reservations: %s\n", slurm_client_reason(r, &err));
        return 1;
    }
    if (json_count(list) == 0) {
        puts("No reservations in the system");
        return slurm_client_end(client);
    }
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strlen(name_of(json_at(list, i))) > width)
            width = strlen(name_of(json_at(list, i)));
    if (has_heading)
        printf("%-*s  %8s  %19s  %19s  %11s  %s\n", (int)width, "RESV_NAME", "STATE", "START_TIME",
               "END_TIME", "DURATION", "NODELIST");
    for (uint32_t i = 0; i < json_count(list); i++)
        add_line(json_at(list, i), (int)width, client->arena);
    return slurm_client_end(client);
}

/* ---- Options ---- */

struct sinfo_options {
    struct slurm_common_options common;
    struct output_choice format;
    const char *clusters, *nodes, *partitions, *sort, *states;
    int64_t interval_s;
    bool is_dead, is_exact, no_heading, is_long, by_node, is_responding, lists_reasons;
    bool is_summary, of_reservations, is_json, is_yaml, ignored;
};

#define PLACE(member) .offset = offsetof(struct sinfo_options, member)

/* clang-format off */
static const struct option_spec rows[] = {
    SLURM_COMMON_OPTIONS,
    {.name = "all", .letter = 'a', .help = "all partitions (always)",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "clusters", .letter = 'M', .argument = "NAME", .help = "must name this cluster",
     .type = OPTION_TEXT, PLACE(clusters)},
    {.name = "dead", .letter = 'd', .help = "only nodes that do not respond",
     .type = OPTION_FLAG, PLACE(is_dead)},
    {.name = "exact", .letter = 'e', .help = "lines of their own for nodes with other CPUs or memory",
     .type = OPTION_FLAG, PLACE(is_exact)},
    {.name = "federation", .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "format", .letter = 'o', .argument = "FORMAT",
     .help = "the fields to show, such as '%P %D %t'", .type = OPTION_CALL, .set = field_format_set_letters, PLACE(format)},
    {.name = "Format", .letter = 'O', .argument = "LIST",
     .help = "the fields to show, such as NodeList:20,StateLong", .type = OPTION_CALL,
     .set = field_format_set_names, PLACE(format)},
    {.name = "hide", .help = "Kiln hides no partition: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "iterate", .letter = 'i', .argument = "SECONDS",
     .help = "show the list again and again, so many seconds apart", .type = OPTION_INT, .min = 1,
     .max = 86400, PLACE(interval_s)},
    {.name = "json", .help = "show the nodes as JSON", .type = OPTION_FLAG, PLACE(is_json)},
    {.name = "list-reasons", .letter = 'R', .help = "why nodes take no jobs",
     .type = OPTION_FLAG, PLACE(lists_reasons)},
    {.name = "local", .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "long", .letter = 'l', .help = "more fields", .type = OPTION_FLAG, PLACE(is_long)},
    {.name = "noconvert", .help = "memory is in megabytes anyway",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "Node", .letter = 'N', .help = "a line for each node",
     .type = OPTION_FLAG, PLACE(by_node)},
    {.name = "nodes", .letter = 'n', .argument = "NODES", .help = "only these nodes",
     .type = OPTION_TEXT, PLACE(nodes)},
    {.name = "noheader", .letter = 'h', .help = "no heading",
     .type = OPTION_FLAG, PLACE(no_heading)},
    {.name = "partition", .letter = 'p', .argument = "LIST", .help = "only these partitions",
     .type = OPTION_TEXT, PLACE(partitions)},
    {.name = "reservation", .letter = 'T', .help = "reservations: use 'kctl reservations'",
     .type = OPTION_FLAG, PLACE(of_reservations)},
    {.name = "responding", .letter = 'r', .help = "only nodes that respond",
     .type = OPTION_FLAG, PLACE(is_responding)},
    {.name = "sort", .letter = 'S', .argument = "LIST",
     .help = "the order, as letters of --format: P,-t", .type = OPTION_TEXT, PLACE(sort)},
    {.name = "states", .letter = 't', .argument = "LIST", .help = "only nodes in these states",
     .type = OPTION_TEXT, PLACE(states)},
    {.name = "summarize", .letter = 's', .help = "a line for each partition",
     .type = OPTION_FLAG, PLACE(is_summary)},
    {.name = "verbose", .letter = 'v', .help = "no effect", .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "yaml", .help = "show the nodes as YAML", .type = OPTION_FLAG, PLACE(is_yaml)},
};
/* clang-format on */

static const struct option_table table = {
    .name = "sinfo",
    .usage = "[OPTION]...",
    .summary = "Show partitions and the states of their nodes.",
    OPTION_ROWS(rows),
};

struct sinfo {
    struct slurm_client *client;
    struct sinfo_options o;
    struct arena *arena;      /* of one output */
    struct json *partitions;  /* objects */
    const struct json *nodes; /* of /kiln/v1/nodes */
    struct map *objects;      /* Nodes by name; NULL: not needed */
    struct output_format format;
    struct node_group **groups;
    size_t count, capacity;
    struct map *by_key;
};

/* ---- Input ---- */

static int
fetch(struct sinfo *s, bool needs_objects, struct error *err)
{
    const struct target_object partitions = {.kind = &partition_kind};
    const struct target_object nodes = {.kind = &node_kind};
    struct json *answer = NULL, *list = NULL;
    int r = kctl_list(&s->client->kctl, &partitions, NULL, NULL, s->arena, &s->partitions, err);

    if (r == 0)
        r = kctl_ask(&s->client->kctl, "/kiln/v1/nodes", s->arena, &answer, err);
    s->nodes = json_get(answer, "nodes");
    if (r < 0 || !needs_objects)
        return r;
    r = kctl_list(&s->client->kctl, &nodes, NULL, NULL, s->arena, &list, err);
    s->objects = map_new();
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = json_path_text(json_at(list, i), "metadata.name");

        if (name != NULL)
            (void)map_put(s->objects, name, json_at(list, i));
    }
    return r;
}

/* ---- Selection ---- */

static bool
is_all(const char *word, size_t length)
{
    return length == 3 && strncasecmp(word, "all", length) == 0;
}

static bool
check_states(const struct sinfo *s)
{
    for (const char *at = s->o.states; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",&");

        if (length > 0 && !is_all(at, length) && !node_state_exists(at, length)) {
            slurm_client_error(s->client, "Bad state string: \"%.*s\"", (int)length, at);
            slurm_client_error(s->client,
                               "valid states: unknown,down,idle,allocated,mixed,future,drain,"
                               "drained,draining,no_respond,reserved,perfctrs,cloud,completing,"
                               "powering_down,powered_down,power_down,powering_up,fail,maint,"
                               "reboot");
            return false;
        }
        at += length + (at[length] != '\0');
    }
    return true;
}

/* "idle&drain" is both. */
static bool
has_all_states(const struct node_state *state, const char *at, size_t length)
{
    const char *end = at + length;

    while (at < end) {
        const char *mark = memchr(at, '&', (size_t)(end - at));
        const size_t part = (size_t)((mark != NULL ? mark : end) - at);

        if (!is_all(at, part) && !node_state_is(state, at, part))
            return false;
        at += part + (mark != NULL);
    }
    return length > 0;
}

static bool
has_state(const struct sinfo *s, const struct node_state *state)
{
    if (s->o.is_dead && state->is_responding)
        return false;
    if (s->o.is_responding && !state->is_responding)
        return false;
    if (s->o.lists_reasons && state->is_open)
        return false;
    if (s->o.states == NULL)
        return true;
    for (const char *at = s->o.states; *at != '\0';) {
        const size_t length = strcspn(at, ",");

        if (has_all_states(state, at, length))
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

/* ---- Groups ---- */

static bool
has_partition_field(const struct sinfo *s)
{
    for (size_t i = 0; i < s->format.count; i++) {
        const char letter = s->format.fields[i].column->letter;

        if (letter != 0 && strchr("PRalLsghMpIrBS", letter) != NULL)
            return true;
    }
    return s->o.is_summary;
}

/* A group of the nodes that have the same text in the fields that separate. */
static struct node_group *
find_group(struct sinfo *s, const struct node_group *like)
{
    CLEANUP_STRBUF struct strbuf key = STRBUF_INIT;
    struct node_group *group;

    for (size_t i = 0; i < s->format.count; i++) {
        const struct output_column *column = s->format.fields[i].column;

        if (!node_fields_separates(column, s->o.is_exact))
            continue;
        column->add(like, &key);
        strbuf_add_char(&key, '\n');
    }
    if (s->o.by_node)
        strbuf_add_text(&key, like->node != NULL ? json_get_text(like->node, "name") : "");
    group = map_find(s->by_key, key.text);
    if (group != NULL)
        return group;
    group = xnew(struct node_group);
    *group = *like;
    (void)map_put(s->by_key, key.text, group);
    xgrow(s->groups, s->count, s->capacity);
    s->groups[s->count++] = group;
    return group;
}

static void
add_pair(struct sinfo *s, const struct json *node, const struct json *partition, size_t place)
{
    const char *name = json_get_text(node, "name");
    const struct node_group like = {
        .partition = partition,
        .place = place,
        .is_default = json_is_true(json_get_path(partition, "spec.isDefault")),
        .node = node,
        .state = node_state_of(node),
        .object = s->objects != NULL && name != NULL ? map_find(s->objects, name) : NULL,
    };

    node_group_add(find_group(s, &like), node);
}

static bool
is_in(const struct json *node, const char *partition)
{
    const char *list = json_get_text(node, "partition");

    return list != NULL && name_list_has(list, partition);
}

static bool
is_node_chosen(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return names == NULL;
}

/* A partition of which no node is shown has a line that says so. */
static void
add_empty(struct sinfo *s, const bool *is_shown)
{
    for (uint32_t p = 0; p < json_count(s->partitions); p++) {
        const struct json *partition = json_at(s->partitions, p);
        const char *name = json_path_text(partition, "metadata.name");
        const struct node_group like = {
            .partition = partition,
            .place = p,
            .is_default = json_is_true(json_get_path(partition, "spec.isDefault")),
        };

        if (!is_shown[p] && name != NULL && name_list_has(s->o.partitions, name))
            (void)find_group(s, &like);
    }
}

static int
collect(struct sinfo *s, struct error *err)
{
    bool *is_shown = arena_new_array(s->arena, bool, json_count(s->partitions) + 1);
    const char **names = NULL;
    size_t n_names = 0;
    int r = s->o.nodes != NULL ? hostlist_expand(s->arena, s->o.nodes, &names, &n_names, err) : 0;

    for (uint32_t i = 0; r == 0 && i < json_count(s->nodes); i++) {
        const struct json *node = json_at(s->nodes, i);
        const char *own = json_get_text(node, "name");

        if (own == NULL || !is_node_chosen(own, names, n_names)
            || !has_state(s, node_state_of(node)))
            continue;
        for (uint32_t p = 0; p < json_count(s->partitions); p++) {
            const struct json *partition = json_at(s->partitions, p);
            const char *name = json_path_text(partition, "metadata.name");

            if (name == NULL || !is_in(node, name) || !name_list_has(s->o.partitions, name))
                continue;
            is_shown[p] = true;
            add_pair(s, node, partition, p);
        }
    }
    if (r == 0 && has_partition_field(s) && !s->o.by_node && !s->o.lists_reasons)
        add_empty(s, is_shown);
    return r;
}

/* ---- Order ---- */

static const char *order; /* of -S, for qsort */

static int
compare_field(char letter, const struct node_group *a, const struct node_group *b)
{
    const struct output_column *column = field_format_letter(&node_fields, letter);
    CLEANUP_STRBUF struct strbuf x = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf y = STRBUF_INIT;
    int64_t m, n;
    char *end_m, *end_n;

    if (letter == 'P')
        return (a->place > b->place) - (a->place < b->place);
    if (letter == 't' || letter == 'T') {
        m = a->state != NULL ? (int64_t)a->state->order : -1;
        n = b->state != NULL ? (int64_t)b->state->order : -1;
        return (m > n) - (m < n);
    }
    if (column == NULL)
        return 0;
    column->add(a, &x);
    column->add(b, &y);
    m = strtoll(x.text, &end_m, 10);
    n = strtoll(y.text, &end_n, 10);
    if (end_m != x.text && end_n != y.text && m != n)
        return m < n ? -1 : 1;
    if (letter == 'N' || letter == 'n') {
        const char *first = a->n_names > 0 ? a->names[0] : "";
        const char *second = b->n_names > 0 ? b->names[0] : "";

        return hostlist_compare(&first, &second);
    }
    return strcmp(x.text, y.text);
}

static int
compare(const void *a, const void *b)
{
    const struct node_group *x = *(struct node_group *const *)a;
    const struct node_group *y = *(struct node_group *const *)b;
    int sign = 1;

    for (const char *at = order; *at != '\0'; at++) {
        int r;

        if (strchr(",#+-", *at) != NULL) {
            sign = *at == '-' ? -1 : *at == ',' ? 1 : sign;
            continue;
        }
        r = compare_field(*at, x, y);
        if (r != 0)
            return sign * r;
        sign = 1;
    }
    return compare_field('N', x, y);
}

/* ---- Output ---- */

static void
print_tree(struct sinfo *s)
{
    struct json *nodes = json_array(s->arena);

    for (uint32_t i = 0; i < json_count(s->nodes); i++) {
        const struct json *node = json_at(s->nodes, i);
        const char *name = json_get_text(node, "name");
        struct node_group group = {
            .object = name != NULL ? map_find(s->objects, name) : NULL,
        };

        node_group_add(&group, node);
        json_append(s->arena, nodes, node_fields_json(&group, s->arena));
        node_group_fini(&group);
    }
    slurm_json_print(s->arena, "nodes", nodes, s->o.is_yaml);
}

/* Columns that are as wide as their longest name, "%#P". */
static void
fit_widths(struct sinfo *s)
{
    for (size_t i = 0; i < s->format.count; i++) {
        struct output_field *field = &s->format.fields[i];
        unsigned width = 9;

        if (field->suffix[0] != '#')
            continue;
        field->suffix++;
        for (size_t g = 0; g < s->count; g++) {
            CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

            field->column->add(s->groups[g], &text);
            if (text.length > width)
                width = (unsigned)text.length;
        }
        field->width = width;
    }
}

static void
print_groups(struct sinfo *s)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    order = s->o.sort != NULL    ? s->o.sort
            : s->o.lists_reasons ? "H,N"
            : s->o.by_node       ? "N,P"
                                 : "P,-t";
    if (s->count > 1)
        qsort(s->groups, s->count, sizeof(*s->groups), compare);
    fit_widths(s);
    if (s->o.clusters != NULL && !s->o.no_heading)
        printf("CLUSTER: %s\n", slurm_cluster_name());
    if ((s->o.is_long || s->o.interval_s > 0) && !s->o.no_heading)
        slurm_time_print_date();
    if (!s->o.no_heading)
        field_format_add_line(&s->format, NULL, &out);
    for (size_t i = 0; i < s->count; i++)
        field_format_add_line(&s->format, s->groups[i], &out);
    fwrite(out.text, 1, out.length, stdout);
}

/* ---- Run ---- */

/* "%#P" of the usual formats becomes "%P" with "#" behind it, for fit_widths. */
static const char *
usual_format(const struct sinfo_options *o, struct arena *arena)
{
    const char *format = o->is_summary      ? SUMMARY_FORMAT
                         : o->by_node       ? o->is_long ? NODE_LONG_FORMAT : NODE_FORMAT
                         : o->lists_reasons ? o->is_long ? REASON_LONG : REASON_FORMAT
                         : o->is_long       ? LONG_FORMAT
                                            : USUAL_FORMAT;
    char *text = arena_strdup(arena, format);

    for (char *at = text; *at != '\0'; at++)
        if (at[0] == '#') {
            at[0] = at[1];
            at[1] = '#';
            at++;
        }
    return text;
}

static void
parse_format(struct sinfo *s)
{
    const char *of_environment = getenv("SINFO_FORMAT");
    const struct sinfo_options *o = &s->o;
    const bool is_usual = o->is_summary || o->by_node || o->lists_reasons;

    if (o->format.names != NULL)
        s->format = field_format_of_names(s->arena, &node_fields, o->format.names);
    else
        s->format = field_format_of_letters(s->arena, &node_fields,
                                            o->format.letters != NULL ? o->format.letters
                                            : of_environment != NULL && !is_usual
                                                ? of_environment
                                                : usual_format(o, s->arena));
    for (size_t i = 0; i < s->format.n_unknown; i++)
        if (o->format.names != NULL)
            slurm_client_error(s->client, "Invalid job format specification: %s",
                               s->format.unknown[i]);
        else
            fprintf(stderr, "Invalid node format specification: %s\n", s->format.unknown[i]);
}

static int
show(struct sinfo *s)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const bool is_tree = s->o.is_json || s->o.is_yaml;
    bool needs_objects = is_tree;
    struct error err = {0};
    int r;

    s->arena = arena;
    s->by_key = map_new();
    parse_format(s);
    for (size_t i = 0; i < s->format.count; i++)
        needs_objects = needs_objects || node_fields_needs_object(s->format.fields[i].column);
    r = fetch(s, needs_objects, &err);
    if (r == 0 && !is_tree)
        r = collect(s, &err);
    if (r == 0 && is_tree)
        print_tree(s);
    else if (r == 0)
        print_groups(s);
    else {
        fflush(stdout);
        fprintf(stderr, "slurm_load_partitions: %s\n", slurm_client_reason(r, &err));
    }
    for (size_t i = 0; i < s->count; i++) {
        node_group_fini(s->groups[i]);
        free(s->groups[i]);
    }
    free(s->groups);
    map_free(s->by_key);
    map_free(s->objects);
    *s = (struct sinfo){.client = s->client, .o = s->o};
    return r < 0 ? 1 : slurm_client_end(s->client);
}

static int
sinfo_run(struct slurm_client *client, int argc, char **argv)
{
    struct sinfo s = {.client = client};
    const int at = slurm_client_options(client, &table, argc, argv, &s.o);
    int status;

    if (at < argc) {
        slurm_client_error(client, "Unrecognized option: %s", argv[at]);
        return 1;
    }
    if (s.o.partitions == NULL)
        s.o.partitions = getenv("SINFO_PARTITION");
    if (s.o.sort == NULL)
        s.o.sort = getenv("SINFO_SORT");
    if (!slurm_cluster_is_this(client, s.o.clusters) || !check_states(&s))
        return 1;
    if (s.o.of_reservations)
        return print_reservations(client, !s.o.no_heading);
    status = show(&s);
    while (status == 0 && s.o.interval_s > 0) {
        printf("\n");
        fflush(stdout);
        sleep((unsigned)s.o.interval_s);
        status = show(&s);
    }
    return status;
}

const struct slurm_command sinfo_slurm_command = {
    .name = "sinfo",
    .summary = "show partitions and the states of their nodes",
    .run = sinfo_run,
};
