/* SPDX-License-Identifier: Apache-2.0 */
/* kctl label, kctl annotate - change labels and annotations of objects */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct label_options {
    struct common_options common;
    const char *label_selector;
    bool all;
    bool lists;
    bool overwrites;
};

#define PLACE(member) .offset = offsetof(struct label_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all",
     .help = "all objects of the type in the namespace",
     .type = OPTION_FLAG,
     PLACE(all)},
    {.name = "list", .help = "show the present ones", .type = OPTION_FLAG, PLACE(lists)},
    {.name = "overwrite",
     .help = "change it even if it has another value",
     .type = OPTION_FLAG,
     PLACE(overwrites)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only objects with these labels",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
};

static const struct option_table label_table = {
    .name = "kctl label",
    .usage = "[OPTION]... TYPE NAME... KEY=VALUE... [KEY-]...",
    .summary = "Put labels on objects, or remove them (KEY-).",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl label node n7 kiln.hpc/partition=long\n"
            "  kctl label nodes -l rack=3 feature.kiln.hpc/ib-",
};
static const struct option_table annotate_table = {
    .name = "kctl annotate",
    .usage = "[OPTION]... TYPE NAME... KEY=VALUE... [KEY-]...",
    .summary = "Put annotations on objects, or remove them (KEY-).",
    OPTION_ROWS(rows),
    .more = "Example: kctl annotate node n7 note='fan replaced in May'",
};

static bool
is_change(const char *operand)
{
    const size_t length = strlen(operand);

    return strchr(operand, '=') != NULL || (length > 1 && operand[length - 1] == '-');
}

/* The index of the first operand that is a change. */
static int
split(int n_operands, char **operands, struct error *err)
{
    int at = 0;

    while (at < n_operands && !is_change(operands[at]))
        at++;
    if (at == n_operands)
        return error_set(err, -EINVAL, "nothing to change: give KEY=VALUE or KEY-");
    for (int i = at; i < n_operands; i++)
        if (!is_change(operands[i]) || operands[i][0] == '=')
            return error_set(err, -EINVAL, "'%s' is neither KEY=VALUE nor KEY-", operands[i]);
    return at;
}

struct label_change {
    const char *field; /* "labels" */
    bool overwrites;
    char **changes;
    int n_changes;
};

/* Adds one change to the map of the patch. */
static int
add_change(struct arena *arena, struct json *map, const struct json *current, const char *text,
           bool overwrites, struct error *err)
{
    const char *equals = strchr(text, '=');
    const char *key;
    const char *old;

    if (equals == NULL) {
        key = arena_strndup(arena, text, strlen(text) - 1);
        if (json_get(current, key) != NULL)
            json_set(arena, map, key, json_null(arena));
        return 0;
    }
    key = arena_strndup(arena, text, (size_t)(equals - text));
    old = json_get_text(current, key);
    if (old != NULL && strcmp(old, equals + 1) != 0 && !overwrites)
        return error_set(err, -EEXIST,
                         "'%s' already has the value '%s'; --overwrite "
                         "changes it",
                         key, old);
    if (old == NULL || strcmp(old, equals + 1) != 0)
        json_set_string(arena, map, key, equals + 1);
    return 0;
}

static const char *
done_by(const struct label_change *c)
{
    bool is_label = c->field[0] == 'l';

    for (int i = 0; i < c->n_changes; i++)
        if (strchr(c->changes[i], '=') != NULL)
            return is_label ? "labeled" : "annotated";
    return is_label ? "unlabeled" : "unannotated";
}

static int
change(struct kctl *kctl, const struct target_object *target, const struct label_change *c,
       struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *object = NULL;
    struct json *patch = json_object(arena);
    struct json *map;
    const struct json *current;
    int r = kctl_get(kctl, target, arena, &object, err);

    if (r < 0)
        return r;
    current = json_get(json_get(object, "metadata"), c->field);
    map = json_make_object(arena, json_make_object(arena, patch, "metadata"), c->field);
    for (int i = 0; r == 0 && i < c->n_changes; i++)
        r = add_change(arena, map, current, c->changes[i], c->overwrites, err);
    if (r < 0)
        return error_wrap(err, r, "%s", kctl_label(target, arena));
    if (json_count(map) == 0) {
        printf("%s unchanged\n", kctl_label(target, arena));
        return 0;
    }
    r = kctl_patch(kctl, target, patch, arena, NULL, err);
    if (r == 0)
        printf("%s %s\n", kctl_label(target, arena), done_by(c));
    return r;
}

static int
list(struct kctl *kctl, const struct target_object *target, const char *field, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *object = NULL;
    const struct json *map;
    int r = kctl_get(kctl, target, arena, &object, err);

    if (r < 0)
        return r;
    map = json_get(json_get(object, "metadata"), field);
    printf("%s:\n", kctl_label(target, arena));
    for (uint32_t i = 0; i < json_count(map); i++)
        printf("  %s=%s\n", map->members[i].name, json_get_text(map, map->members[i].name));
    return 0;
}

static int
change_all(struct kctl *kctl, const struct label_options *o, const char *field, int n_operands,
           char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct named_resources resources;
    struct label_change c = {.field = field, .overwrites = o->overwrites};
    int at;

    kctl->for_tasks = "tasks have no labels and annotations of their own; "
                      "give only the number of the array, as in 'kctl label "
                      "job 1042 KEY=VALUE'";
    at = o->lists ? n_operands : split(n_operands, operands, err);
    int r;

    if (at < 0)
        return at;
    c.changes = operands + at;
    c.n_changes = n_operands - at;
    r = resource_select(kctl, NULL, at, operands, o->label_selector, o->all, arena, &resources,
                        err);
    for (size_t i = 0; r == 0 && i < resources.count; i++)
        r = o->lists ? list(kctl, &resources.items[i], field, err)
                     : change(kctl, &resources.items[i], &c, err);
    return r;
}

static int
label_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    return change_all(kctl, options, "labels", n_operands, operands, err);
}

static int
annotate_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
             struct error *err)
{
    return change_all(kctl, options, "annotations", n_operands, operands, err);
}

const struct command label_command = {
    .name = "label",
    .options = &label_table,
    .options_size = sizeof(struct label_options),
    .run = label_run,
};

const struct command annotate_command = {
    .name = "annotate",
    .options = &annotate_table,
    .options_size = sizeof(struct label_options),
    .run = annotate_run,
};
