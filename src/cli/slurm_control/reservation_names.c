/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_control/reservation_names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/verbs/nodes/reservation_request.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define NOBODY " " /* an empty list, where "" would be no change */

/* ---- Spellings ---- */

static bool
has_lists(const char *word)
{
    static const char *const fields[] = {"users", "user", "groups", "group", "accounts", "account"};
    const size_t length = strcspn(word, "+-=");

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strlen(fields[i]) == length && strncasecmp(word, fields[i], length) == 0)
            return true;
    return false;
}

const char *
reservation_names_spell(struct arena *arena, const char *word)
{
    const size_t length = strcspn(word, "=");
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    char *rest, *name;

    if (length == 0 || word[length] == '\0' || strchr("+-", word[length - 1]) == NULL)
        return word;
    if (!has_lists(word))
        return NULL;
    strbuf_printf(&out, "%.*s=", (int)length - 1, word);
    rest = arena_strdup(arena, word + length + 1);
    for (bool is_first = true; (name = strsep(&rest, ",")) != NULL; is_first = false)
        strbuf_printf(&out, "%s%c%s", is_first ? "" : ",", word[length - 1], name);
    return arena_strdup(arena, out.text);
}

/* ---- Lists ---- */

static bool
has_sign(const char *list)
{
    return list != NULL
           && (strpbrk(list, "+-") == list || strstr(list, ",+") != NULL
               || strstr(list, ",-") != NULL);
}

static bool
is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] != NULL && strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Makes "ann,carl" of "bob,carl" and "-bob,+ann". */
static int
change_list(struct arena *arena, const struct json *present, const char **list, struct error *err)
{
    const size_t most = json_count(present) + strlen(*list) / 2 + 1;
    const char **names = arena_new_array(arena, const char *, most);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    char *rest = arena_strdup(arena, *list), *name;
    size_t count = 0;

    for (uint32_t i = 0; i < json_count(present); i++)
        names[count++] = json_text(json_at(present, i));
    while ((name = strsep(&rest, ",")) != NULL) {
        if (name[0] == '\0' || (strchr("+-", name[0]) != NULL && name[1] == '\0'))
            continue;
        if (name[0] != '+' && name[0] != '-')
            return error_set(err, -EINVAL,
                             "'%s' has no sign: give all names of the list, or each with + or -",
                             name);
        if (name[0] == '+' && !is_in(names, count, name + 1))
            names[count++] = name + 1;
        for (size_t i = 0; name[0] == '-' && i < count; i++)
            if (names[i] != NULL && strcmp(names[i], name + 1) == 0)
                names[i] = NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (names[i] != NULL)
            strbuf_printf(&out, "%s%s", out.length > 0 ? "," : "", names[i]);
    *list = out.length > 0 ? arena_strdup(arena, out.text) : NOBODY;
    return 0;
}

/* Whether somebody may use the reservation, by this list as it will be. */
static bool
has_names(const struct json *present, const char *list)
{
    return list != NULL && list[0] != '\0' ? strcmp(list, NOBODY) != 0 : json_count(present) > 0;
}

int
reservation_names_settle(struct kctl *kctl, struct reservation_request *request,
                         struct arena *arena, struct error *err)
{
    const struct target_object target = {.kind = &reservation_kind, .name = request->name};
    const struct {
        const char *member, **list;
    } lists[] = {
        {"users", &request->users}, {"groups", &request->groups}, {"accounts", &request->accounts}};
    bool has_any = false, has_signs = false;
    struct json *object = NULL, *spec;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        has_signs = has_signs || has_sign(*lists[i].list);
    if (!has_signs)
        return 0;
    r = kctl_get(kctl, &target, arena, &object, err);
    spec = json_get(object, "spec");
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lists); i++) {
        const struct json *present = json_get(spec, lists[i].member);

        if (has_sign(*lists[i].list))
            r = change_list(arena, present, lists[i].list, err);
        has_any = has_any || has_names(present, *lists[i].list);
    }
    if (r == 0 && !has_any && !json_is_true(json_get(spec, "maintenance")))
        r = error_set(err, -EINVAL, "Reservation request lacks users, groups or accounts");
    request->version = json_path_text(object, "metadata.resourceVersion");
    return r;
}
