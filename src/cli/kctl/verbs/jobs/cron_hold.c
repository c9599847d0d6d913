/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/cron_hold.h"

#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

/* The name after "cronjob/", or NULL. */
static const char *
name_of(const char *operand, struct arena *arena)
{
    const char *slash = strchr(operand, '/');

    if (slash == NULL
        || kind_find_any_name(arena_strndup(arena, operand, (size_t)(slash - operand)))
               != &cron_job_kind)
        return NULL;
    return slash + 1;
}

size_t
cron_hold_take(int *n_operands, char **operands, struct arena *arena, const char ***ret_names)
{
    const bool are_all = *n_operands > 1 && kind_find_any_name(operands[0]) == &cron_job_kind;
    const char **names = arena_new_array(arena, const char *, (size_t)*n_operands + 1);
    size_t count = 0;
    int n_rest = 0;

    for (int i = are_all; i < *n_operands; i++) {
        const char *name = name_of(operands[i], arena);

        if (name != NULL || are_all)
            names[count++] = name != NULL ? name : operands[i];
        else
            operands[n_rest++] = operands[i];
    }
    *n_operands = n_rest;
    *ret_names = names;
    return count;
}

static int
change(struct kctl *kctl, const char *name, bool holds, struct arena *arena, struct error *err)
{
    const struct target_object object = {
        .kind = &cron_job_kind,
        .namespace = kctl_namespace(kctl),
        .name = name,
    };
    struct json *patch = json_object(arena);
    struct json *found = NULL;
    int r = kctl_get(kctl, &object, arena, &found, err);

    if (r < 0)
        return r;
    if (json_is_true(json_get_path(found, "spec.suspend")) == holds) {
        printf("%s is %s already\n", kctl_label(&object, arena), holds ? "held" : "released");
        return 0;
    }
    json_set_bool(arena, json_make_object(arena, patch, "spec"), "suspend", holds);
    r = kctl_patch(kctl, &object, patch, arena, &found, err);
    if (r == 0)
        printf("%s %s\n", kctl_label(&object, arena), holds ? "held" : "released");
    return r;
}

int
cron_hold_run(struct kctl *kctl, const char *const *names, size_t count, bool holds,
              struct arena *arena, struct error *err)
{
    int result = kctl_open(kctl, err);

    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        struct error why = {0};
        int r = change(kctl, names[i], holds, arena, &why);

        if (r < 0 && result == 0)
            result = error_set(err, r, "%s", why.text);
        else if (r < 0)
            fprintf(stderr, "kctl: %s\n", why.text);
    }
    return result;
}
