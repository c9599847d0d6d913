/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/config/kube_configuration.h"

#include <errno.h>
#include <string.h>

#include "controller/scheduler/config/kube_extender.h"
#include "controller/scheduler/config/kube_profile.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/plugin.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/string_ids.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/yaml/yaml.h"

#define API_VERSION  "kubescheduler.config.k8s.io/v1"
#define KIND         "KubeSchedulerConfiguration"
#define MAX_FILE     (1 << 20)
#define MAX_PROFILES 16
#define SECOND_US    INT64_C(1000000)

/* The minimum ratio of renewDeadline to retryPeriod, so that a renewal is tried
 * more than once before the lease is lost (client-go, JitterFactor).
 */
#define JITTER 1.2

/* ---- Tables ---- */

static const struct field leader_election_fields[] = {
    OPAQUE(BOOL, "leaderElect", KEPT),      OPAQUE(STRING, "leaseDuration", 0),
    OPAQUE(STRING, "renewDeadline", 0),     OPAQUE(STRING, "retryPeriod", 0),
    OPAQUE(STRING, "resourceLock", 0),      OPAQUE(STRING, "resourceName", 0),
    OPAQUE(STRING, "resourceNamespace", 0),
};
static OPAQUE_RECORD(leader_election, "LeaderElectionConfiguration");

static const struct field client_connection_fields[] = {
    OPAQUE(STRING, "kubeconfig", 0),  OPAQUE(STRING, "acceptContentTypes", 0),
    OPAQUE(STRING, "contentType", 0), OPAQUE(NUMBER, "qps", 0),
    OPAQUE(INT, "burst", 0),
};
static OPAQUE_RECORD(client_connection, "ClientConnectionConfiguration");

static const struct field plugin_fields[] = {
    OPAQUE(STRING, "name", REQUIRED),
    OPAQUE(INT, "weight", 0),
};
static OPAQUE_RECORD(plugin, "Plugin");

static const struct field plugin_set_fields[] = {
    OPAQUE_OBJECTS("enabled", plugin, 0),
    OPAQUE_OBJECTS("disabled", plugin, 0),
};
static OPAQUE_RECORD(plugin_set, "PluginSet");

static const struct field plugins_fields[] = {
    OPAQUE_OBJECT("preEnqueue", plugin_set, 0), OPAQUE_OBJECT("queueSort", plugin_set, 0),
    OPAQUE_OBJECT("preFilter", plugin_set, 0),  OPAQUE_OBJECT("filter", plugin_set, 0),
    OPAQUE_OBJECT("postFilter", plugin_set, 0), OPAQUE_OBJECT("preScore", plugin_set, 0),
    OPAQUE_OBJECT("score", plugin_set, 0),      OPAQUE_OBJECT("reserve", plugin_set, 0),
    OPAQUE_OBJECT("permit", plugin_set, 0),     OPAQUE_OBJECT("preBind", plugin_set, 0),
    OPAQUE_OBJECT("bind", plugin_set, 0),       OPAQUE_OBJECT("postBind", plugin_set, 0),
    OPAQUE_OBJECT("multiPoint", plugin_set, 0),
};
static OPAQUE_RECORD(plugins, "Plugins");

static const struct field plugin_config_fields[] = {
    OPAQUE(STRING, "name", REQUIRED),
    OPAQUE(ANY, "args", KEPT),
};
static OPAQUE_RECORD(plugin_config, "PluginConfig");

static const struct field profile_fields[] = {
    OPAQUE(STRING, "schedulerName", KEPT),
    OPAQUE(INT, "percentageOfNodesToScore", KEPT),
    OPAQUE_OBJECT("plugins", plugins, 0),
    OPAQUE_OBJECTS("pluginConfig", plugin_config, 0),
};
static OPAQUE_RECORD(profile, "KubeSchedulerProfile");

static const struct field managed_resource_fields[] = {
    OPAQUE(STRING, "name", REQUIRED),
    OPAQUE(BOOL, "ignoredByScheduler", 0),
};
static OPAQUE_RECORD(managed_resource, "ExtenderManagedResource");

static const struct field tls_fields[] = {
    OPAQUE(BOOL, "insecure", 0),  OPAQUE(STRING, "serverName", 0), OPAQUE(STRING, "certFile", 0),
    OPAQUE(STRING, "keyFile", 0), OPAQUE(STRING, "caFile", 0),     OPAQUE(STRING, "certData", 0),
    OPAQUE(STRING, "keyData", 0), OPAQUE(STRING, "caData", 0),
};
static OPAQUE_RECORD(tls, "ExtenderTLSConfig");

static const struct field extender_fields[] = {
    OPAQUE(STRING, "urlPrefix", 0),
    OPAQUE(STRING, "filterVerb", 0),
    OPAQUE(STRING, "preemptVerb", 0),
    OPAQUE(STRING, "prioritizeVerb", 0),
    OPAQUE(INT64, "weight", 0),
    OPAQUE(STRING, "bindVerb", 0),
    OPAQUE(BOOL, "enableHTTPS", 0),
    OPAQUE_OBJECT("tlsConfig", tls, 0),
    OPAQUE(STRING, "httpTimeout", 0),
    OPAQUE(BOOL, "nodeCacheCapable", 0),
    OPAQUE_OBJECTS("managedResources", managed_resource, 0),
    OPAQUE(BOOL, "ignorable", 0),
};
static OPAQUE_RECORD(extender, "Extender");

static const struct field kube_configuration_fields[] = {
    OPAQUE(STRING, "apiVersion", 0),
    OPAQUE(STRING, "kind", 0),
    OPAQUE(INT, "parallelism", KEPT),
    OPAQUE_OBJECT("leaderElection", leader_election, 0),
    OPAQUE_OBJECT("clientConnection", client_connection, 0),
    OPAQUE(BOOL, "enableProfiling", KEPT),
    OPAQUE(BOOL, "enableContentionProfiling", KEPT),
    OPAQUE(INT, "percentageOfNodesToScore", KEPT),
    OPAQUE(INT64, "podInitialBackoffSeconds", KEPT),
    OPAQUE(INT64, "podMaxBackoffSeconds", KEPT),
    OPAQUE_OBJECTS("profiles", profile, 0),
    OPAQUE_OBJECTS("extenders", extender, 0),
    OPAQUE(BOOL, "delayCacheUntilActive", KEPT),
};
static OPAQUE_RECORD(kube_configuration, "KubeSchedulerConfiguration");

/* ---- Reading ---- */

struct kube_configuration {
    struct arena *arena;
    struct json *tree;
    struct kube_numbers numbers;
    struct profile_settings profiles[MAX_PROFILES];
    unsigned n_profiles;
    struct extenders extenders;
    struct strbuf warnings;
};

void
kube_configuration_free(struct kube_configuration *c)
{
    if (c == NULL)
        return;
    strbuf_fini(&c->warnings);
    arena_free(c->arena);
    free(c);
}

/* Defaults */

static void
set_default_int(struct arena *arena, struct json *object, const char *name, int64_t value)
{
    if (json_get(object, name) == NULL)
        json_set_int(arena, object, name, value);
}

static void
set_default_text(struct arena *arena, struct json *object, const char *name, const char *text)
{
    if (json_get(object, name) == NULL)
        json_set_string(arena, object, name, text);
}

static void
complete_election(struct arena *arena, struct json *e)
{
    if (json_get(e, "leaderElect") == NULL)
        json_set_bool(arena, e, "leaderElect", true);
    set_default_text(arena, e, "leaseDuration", "15s");
    set_default_text(arena, e, "renewDeadline", "10s");
    set_default_text(arena, e, "retryPeriod", "2s");
    set_default_text(arena, e, "resourceLock", "leases");
    set_default_text(arena, e, "resourceName", "kube-scheduler");
    set_default_text(arena, e, "resourceNamespace", "kube-system");
}

static void
complete(struct kube_configuration *c, struct strbuf *mistakes)
{
    struct arena *arena = c->arena;
    struct json *t = c->tree, *profiles;
    int64_t percentage;

    set_default_text(arena, t, "apiVersion", API_VERSION);
    set_default_text(arena, t, "kind", KIND);
    complete_election(arena, json_make_object(arena, t, "leaderElection"));
    kube_extenders_complete(arena, json_get(t, "extenders"));
    set_default_int(arena, t, "percentageOfNodesToScore", 100);
    set_default_int(arena, t, "podInitialBackoffSeconds", 1);
    set_default_int(arena, t, "podMaxBackoffSeconds", 10);
    percentage = json_get_int(t, "percentageOfNodesToScore", 100);
    if (json_count(json_get(t, "profiles")) == 0) {
        profiles = json_array(arena);
        json_append(arena, profiles, json_object(arena));
        json_set(arena, t, "profiles", profiles);
    }
    profiles = json_get(t, "profiles");
    for (uint32_t i = 0; i < json_count(profiles); i++) {
        struct json *p = json_at(profiles, i);

        set_default_int(arena, p, "percentageOfNodesToScore", percentage);
        kube_profile_complete(arena, p, arena_printf(arena, "profiles[%u]", i), mistakes);
    }
}

/* Validation */

static void
check_head(const struct json *t, struct strbuf *mistakes)
{
    const char *version = json_get_text(t, "apiVersion");
    const char *kind = json_get_text(t, "kind");

    if (version == NULL || strcmp(version, API_VERSION) != 0)
        strbuf_printf(mistakes, "apiVersion: must be \"%s\"\n", API_VERSION);
    if (kind == NULL || strcmp(kind, KIND) != 0)
        strbuf_printf(mistakes, "kind: must be \"%s\"\n", KIND);
}

static void
check_range(const struct json *object, const char *where, const char *name, int64_t min,
            int64_t max, struct strbuf *mistakes)
{
    int64_t value = json_get_int(object, name, min);

    if (value < min || value > max)
        strbuf_printf(mistakes, "%s%s: %lld is not between %lld and %lld\n", where, name,
                      (long long)value, (long long)min, (long long)max);
}

static int64_t
read_span(const struct json *object, const char *where, const char *name, struct strbuf *mistakes)
{
    const char *text = json_get_text(object, name);
    int64_t us = 0;

    if (text == NULL || timespan_parse(text, &us) < 0)
        strbuf_printf(mistakes, "%s%s: \"%s\" is not a duration such as 15s\n", where, name,
                      text != NULL ? text : "");
    return us;
}

static void
read_election(struct kube_configuration *c, struct strbuf *mistakes)
{
    const struct json *e = json_get(c->tree, "leaderElection");
    struct kube_numbers *n = &c->numbers;
    size_t before = mistakes->length;

    n->is_electing = json_is_true(json_get(e, "leaderElect"));
    n->lease_us = read_span(e, "leaderElection.", "leaseDuration", mistakes);
    n->renew_us = read_span(e, "leaderElection.", "renewDeadline", mistakes);
    n->retry_us = read_span(e, "leaderElection.", "retryPeriod", mistakes);
    n->lease_name = json_get_text(e, "resourceName");
    n->lease_namespace = json_get_text(e, "resourceNamespace");
    if (strcmp(json_get_text(e, "resourceLock"), "leases") != 0)
        strbuf_add_text(mistakes, "leaderElection.resourceLock: must be \"leases\"\n");
    if (mistakes->length > before)
        return;
    if (n->lease_us < SECOND_US)
        strbuf_add_text(mistakes, "leaderElection.leaseDuration: must be 1s or more\n");
    if (n->retry_us <= 0)
        strbuf_add_text(mistakes, "leaderElection.retryPeriod: must be above 0\n");
    if (n->lease_us <= n->renew_us)
        strbuf_add_text(mistakes, "leaderElection.leaseDuration: must be longer than "
                                  "renewDeadline\n");
    if ((double)n->renew_us <= JITTER * (double)n->retry_us)
        strbuf_add_text(mistakes, "leaderElection.renewDeadline: must be longer than "
                                  "1.2 times retryPeriod\n");
}

static void
read_backoff(struct kube_configuration *c, struct strbuf *mistakes)
{
    const struct json *t = c->tree;
    int64_t initial = json_get_int(t, "podInitialBackoffSeconds", 1);
    int64_t max = json_get_int(t, "podMaxBackoffSeconds", 10);

    check_range(t, "", "podInitialBackoffSeconds", 1, 86400, mistakes);
    check_range(t, "", "podMaxBackoffSeconds", 1, 86400, mistakes);
    if (max < initial)
        strbuf_add_text(mistakes, "podMaxBackoffSeconds: must not be below "
                                  "podInitialBackoffSeconds\n");
    c->numbers.initial_backoff_us = initial * SECOND_US;
    c->numbers.max_backoff_us = max * SECOND_US;
}

/* Makes and drops an instance of each plugin, to report the arguments that it
 * refuses.
 */
static void
try_arguments(const struct profile_settings *settings, struct handle *handle, const char *where,
              struct strbuf *mistakes)
{
    for (unsigned i = 0; i < settings->n_plugins; i++) {
        const struct profile_plugin *p = &settings->plugins[i];
        struct error err = {0};
        void *self = NULL;

        if (p->plugin->make == NULL)
            continue;
        if (p->plugin->make(handle, p->args, &self, &err) < 0)
            strbuf_printf(mistakes, "%s.pluginConfig[%s].args.%s\n", where, p->plugin->name,
                          err.text);
        else if (p->plugin->drop != NULL)
            p->plugin->drop(self);
    }
}

static void
try_profile(const struct profile_settings *settings, const char *where, struct strbuf *mistakes)
{
    CLEANUP(string_ids_freep) struct string_ids *resources = string_ids_new();
    CLEANUP(string_ids_freep) struct string_ids *reasons = string_ids_new();
    struct handle handle = {.resources = resources, .reasons = reasons};
    CLEANUP(profile_freep) struct profile *profile = NULL;
    struct profile_settings trial = *settings;
    struct error err = {0};
    size_t before = mistakes->length;

    try_arguments(settings, &handle, where, mistakes);
    if (mistakes->length > before)
        return;
    trial.handle = &handle;
    if (profile_new(&trial, &profile, &err) < 0)
        strbuf_printf(mistakes, "%s: %s\n", where, err.text);
}

static bool
has_profile(const struct kube_configuration *c, const char *name)
{
    for (unsigned i = 0; i < c->n_profiles; i++)
        if (strcmp(c->profiles[i].scheduler_name, name) == 0)
            return true;
    return false;
}

static const char *
queue_sort_of(const struct profile_settings *p)
{
    return p->plugins[p->orders[POINT_QUEUE_SORT].items[0]].plugin->name;
}

static void
read_profile(struct kube_configuration *c, const struct json *tree, const char *where,
             struct strbuf *mistakes)
{
    struct profile_settings settings;
    size_t before = mistakes->length;

    check_range(tree, arena_printf(c->arena, "%s.", where), "percentageOfNodesToScore", 0, 100,
                mistakes);
    kube_profile_settings(c->arena, tree, where, json_get(c->tree, "extenders"), &settings,
                          mistakes);
    if (has_profile(c, settings.scheduler_name))
        strbuf_printf(mistakes, "%s.schedulerName: another profile also has \"%s\"\n", where,
                      settings.scheduler_name);
    if (mistakes->length == before)
        try_profile(&settings, where, mistakes);
    if (mistakes->length > before)
        return;
    if (c->n_profiles > 0 && strcmp(queue_sort_of(&c->profiles[0]), queue_sort_of(&settings)) != 0)
        strbuf_printf(mistakes,
                      "%s.plugins.queueSort: must be the same in all "
                      "profiles, because there is one queue\n",
                      where);
    c->profiles[c->n_profiles++] = settings;
}

static void
read_profiles(struct kube_configuration *c, struct strbuf *mistakes)
{
    const struct json *list = json_get(c->tree, "profiles");

    if (json_count(list) > MAX_PROFILES) {
        strbuf_printf(mistakes, "profiles: more than %d\n", MAX_PROFILES);
        return;
    }
    for (uint32_t i = 0; i < json_count(list); i++)
        read_profile(c, json_at(list, i), arena_printf(c->arena, "profiles[%u]", i), mistakes);
}

/* Settings without effect */

static void
warn_without_effect(struct kube_configuration *c)
{
    static const struct {
        const char *name, *why;
    } rows[] = {
        {"parallelism", "one thread schedules, and shares results instead"},
        {"clientConnection", "the API is in the same process"},
        {"enableProfiling", "there is no profiling over HTTP"},
        {"enableContentionProfiling", "there is no profiling over HTTP"},
        {"delayCacheUntilActive", "the cache is the API's own memory"},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
        if (json_get(c->tree, rows[i].name) != NULL)
            strbuf_printf(&c->warnings, "%s has no effect: %s\n", rows[i].name, rows[i].why);
}

/* Reading */

static int
read_tree(struct kube_configuration *c, struct strbuf *mistakes)
{
    struct record_notes notes = {0};
    struct error err = {0};

    if (!json_is(c->tree, JSON_OBJECT))
        strbuf_add_text(mistakes, "not an object\n");
    else if (record_normalize(&kube_configuration_record, c->arena, c->tree, &notes, &err) < 0)
        strbuf_printf(mistakes, "%s\n", err.text);
    for (unsigned i = 0; i < notes.n_unknown; i++)
        strbuf_printf(mistakes, "%s: unknown field\n", notes.unknown[i]);
    if (mistakes->length > 0)
        return -EINVAL;
    check_head(c->tree, mistakes);
    check_range(c->tree, "", "parallelism", 1, 1024, mistakes);
    check_range(c->tree, "", "percentageOfNodesToScore", 0, 100, mistakes);
    warn_without_effect(c);
    complete(c, mistakes);
    kube_extenders_read(c->arena, json_get(c->tree, "extenders"), &c->extenders, mistakes,
                        &c->warnings);
    if (mistakes->length > 0)
        return -EINVAL;
    read_backoff(c, mistakes);
    read_election(c, mistakes);
    read_profiles(c, mistakes);
    return mistakes->length > 0 ? -EINVAL : 0;
}

/* Adds each line with a prefix that says where it comes from. */
static void
add_lines(const char *name, const struct strbuf *lines, struct strbuf *out)
{
    const char *line = lines->text;

    while (line != NULL && *line != '\0') {
        size_t length = strcspn(line, "\n");

        strbuf_printf(out, "%s: %.*s\n", name, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static int
parse(const char *name, const char *text, size_t length,
      struct kube_configuration **ret_configuration, struct strbuf *mistakes)
{
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c = xnew(struct kube_configuration);
    CLEANUP_STRBUF struct strbuf lines = STRBUF_INIT;
    struct error err = {0};
    int r;

    strbuf_init(&c->warnings);
    c->arena = arena_new(0);
    r = yaml_parse(c->arena, text, length, &c->tree, &err);
    if (r < 0)
        strbuf_printf(&lines, "%s\n", err.text);
    else
        r = read_tree(c, &lines);
    if (r < 0) {
        add_lines(name, &lines, mistakes);
        return r;
    }
    *ret_configuration = c;
    c = NULL;
    return 0;
}

int
kube_configuration_read(const char *path, struct kube_configuration **ret_configuration,
                        struct strbuf *mistakes)
{
    static const char none[] = "apiVersion: " API_VERSION "\nkind: " KIND "\n";
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};
    int r;

    if (path == NULL)
        return parse("default", none, sizeof(none) - 1, ret_configuration, mistakes);
    r = file_read(path, MAX_FILE, &text, &err);
    if (r < 0) {
        strbuf_printf(mistakes, "scheduler.config: %s\n", err.text);
        return r;
    }
    return parse(path, text.text, text.length, ret_configuration, mistakes);
}

struct kube_numbers
kube_configuration_numbers(const struct kube_configuration *c)
{
    return c->numbers;
}

const struct profile_settings *
kube_configuration_profiles(const struct kube_configuration *c, unsigned *ret_count)
{
    *ret_count = c->n_profiles;
    return c->profiles;
}

const struct extenders *
kube_configuration_extenders(const struct kube_configuration *c)
{
    return &c->extenders;
}

const char *
kube_configuration_warnings(const struct kube_configuration *c)
{
    return c->warnings.text;
}

void
kube_configuration_show(const struct kube_configuration *c, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = json_dup(arena, c->tree);

    kube_extenders_hide(json_get(tree, "extenders"));
    json_print(tree, out);
}

void
kube_configuration_print(const struct kube_configuration *c, struct strbuf *out)
{
    yaml_print(c->tree, out);
}
