/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/config/kube_extender.h"

#include <string.h>

#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_url.h"
#include "lib/api/value/resource_name.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"

#define DEFAULT_TIMEOUT "5s"

static const char no_time[] = "0s";

void
kube_extenders_complete(struct arena *arena, struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        struct json *e = json_at(list, i);
        const char *timeout = json_get_text(e, "httpTimeout");

        if (timeout == NULL || strcmp(timeout, no_time) == 0)
            json_set_string(arena, e, "httpTimeout", DEFAULT_TIMEOUT);
    }
}

/* An empty verb counts as absent. */
static const char *
read_verb(const struct json *e, const char *name, const char *where, struct strbuf *mistakes)
{
    const char *verb = json_get_text(e, name);

    if (verb == NULL || verb[0] == '\0')
        return NULL;
    if (strpbrk(verb, " \t\r\n?#") != NULL)
        strbuf_printf(mistakes, "%s.%s: \"%s\" is not valid at the end of a URL path\n", where,
                      name, verb);
    return verb;
}

static void
read_url(const struct json *e, const char *where, struct extender *to, struct strbuf *mistakes)
{
    CLEANUP_FREE char *origin = NULL;
    CLEANUP_FREE char *path = NULL;
    struct error err = {0};

    to->url = json_get_text(e, "urlPrefix");
    if (to->url == NULL)
        to->url = "";
    if (extender_url_split(to->url, &origin, &path, &err) < 0)
        strbuf_printf(mistakes, "%s.urlPrefix: %s\n", where, err.text);
}

static bool
has_authority(const struct tls_client_settings *t)
{
    return (t->authority_file != NULL && t->authority_file[0] != '\0')
           || (t->authority_data != NULL && t->authority_data[0] != '\0');
}

/* As upstream: the URL alone decides whether TLS is used, and enableHTTPS
 * without a certificate authority accepts any certificate.
 */
static void
read_tls(const struct json *e, const char *where, struct extender *to, struct strbuf *mistakes,
         struct strbuf *warnings)
{
    CLEANUP(tls_client_freep) struct tls_client *tried = NULL;
    const struct json *tls = json_get(e, "tlsConfig");
    bool is_enabled = json_is_true(json_get(e, "enableHTTPS"));
    bool is_secure = strncmp(to->url, "https:", 6) == 0;
    struct error err = {0};

    to->tls = (struct tls_client_settings){
        .authority_file = json_get_text(tls, "caFile"),
        .authority_data = json_get_text(tls, "caData"),
        .certificate_file = json_get_text(tls, "certFile"),
        .certificate_data = json_get_text(tls, "certData"),
        .key_file = json_get_text(tls, "keyFile"),
        .key_data = json_get_text(tls, "keyData"),
        .server_name = json_get_text(tls, "serverName"),
        .is_insecure = json_is_true(json_get(tls, "insecure")),
    };
    if (is_enabled && !has_authority(&to->tls))
        to->tls.is_insecure = true;
    if (tls_client_open(&to->tls, &tried, &err) < 0)
        strbuf_printf(mistakes, "%s.tlsConfig: %s\n", where, err.text);
    else if (!is_secure && (is_enabled || tls != NULL))
        strbuf_printf(warnings,
                      "%s: enableHTTPS and tlsConfig have no effect, because "
                      "urlPrefix is not \"https://\"\n",
                      where);
    else if (is_secure && to->tls.is_insecure)
        strbuf_printf(warnings,
                      "%s: the identity of the extender is not verified; give "
                      "tlsConfig.caFile\n",
                      where);
}

static void
read_timeout(const struct json *e, const char *where, struct extender *to, struct strbuf *mistakes)
{
    const char *text = json_get_text(e, "httpTimeout");

    if (timespan_parse(text, &to->timeout_us) < 0)
        strbuf_printf(mistakes, "%s.httpTimeout: \"%s\" is not a duration such as 5s\n", where,
                      text);
    else if (to->timeout_us < 1000)
        strbuf_printf(mistakes, "%s.httpTimeout: \"%s\" is less than 1ms\n", where, text);
}

static bool
is_managed(const struct extenders *all, const char *name)
{
    for (unsigned i = 0; i <= all->count; i++)
        for (unsigned j = 0; j < all->items[i].n_resources; j++)
            if (strcmp(all->items[i].resources[j], name) == 0)
                return true;
    return false;
}

/* `to` is the extender after the last one counted in `all`. */
static void
read_resources(struct arena *arena, const struct json *list, const char *where,
               const struct extenders *all, struct extender *to, struct strbuf *mistakes)
{
    to->resources = arena_new_array(arena, const char *, json_count(list) + 1);
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = json_get_text(json_at(list, i), "name");

        if (name == NULL || !resource_name_is_extended(name))
            strbuf_printf(mistakes,
                          "%s.managedResources[%u].name: \"%s\" is an invalid "
                          "extended resource name\n",
                          where, i, name != NULL ? name : "");
        else if (is_managed(all, name))
            strbuf_printf(mistakes,
                          "%s.managedResources[%u].name: \"%s\": duplicate "
                          "extender managed resource name\n",
                          where, i, name);
        else
            to->resources[to->n_resources++] = name;
    }
}

static void
read_one(struct arena *arena, const struct json *e, const char *where, const struct extenders *all,
         struct extender *to, struct strbuf *mistakes, struct strbuf *warnings)
{
    read_url(e, where, to, mistakes);
    read_tls(e, where, to, mistakes, warnings);
    to->filter_verb = read_verb(e, "filterVerb", where, mistakes);
    to->prioritize_verb = read_verb(e, "prioritizeVerb", where, mistakes);
    to->preempt_verb = read_verb(e, "preemptVerb", where, mistakes);
    to->bind_verb = read_verb(e, "bindVerb", where, mistakes);
    to->weight = json_get_int(e, "weight", 0);
    if (to->prioritize_verb != NULL && (to->weight <= 0 || to->weight > INT32_MAX))
        strbuf_printf(mistakes,
                      "%s.weight: %lld: must have a positive weight applied to "
                      "it, of at most %d\n",
                      where, (long long)to->weight, INT32_MAX);
    read_timeout(e, where, to, mistakes);
    to->is_node_cache_capable = json_is_true(json_get(e, "nodeCacheCapable"));
    to->is_ignorable = json_is_true(json_get(e, "ignorable"));
    read_resources(arena, json_get(e, "managedResources"), where, all, to, mistakes);
}

void
kube_extenders_read(struct arena *arena, const struct json *list, struct extenders *ret_extenders,
                    struct strbuf *mistakes, struct strbuf *warnings)
{
    struct extender *items = arena_new_array(arena, struct extender, json_count(list) + 1);
    struct extenders all = {.items = items};
    unsigned extender_binder = 0;

    for (uint32_t i = 0; i < json_count(list); i++) {
        read_one(arena, json_at(list, i), arena_printf(arena, "extenders[%u]", i), &all, &items[i],
                 mistakes, warnings);
        all.count++;
        extender_binder += items[i].bind_verb != NULL;
    }
    if (extender_binder > 1)
        strbuf_printf(mistakes,
                      "extenders: found %u extenders implementing bind: only "
                      "one extender can implement bind\n",
                      extender_binder);
    *ret_extenders = all;
}

void
kube_extenders_hide(struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        json_remove(json_get(json_at(list, i), "tlsConfig"), "keyData");
}

static bool
has_text(const struct json *list, const char *text)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *item = json_text(json_at(list, i));

        if (item != NULL && strcmp(item, text) == 0)
            return true;
    }
    return false;
}

static void
ignore(struct arena *arena, struct json *args, const char *name)
{
    struct json *list = json_get(args, "ignoredResources");

    if (!json_is(list, JSON_ARRAY)) {
        list = json_array(arena);
        json_set(arena, args, "ignoredResources", list);
    }
    if (!has_text(list, name))
        json_append(arena, list, json_string(arena, name));
}

const struct json *
kube_extenders_ignore(struct arena *arena, const struct json *list, const struct json *args)
{
    struct json *changed = NULL;

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *resources = json_get(json_at(list, i), "managedResources");

        for (uint32_t j = 0; j < json_count(resources); j++) {
            const struct json *r = json_at(resources, j);

            if (!json_is_true(json_get(r, "ignoredByScheduler")))
                continue;
            if (changed == NULL)
                changed = args != NULL ? json_dup(arena, args) : json_object(arena);
            ignore(arena, changed, json_get_text(r, "name"));
        }
    }
    return changed != NULL ? changed : args;
}
