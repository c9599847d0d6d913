/* SPDX-License-Identifier: Apache-2.0 */
/* The pods of an array differ only in what names an element. So one pod takes the whole way
 * through defaults, admission and validation, and the others are copied from the result: a
 * million times the same checks would have the same outcome (decision 250). The members that
 * may differ are lists here; a template in which anything else depends on the element is not
 * copied.
 */
#include "controller/apiserver/objects/element_copy.h"

#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/json/json.h"

static const char *const own_annotations[] = {
    ANNOTATION_ARRAY_TASK,     ANNOTATION_ATTEMPT,       ANNOTATION_INDEX,
    ANNOTATION_INDEX_FAILURES, ANNOTATION_INDEX_IGNORED,
};

static const char *const own_variables[] = {
    "KILN_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_ID",
};

static const char *const own_paths[] = {"stdinPath", "stdoutPath", "stderrPath"};

/* ---- Differences ---- */

static struct json *
container_of_pod(const struct json *pod)
{
    return json_at(json_get_path(pod, "spec.containers"), 0);
}

static struct json *
find_variable(const struct json *pod, const char *name)
{
    const struct json *variables = json_get(container_of_pod(pod), "env");

    for (uint32_t i = 0; i < json_count(variables); i++) {
        const char *is = json_get_text(json_at(variables, i), "name");

        if (is != NULL && strcmp(is, name) == 0)
            return json_at(variables, i);
    }
    return NULL;
}

/* Whether the new text needs no check where the other one was checked. */
static bool
may_replace(const char *text, const char *checked)
{
    return text == NULL || checked == NULL ? text == checked : strlen(text) <= strlen(checked);
}

static bool
may_replace_member(const struct json *with, const struct json *checked, const char *name)
{
    return may_replace(json_get_text(with, name), json_get_text(checked, name));
}

bool
element_copy_is_possible(const struct json *pod, const struct json *asked, const struct json *made)
{
    const struct json *files = json_get_path(pod, "spec.execution");

    if (!may_replace_member(json_get(pod, "metadata"), json_get(asked, "metadata"), "name"))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(own_annotations); i++)
        if (!may_replace_member(json_get_path(pod, "metadata.annotations"),
                                json_get_path(asked, "metadata.annotations"), own_annotations[i]))
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(own_variables); i++)
        if (!may_replace_member(find_variable(pod, own_variables[i]),
                                find_variable(made, own_variables[i]), "value"))
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(own_paths); i++)
        if (!may_replace_member(files, json_get_path(made, "spec.execution"), own_paths[i]))
            return false;
    return true;
}

/* ---- A copy ---- */

/* Replaces the member by a copy that may be changed; its own members are
 * shared.
 */
static struct json *
open_member(struct arena *arena, struct json *tree, const char *name)
{
    struct json *part = json_get(tree, name);

    if (part == NULL)
        return NULL;
    part = json_copy(arena, part);
    json_set(arena, tree, name, part);
    return part;
}

static void
take_text(struct arena *arena, struct json *into, const struct json *from, const char *name)
{
    struct json *value = json_get(from, name);

    if (into != NULL && value != NULL)
        json_set(arena, into, name, value);
}

static void
copy_meta(struct arena *arena, struct json *copy, const struct json *pod)
{
    const struct json *from = json_get(pod, "metadata");
    struct json *meta = open_member(arena, copy, "metadata");
    struct json *annotations = open_member(arena, meta, "annotations");
    char uid[UUID_SIZE];

    random_uuid(uid);
    json_set_string(arena, meta, "uid", uid);
    take_text(arena, meta, from, "name");
    take_text(arena, open_member(arena, meta, "labels"), json_get(from, "labels"),
              ANNOTATION_INDEX);
    for (size_t i = 0; i < ARRAY_SIZE(own_annotations); i++)
        take_text(arena, annotations, json_get(from, "annotations"), own_annotations[i]);
}

static bool
is_own_variable(const struct json *variable)
{
    const char *name = json_get_text(variable, "name");

    for (size_t i = 0; name != NULL && i < ARRAY_SIZE(own_variables); i++)
        if (strcmp(name, own_variables[i]) == 0)
            return true;
    return false;
}

static void
copy_variables(struct arena *arena, struct json *container, const struct json *pod)
{
    struct json *variables = open_member(arena, container, "env");

    for (uint32_t i = 0; i < json_count(variables); i++) {
        struct json *variable = json_at(variables, i);

        if (!is_own_variable(variable))
            continue;
        variable = json_copy(arena, variable);
        take_text(arena, variable, find_variable(pod, json_get_text(variable, "name")), "value");
        variables->items[i] = variable;
    }
}

static void
copy_spec(struct arena *arena, struct json *copy, const struct json *pod)
{
    struct json *spec = open_member(arena, copy, "spec");
    struct json *containers = open_member(arena, spec, "containers");
    struct json *files = open_member(arena, spec, "execution");

    if (json_count(containers) > 0) {
        containers->items[0] = json_copy(arena, json_at(containers, 0));
        copy_variables(arena, json_at(containers, 0), pod);
    }
    for (size_t i = 0; i < ARRAY_SIZE(own_paths); i++)
        take_text(arena, files, json_get_path(pod, "spec.execution"), own_paths[i]);
}

struct json *
element_copy_make(struct arena *arena, const struct json *made, const struct json *pod)
{
    struct json *copy = json_copy(arena, made);

    copy_meta(arena, copy, pod);
    copy_spec(arena, copy, pod);
    return copy;
}
