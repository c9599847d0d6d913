/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/config/kube_profile.h"

#include <string.h>

#include "controller/scheduler/config/kube_extender.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define API_VERSION "kubescheduler.config.k8s.io/v1"

/* Names */

static void
add_unknown(const char *where, const char *name, struct strbuf *mistakes)
{
    const char *names[PROFILE_MAX_PLUGINS], *meant;
    unsigned count = 0;

    for (unsigned i = 0; i < plugin_count && i < PROFILE_MAX_PLUGINS; i++)
        names[count++] = plugin_list[i]->name;
    meant = spelling_nearest(name, names, count);
    strbuf_printf(mistakes, "%s: there is no plugin \"%s\"", where, name);
    if (meant != NULL)
        strbuf_printf(mistakes, " (did you mean \"%s\"?)", meant);
    strbuf_add_char(mistakes, '\n');
}

/* The index of a plugin in a list of {"name"} objects, or -1. An entry without
 * a name, which is reported as a mistake, matches none.
 */
static int
find_name(const struct json *list, const char *name)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *other = json_get_text(json_at(list, i), "name");

        if (name != NULL && other != NULL && strcmp(other, name) == 0)
            return (int)i;
    }
    return -1;
}

static void
check_names(struct arena *arena, const struct json *list, const char *where, bool allows_all,
            struct strbuf *mistakes)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = json_get_text(json_at(list, i), "name");
        const char *at = arena_printf(arena, "%s[%u]", where, i);

        if (name == NULL)
            strbuf_printf(mistakes, "%s.name: is required\n", at);
        else if (strcmp(name, "*") == 0 && allows_all)
            continue;
        else if (plugin_find(name) == NULL)
            add_unknown(at, name, mistakes);
        else if (find_name(list, name) != (int)i)
            strbuf_printf(mistakes, "%s: \"%s\" is listed twice\n", at, name);
        if (json_get_int(json_at(list, i), "weight", 0) < 0)
            strbuf_printf(mistakes, "%s.weight: is below 0\n", at);
    }
}

/* Merging of enabled plugins with the defaults */

static bool
is_disabled(const struct json *set, const char *name)
{
    const struct json *list = json_get(set, "disabled");

    return find_name(list, "*") >= 0 || find_name(list, name) >= 0;
}

static struct json *
plugin_entry(struct arena *arena, const struct profile_plugin *p)
{
    struct json *entry = json_object(arena);

    json_set_string(arena, entry, "name", p->plugin->name);
    if (p->weight != 0)
        json_set_int(arena, entry, "weight", p->weight);
    return entry;
}

/* There is one QueueSort plugin, so another one that is enabled replaces the
 * default.
 */
static bool
is_replaced(const struct json *given, const struct plugin *p)
{
    if (p->less == NULL)
        return false;
    for (uint32_t i = 0; i < json_count(given); i++) {
        const struct plugin *other = plugin_find(json_get_text(json_at(given, i), "name"));

        if (other != p && other->less != NULL)
            return true;
    }
    return false;
}

/* The defaults that are not disabled come first, in their order; where one is
 * given again, the given entry is used. All other enabled plugins follow.
 */
static void
merge_defaults(struct arena *arena, struct json *set)
{
    const struct json *given = json_get(set, "enabled");
    struct json *merged = json_array(arena);

    for (unsigned i = 0; i < n_default_profile; i++) {
        const char *name = default_profile[i].plugin->name;
        int at = find_name(given, name);

        if (is_disabled(set, name) || is_replaced(given, default_profile[i].plugin))
            continue;
        json_append(arena, merged,
                    at >= 0 ? json_at(given, (uint32_t)at)
                            : plugin_entry(arena, &default_profile[i]));
    }
    for (uint32_t i = 0; i < json_count(given); i++)
        if (find_name(merged, json_get_text(json_at(given, i), "name")) < 0)
            json_append(arena, merged, json_at(given, i));
    json_set(arena, set, "enabled", merged);
}

/* Arguments */

/* A given member replaces the default; null counts as not given. */
static struct json *
overlay(struct arena *arena, const struct plugin *p, const struct json *given)
{
    struct error err = {0};
    struct json *args = p->default_args != NULL ? json_parse(arena, p->default_args,
                                                             strlen(p->default_args), NULL, &err)
                                                : json_object(arena);

    for (uint32_t i = 0; i < json_count(given); i++)
        if (!json_is(given->members[i].value, JSON_NULL))
            json_set(arena, args, given->members[i].name, given->members[i].value);
    return args;
}

static bool
has_other(const struct json *args, const char *member, const char *wanted)
{
    const char *is = json_get_text(args, member);

    return is != NULL && strcmp(is, wanted) != 0;
}

static struct json *
complete_args(struct arena *arena, const struct plugin *p, const struct json *given,
              const char *where, struct strbuf *mistakes)
{
    struct json *args = overlay(arena, p, given);
    const char *kind = arena_printf(arena, "%sArgs", p->name);
    struct record_notes notes = {0};
    struct error err = {0};

    if (has_other(args, "apiVersion", API_VERSION) || has_other(args, "kind", kind))
        strbuf_printf(mistakes, "%s: is %s %s, not %s %s\n", where,
                      json_get_text(args, "apiVersion"), json_get_text(args, "kind"), API_VERSION,
                      kind);
    json_remove(args, "apiVersion");
    json_remove(args, "kind");
    if (record_normalize(p->args, arena, args, &notes, &err) < 0)
        strbuf_printf(mistakes, "%s: %s\n", where, err.text);
    for (unsigned i = 0; i < notes.n_unknown; i++)
        strbuf_printf(mistakes, "%s.%s: unknown field\n", where, notes.unknown[i]);
    json_set_string(arena, args, "apiVersion", API_VERSION);
    json_set_string(arena, args, "kind", kind);
    return args;
}

static void
complete_configs(struct arena *arena, struct json *profile, const char *where,
                 struct strbuf *mistakes)
{
    const struct json *given = json_get(profile, "pluginConfig");
    struct json *all = json_array(arena);

    for (unsigned i = 0; i < plugin_count; i++) {
        const struct plugin *p = plugin_list[i];
        int at = find_name(given, p->name);
        const struct json *args = at >= 0 ? json_get(json_at(given, (uint32_t)at), "args") : NULL;
        const char *place = arena_printf(arena, "%s.pluginConfig[%d].args", where, at);
        struct json *one = json_object(arena);

        if (args != NULL && !json_is(args, JSON_OBJECT) && !json_is(args, JSON_NULL)) {
            strbuf_printf(mistakes, "%s: not an object\n", place);
            continue;
        }
        if (p->args == NULL) {
            if (json_count(args) > 0)
                strbuf_printf(mistakes, "%s: %s takes no arguments\n", place, p->name);
            continue;
        }
        json_set_string(arena, one, "name", p->name);
        json_set(arena, one, "args", complete_args(arena, p, args, place, mistakes));
        json_append(arena, all, one);
    }
    json_set(arena, profile, "pluginConfig", all);
}

static void
check_sets(struct arena *arena, const struct json *plugins, const char *where,
           struct strbuf *mistakes)
{
    for (uint32_t i = 0; i < json_count(plugins); i++) {
        const struct json *set = plugins->members[i].value;
        const char *at = arena_printf(arena, "%s.%s", where, plugins->members[i].name);

        check_names(arena, json_get(set, "enabled"), arena_printf(arena, "%s.enabled", at), false,
                    mistakes);
        check_names(arena, json_get(set, "disabled"), arena_printf(arena, "%s.disabled", at), true,
                    mistakes);
    }
}

void
kube_profile_complete(struct arena *arena, struct json *profile, const char *where,
                      struct strbuf *mistakes)
{
    struct json *plugins = json_make_object(arena, profile, "plugins");
    size_t before = mistakes->length;

    if (json_get(profile, "schedulerName") != NULL
        && *json_get_text(profile, "schedulerName") == '\0')
        strbuf_printf(mistakes, "%s.schedulerName: is empty\n", where);
    if (json_get_text(profile, "schedulerName") == NULL)
        json_set_string(arena, profile, "schedulerName", "default-scheduler");
    check_sets(arena, plugins, arena_printf(arena, "%s.plugins", where), mistakes);
    check_names(arena, json_get(profile, "pluginConfig"),
                arena_printf(arena, "%s.pluginConfig", where), false, mistakes);
    if (mistakes->length > before)
        return;
    merge_defaults(arena, json_make_object(arena, plugins, "multiPoint"));
    complete_configs(arena, profile, where, mistakes);
}

/* Settings */

struct plugin_expansion {
    struct arena *arena;
    const struct json *profile;
    struct profile_plugin *plugins;
    unsigned count;
    struct point_order *orders;
    const char *where;
    struct strbuf *mistakes;
};

static uint8_t
place_of(struct plugin_expansion *x, const char *name)
{
    const struct json *configs = json_get(x->profile, "pluginConfig");
    int at = find_name(configs, name);
    unsigned i = 0;

    while (i < x->count && strcmp(x->plugins[i].plugin->name, name) != 0)
        i++;
    if (i == x->count && i < PROFILE_MAX_PLUGINS)
        x->plugins[x->count++] = (struct profile_plugin){
            .plugin = plugin_find(name),
            .args = at >= 0 ? json_get(json_at(configs, (uint32_t)at), "args") : NULL,
        };
    return (uint8_t)i;
}

static void
append(struct plugin_expansion *x, enum point point, const char *name)
{
    struct point_order *order = &x->orders[point];

    order->items[order->count++] = place_of(x, name);
}

/* The weight of the plugin's score: given under score, else under multiPoint.
 */
static int64_t
weight_of(const struct json *plugins, const char *name)
{
    static const char *const paths[] = {"score.enabled", "multiPoint.enabled"};

    for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
        const struct json *list = json_get_path(plugins, paths[i]);
        int at = find_name(list, name);

        if (at >= 0)
            return json_get_int(json_at(list, (uint32_t)at), "weight", 0);
    }
    return 0;
}

/* The order of a point: first the plugins that both lists name, then those of
 * multiPoint, then the rest of the point's own list.
 */
static void
expand_point(struct plugin_expansion *x, enum point point)
{
    const struct json *plugins = json_get(x->profile, "plugins");
    const struct json *set = json_get(plugins, point_name(point));
    const struct json *here = json_get(set, "enabled");
    const struct json *all = json_get_path(plugins, "multiPoint.enabled");
    bool is_closed = find_name(json_get(set, "disabled"), "*") >= 0;

    for (unsigned pass = 0; pass < 3; pass++) {
        const struct json *list = pass == 1 ? all : here;

        for (uint32_t i = 0; i < json_count(list); i++) {
            const char *name = json_get_text(json_at(list, i), "name");
            bool is_overriding =
                !is_closed && find_name(all, name) >= 0 && find_name(here, name) >= 0;

            if (pass == 1
                && (is_closed || is_overriding || is_disabled(set, name)
                    || !plugin_has_point(plugin_find(name), point)))
                continue;
            if (pass != 1 && is_overriding != (pass == 0))
                continue;
            if (!plugin_has_point(plugin_find(name), point)) {
                strbuf_printf(x->mistakes,
                              "%s.plugins.%s.enabled: %s does not have that "
                              "extension point\n",
                              x->where, point_name(point), name);
                continue;
            }
            append(x, point, name);
        }
    }
}

static void
check_single(const struct plugin_expansion *x)
{
    if (x->orders[POINT_QUEUE_SORT].count != 1)
        strbuf_printf(x->mistakes,
                      "%s.plugins.queueSort: exactly one plugin must order the "
                      "queue, not %u\n",
                      x->where, x->orders[POINT_QUEUE_SORT].count);
    if (x->orders[POINT_BIND].count == 0)
        strbuf_printf(x->mistakes, "%s.plugins.bind: at least one plugin must bind\n", x->where);
}

void
kube_profile_settings(struct arena *arena, const struct json *profile, const char *where,
                      const struct json *extenders, struct profile_settings *ret_settings,
                      struct strbuf *mistakes)
{
    struct plugin_expansion x = {
        .arena = arena,
        .profile = profile,
        .plugins = arena_alloc(arena, sizeof(struct profile_plugin) * PROFILE_MAX_PLUGINS),
        .orders = arena_alloc(arena, sizeof(struct point_order) * POINTS),
        .where = where,
        .mistakes = mistakes,
    };
    const struct json *plugins = json_get(profile, "plugins");
    const struct json *all = json_get_path(plugins, "multiPoint.enabled");

    for (uint32_t i = 0; i < json_count(all); i++)
        place_of(&x, json_get_text(json_at(all, i), "name"));
    for (unsigned point = 0; point < POINTS; point++)
        expand_point(&x, point);
    for (unsigned i = 0; i < x.count; i++) {
        struct profile_plugin *p = &x.plugins[i];

        p->weight = weight_of(plugins, p->plugin->name);
        if (strcmp(p->plugin->name, "NodeResourcesFit") == 0)
            p->args = kube_extenders_ignore(arena, extenders, p->args);
    }
    check_single(&x);
    *ret_settings = (struct profile_settings){
        .scheduler_name = json_get_text(profile, "schedulerName"),
        .plugins = x.plugins,
        .n_plugins = x.count,
        .orders = x.orders,
        .percentage_of_nodes = (unsigned)json_get_int(profile, "percentageOfNodesToScore", 100),
    };
}
