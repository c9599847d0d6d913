/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/account_list.h"

#include <stdbool.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static void
add(struct strbuf *out, const char *name)
{
    strbuf_printf(out, "%s%s", out->length > 0 ? "," : "", name);
}

static const char *
expand(struct kctl *kctl, const char *list, bool with_spelling, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    char *rest = NULL;

    if (list == NULL)
        return NULL;
    for (char *name = strtok_r(arena_strdup(arena, list), ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        const struct target_object object = {.kind = &namespace_kind, .name = name};
        struct json *found = NULL;
        const char *spelling;

        if (kctl_get(kctl, &object, arena, &found, NULL) < 0) {
            add(&out, name);
            continue;
        }
        add(&out, json_path_text(found, "metadata.name"));
        spelling = json_get_text(json_get_path(found, "metadata.annotations"), ANNOTATION_ACCOUNT);
        if (with_spelling && spelling != NULL)
            add(&out, spelling);
    }
    return out.length > 0 ? arena_strdup(arena, out.text) : list;
}

const char *
account_list_namespaces(struct kctl *kctl, const char *list, struct arena *arena)
{
    return expand(kctl, list, false, arena);
}

const char *
account_list_names(struct kctl *kctl, const char *list, struct arena *arena)
{
    return expand(kctl, list, true, arena);
}
