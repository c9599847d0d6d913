/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's --export has a syntax in which a comma in quotes belongs to a value. Whatever the
 * list says, a task gets what it needs to know what it is and to find its program; without
 * PATH nothing that a user types would start.
 */
#include "cli/krun/krun_environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/krun/krun_settings.h"
#include "lib/api/node/gpu_vendor.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

/* --- variables -------------------------------------------------------------
 */

struct exported_list {
    struct arena *arena;
    const char **items;
    unsigned count, capacity;
};

static void
add(struct exported_list *l, const char *item)
{
    const size_t length = strcspn(item, "=") + 1;

    for (unsigned i = 0; i < l->count; i++)
        if (strncmp(l->items[i], item, length) == 0) {
            l->items[i] = item;
            return;
        }
    if (l->count == l->capacity) {
        const char **longer;

        l->capacity = l->capacity > 0 ? l->capacity * 2 : 64;
        longer = arena_new_array(l->arena, const char *, l->capacity);
        if (l->count > 0)
            memcpy(longer, l->items, l->count * sizeof(*longer));
        l->items = longer;
    }
    l->items[l->count++] = item;
}

/* Without these a task would not know what it is, or find its program. */
static bool
is_kept(const char *item)
{
    return strncmp(item, "KILN_", 5) == 0 || strncmp(item, "SLURM", 5) == 0
           || strncmp(item, "PATH=", 5) == 0;
}

static void
add_environment(struct exported_list *l, bool all)
{
    for (char **v = environ; *v != NULL; v++)
        if (strchr(*v, '=') > *v && (all || is_kept(*v)))
            add(l, *v);
}

/* Cuts one item off the list: a comma in quotes belongs to the value, and the quotes
 * around a value do not.
 */
static const char *
cut_item(struct arena *arena, const char **list)
{
    const char *at = *list;
    char *item = arena_text(arena, strlen(at)), *out = item;
    char quote = '\0';

    for (; *at != '\0' && (*at != ',' || quote != '\0'); at++) {
        if (quote == '\0' && (*at == '\'' || *at == '"') && (out == item || out[-1] == '='))
            quote = *at;
        else if (quote != '\0' && *at == quote && (at[1] == ',' || at[1] == '\0'))
            quote = '\0';
        else
            *out++ = *at;
    }
    *out = '\0';
    *list = at + (*at == ',');
    return item;
}

static int
add_item(struct exported_list *l, const char *item, struct error *err)
{
    const char *equal = strchr(item, '='), *value;

    if (item[0] == '\0')
        return 0;
    if (strcasecmp(item, "ALL") == 0) {
        add_environment(l, true);
        return 0;
    }
    if (equal == item)
        return error_set(err, -EINVAL, "--export: '%.80s' has no name", item);
    if (equal != NULL) {
        add(l, item);
        return 0;
    }
    value = getenv(item);
    if (value != NULL)
        add(l, arena_printf(l->arena, "%s=%s", item, value));
    return 0;
}

static void
hide_gpus(struct exported_list *l)
{
    for (unsigned j = 0; j < l->count; j++) {
        const struct gpu_vendor *v = gpu_vendor_of_list(l->items[j]);

        if (v != NULL)
            l->items[j] = arena_printf(l->arena, "%s=%s", v->variable, v->none);
    }
}

/* The terminal's kind, also if no other variable is passed on; and, as with srun,
 * its size at the start.
 */
static void
add_terminal(struct exported_list *l, const struct step_request *q)
{
    const char *kind = getenv("TERM");

    if (!q->has_terminal)
        return;
    if (kind != NULL)
        add(l, arena_printf(l->arena, "TERM=%s", kind));
    if (q->terminal_rows == 0 || q->terminal_columns == 0)
        return;
    add(l, arena_printf(l->arena, "SLURM_PTY_WIN_COL=%" PRId64, q->terminal_columns));
    add(l, arena_printf(l->arena, "SLURM_PTY_WIN_ROW=%" PRId64, q->terminal_rows));
}

int
krun_environment_set(struct arena *arena, struct krun_settings *s, struct error *err)
{
    struct exported_list l = {.arena = arena};
    const char *list = s->exported != NULL ? s->exported : "ALL";
    int r = 0;

    add_environment(&l, false);
    if (strcasecmp(list, "NONE") != 0 && strcasecmp(list, "NIL") != 0)
        while (*list != '\0' && r == 0)
            r = add_item(&l, cut_item(arena, &list), err);
    if (r < 0)
        return r;
    if (s->has_no_gpus)
        hide_gpus(&l);
    add_terminal(&l, &s->request);
    if (s->submit_line != NULL)
        add(&l, arena_printf(arena, STEP_SUBMIT_LINE "=%s", s->submit_line));
    s->request.environment.items = l.items;
    s->request.environment.count = l.count;
    return 0;
}

/* --- limits ----------------------------------------------------------------
 */

static const struct {
    const char *name;
    int resource;
} limits[] = {
    {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
    {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"rss", RLIMIT_RSS},
    {"stack", RLIMIT_STACK},
};

static int
mark_limits(struct arena *arena, const char *list, bool *marks, struct error *err)
{
    const bool all = list == NULL || strcasecmp(list, "ALL") == 0;

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        marks[i] = all;
    if (all || strcasecmp(list, "NONE") == 0)
        return 0;
    while (*list != '\0') {
        const char *name = cut_item(arena, &list);
        size_t i = 0;

        if (strncasecmp(name, "RLIMIT_", 7) == 0)
            name += 7;
        while (i < ARRAY_SIZE(limits) && strcasecmp(limits[i].name, name) != 0)
            i++;
        if (i == ARRAY_SIZE(limits))
            return error_set(
                err, -EINVAL,
                "--propagate: '%.40s' is no limit; there are ALL, NONE, AS, CORE, CPU, "
                "DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS and STACK",
                name);
        marks[i] = true;
    }
    return 0;
}

int
krun_environment_set_limits(struct arena *arena, struct krun_settings *s, struct error *err)
{
    bool marks[ARRAY_SIZE(limits)];
    struct step_limit *items = arena_new_array(arena, struct step_limit, ARRAY_SIZE(limits));
    unsigned n = 0;
    mode_t mask = umask(0);
    int r = mark_limits(arena, s->limits, marks, err);

    umask(mask);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        struct rlimit limit;

        if (!marks[i] || getrlimit((__rlimit_resource_t)limits[i].resource, &limit) < 0)
            continue;
        items[n++] = (struct step_limit){
            .name = limits[i].name,
            .soft = limit.rlim_cur > INT64_MAX ? -1 : (int64_t)limit.rlim_cur,
        };
    }
    s->request.limits.items = items;
    s->request.limits.count = n;
    s->request.umask = (int64_t)(mask & 0777);
    return 0;
}
