/* SPDX-License-Identifier: Apache-2.0 */
/* kctl taint, fence, unfence - keep pods off a node, or declare that the node
 * is certainly dead
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define ATTEMPTS 5

struct taint_options {
    struct common_options common;
    const char *label_selector;
    bool all;
    bool overwrites;
    bool is_sure;
};

#define PLACE(member) .offset = offsetof(struct taint_options, member)

static const struct option_spec taint_rows[] = {
    COMMON_OPTIONS,
    {.name = "all", .help = "all nodes", .type = OPTION_FLAG, PLACE(all)},
    {.name = "overwrite",
     .help = "change the taint even if it has another value",
     .type = OPTION_FLAG,
     PLACE(overwrites)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only nodes with these labels",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
};
static const struct option_table taint_table = {
    .name = "kctl taint",
    .usage = "[OPTION]... NODE... KEY[=VALUE]:EFFECT... [KEY[:EFFECT]-]...",
    .summary = "Keep pods that do not tolerate a taint off nodes, or remove "
               "the taint (KEY-). Effects: NoSchedule, PreferNoSchedule, "
               "NoExecute.",
    OPTION_ROWS(taint_rows),
    .more = "Examples:\n"
            "  kctl taint n7 dedicated=physics:NoSchedule\n"
            "  kctl taint n7 dedicated-",
};

static const struct option_spec fence_rows[] = {
    COMMON_OPTIONS,
    {.name = "yes",
     .help = "confirm that nothing runs there any more",
     .type = OPTION_FLAG,
     PLACE(is_sure)},
};
static const struct option_table fence_table = {
    .name = "kctl fence",
    .usage = "--yes NODE...",
    .summary = "Give up the pods of nodes that are dead; jobs that ask for it "
               "start again elsewhere.",
    OPTION_ROWS(fence_rows),
    .more = "A job that still runs on a node which is only cut off would then "
            "run twice:\n"
            "switch the node off first. 'kctl unfence' removes the fence when "
            "the node works again.",
};

static const struct option_spec unfence_rows[] = {COMMON_OPTIONS};
static const struct option_table unfence_table = {
    .name = "kctl unfence",
    .usage = "NODE...",
    .summary = "Remove the fence of nodes; they may have pods again.",
    OPTION_ROWS(unfence_rows),
};

struct taint_change {
    const char *key;
    const char *value;  /* "" if none */
    const char *effect; /* NULL in a removal: any */
    bool removes;
};

static bool
is_effect(const char *text)
{
    return strcmp(text, "NoSchedule") == 0 || strcmp(text, "PreferNoSchedule") == 0
           || strcmp(text, "NoExecute") == 0;
}

static bool
is_change(const char *text)
{
    const size_t length = strlen(text);

    return strchr(text, ':') != NULL || strchr(text, '=') != NULL
           || (length > 1 && text[length - 1] == '-');
}

/* Parses "KEY=VALUE:EFFECT", "KEY:EFFECT", "KEY-", "KEY:EFFECT-". */
static int
parse_change(struct arena *arena, const char *text, struct taint_change *ret_change,
             struct error *err)
{
    char *copy = arena_strdup(arena, text);
    const size_t length = strlen(copy);
    struct taint_change c = {.key = copy, .value = ""};
    char *colon;
    char *equals;

    if (copy[length - 1] == '-') {
        c.removes = true;
        copy[length - 1] = '\0';
    }
    colon = strchr(copy, ':');
    if (colon != NULL) {
        *colon = '\0';
        c.effect = colon + 1;
    }
    equals = strchr(copy, '=');
    if (equals != NULL) {
        *equals = '\0';
        c.value = equals + 1;
    }
    if (c.key[0] == '\0' || (c.effect == NULL && !c.removes)
        || (c.effect != NULL && !is_effect(c.effect)))
        return error_set(err, -EINVAL,
                         "'%s' is neither KEY[=VALUE]:EFFECT with one of the "
                         "effects NoSchedule, PreferNoSchedule and NoExecute, "
                         "nor KEY[:EFFECT]-",
                         text);
    *ret_change = c;
    return 0;
}

static bool
fits(const struct json *taint, const struct taint_change *c)
{
    const char *key = json_get_text(taint, "key");
    const char *effect = json_get_text(taint, "effect");

    return key != NULL && strcmp(key, c->key) == 0
           && (c->effect == NULL || (effect != NULL && strcmp(effect, c->effect) == 0));
}

static int
change_list(struct arena *arena, struct json *taints, const struct taint_change *c, bool overwrites,
            struct error *err)
{
    bool found = false;
    struct json *taint;

    for (uint32_t i = json_count(taints); i-- > 0;) {
        const char *value = json_get_text(json_at(taints, i), "value");

        if (!fits(json_at(taints, i), c))
            continue;
        found = true;
        if (!c->removes && !overwrites && strcmp(value != NULL ? value : "", c->value) != 0)
            return error_set(err, -EEXIST,
                             "the node already has the taint '%s:%s'; "
                             "--overwrite changes it",
                             c->key, c->effect);
        json_remove_at(taints, i);
    }
    if (c->removes)
        return found ? 0 : error_set(err, -ENOENT, "the node does not have the taint '%s'", c->key);
    taint = json_object(arena);
    json_set_string(arena, taint, "key", c->key);
    if (c->value[0] != '\0')
        json_set_string(arena, taint, "value", c->value);
    json_set_string(arena, taint, "effect", c->effect);
    json_append(arena, taints, taint);
    return 0;
}

/* A patch replaces the whole list, so it contains the version that was read. */
static int
try_change(struct kctl *kctl, const struct target_object *node, const struct taint_change *changes,
           size_t n_changes, bool overwrites, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *object = NULL;
    struct json *patch = json_object(arena);
    struct json *taints;
    int r = kctl_get(kctl, node, arena, &object, err);

    if (r < 0)
        return r;
    taints = json_get_path(object, "spec.taints");
    if (!json_is(taints, JSON_ARRAY))
        taints = json_array(arena);
    for (size_t i = 0; i < n_changes; i++) {
        r = change_list(arena, taints, &changes[i], overwrites, err);
        if (r < 0)
            return error_wrap(err, r, "%s", kctl_label(node, arena));
    }
    json_set_string(arena, json_make_object(arena, patch, "metadata"), "resourceVersion",
                    json_path_text(object, "metadata.resourceVersion"));
    json_set(arena, json_make_object(arena, patch, "spec"), "taints", taints);
    return kctl_patch(kctl, node, patch, arena, NULL, err);
}

static int
change_node(struct kctl *kctl, const struct target_object *node, const struct taint_change *changes,
            size_t n_changes, bool overwrites, const char *done, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    int r = -ESTALE;

    for (int i = 0; i < ATTEMPTS && r == -ESTALE; i++)
        r = try_change(kctl, node, changes, n_changes, overwrites, err);
    if (r == 0)
        printf("%s %s\n", kctl_label(node, arena), done);
    return r;
}

static int
taint_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct taint_options *o = options;
    struct taint_change *changes = arena_new_array(arena, struct taint_change, n_operands + 1);
    struct named_resources nodes;
    bool adds = false;
    int at = 0;
    int r = 0;

    while (at < n_operands && !is_change(operands[at]))
        at++;
    if (at == n_operands)
        return error_set(err, -EINVAL, "which taint? KEY[=VALUE]:EFFECT, or KEY-");
    for (int i = at; i < n_operands && r == 0; i++)
        r = parse_change(arena, operands[i], &changes[i - at], err);
    for (int i = 0; i < n_operands - at && r == 0; i++)
        adds = adds || !changes[i].removes;
    if (r == 0)
        r = resource_select(kctl, &node_kind, at, operands, o->label_selector, o->all, arena,
                            &nodes, err);
    for (size_t i = 0; r == 0 && i < nodes.count; i++)
        r = change_node(kctl, &nodes.items[i], changes, (size_t)(n_operands - at), o->overwrites,
                        adds ? "tainted" : "untainted", err);
    return r;
}

static int
change_fence(struct kctl *kctl, int n_operands, char **operands, const struct taint_change *c,
             const char *done, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct named_resources nodes;
    int r = resource_parse(kctl, &node_kind, n_operands, operands, arena, &nodes, err);

    for (size_t i = 0; r == 0 && i < nodes.count; i++)
        r = change_node(kctl, &nodes.items[i], c, 1, true, done, err);
    return r;
}

static int
fence_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    const struct taint_options *o = options;
    const struct taint_change c = {
        .key = TAINT_OUT_OF_SERVICE, .value = "fenced", .effect = "NoExecute"};

    if (!o->is_sure)
        return error_set(err, -EINVAL,
                         "a job that still runs there would run twice; "
                         "switch the node off, then give --yes");
    return change_fence(kctl, n_operands, operands, &c, "fenced", err);
}

static int
unfence_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    const struct taint_change c = {.key = TAINT_OUT_OF_SERVICE, .removes = true};

    (void)options;
    return change_fence(kctl, n_operands, operands, &c, "unfenced", err);
}

const struct command taint_command = {
    .name = "taint",
    .options = &taint_table,
    .options_size = sizeof(struct taint_options),
    .run = taint_run,
};

const struct command fence_command = {
    .name = "fence",
    .options = &fence_table,
    .options_size = sizeof(struct taint_options),
    .run = fence_run,
};

const struct command unfence_command = {
    .name = "unfence",
    .options = &unfence_table,
    .options_size = sizeof(struct common_options),
    .run = unfence_run,
};
