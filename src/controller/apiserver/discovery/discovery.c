/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/discovery/discovery.h"

#include <string.h>
#include <sys/utsname.h>

#include "controller/apiserver/access/audit_log.h"
#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/discovery/api_resources.h"
#include "controller/apiserver/discovery/discovery_documents.h"
#include "controller/apiserver/discovery/openapi.h"
#include "controller/apiserver/request/accept.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/json/json.h"

/* The API release that Kiln implements; kubectl reads major and minor. */
#define API_MAJOR   "1"
#define API_MINOR   "32"
#define API_VERSION "v1.32.0"

#define TEXT "text/plain; charset=utf-8"

/* All of these except /metrics need no authentication. */
static const char *const public_paths[] = {
    "/healthz", "/livez", "/metrics", "/readyz", "/version", "/version/",
};

bool
discovery_is_public(const char *path)
{
    for (unsigned i = 0; i < ARRAY_SIZE(public_paths); i++)
        if (strcmp(path, public_paths[i]) == 0)
            return strcmp(path, "/metrics") != 0;
    return false;
}

static const char *
describe_damaged(const struct request *q)
{
    size_t n = store_count_damaged(q->server->store);

    return n > 0 ? arena_printf(q->arena,
                                "[-]storeRows %zu objects cannot be read and "
                                "are kept aside (--check-store in "
                                "kiln-controller(8))\n",
                                n)
                 : "";
}

static const char *
describe_damaged_since(const struct request *q)
{
    size_t n = store_count_damaged_since(q->server->store);

    return n > 0 ? arena_printf(q->arena,
                                "[-]storeChecksums %zu rows on the disk "
                                "differ from what was written: the log lists "
                                "them\n",
                                n)
                 : "";
}

/* Everybody may read this, so it does not name the file; 'kctl status' does. A full
 * disk is no reason to call the controller unready.
 */
static bool
has_audit_trouble(const struct request *q, bool *ret_is_passing)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    return q->server->audit != NULL
           && audit_log_find_trouble(q->server->audit, &words, ret_is_passing);
}

static const char *
describe_audit(const struct request *q)
{
    bool is_passing;

    if (q->server->audit == NULL)
        return "";
    return has_audit_trouble(q, &is_passing) ? "[-]audit log cannot be written\n" : "[+]audit ok\n";
}

static bool
has_one_copy(const struct request *q)
{
    return store_is_in_database(q->server->store) && store_copies(q->server->store) == 1;
}

static const char *
describe_full(const struct request *q)
{
    return store_is_in_database(q->server->store)
               ? "[-]store accepts only reads: its database has no space"
               : "[-]store accepts only reads and deletes: its disk is full";
}

/* Everybody may read this, so it names nobody. */
static const char *
describe_pause(const struct request *q)
{
    return scheduling_pause_describe(q->server, q->arena) != NULL
               ? "[+]scheduling ok: it is paused, and no job starts\n"
               : "";
}

static void
reply_health(struct request *q, const char *path)
{
    bool is_ready = !q->server->is_closing;
    bool is_passing;
    const char *text = "ok";

    if (strcmp(path, "/readyz") == 0 && !is_ready) {
        text = "[-]shutdown failed: the controller is stopping\n"
               "readyz check failed\n";
        reply_text(&q->reply, 500, TEXT, text, strlen(text));
        return;
    }
    if (strcmp(path, "/readyz") == 0 && q->server->is_munge_dead != NULL
        && atomic_load(q->server->is_munge_dead)) {
        text = "[-]munge failed: munged does not answer: users on other "
               "machines cannot be authenticated\n"
               "readyz check failed\n";
        reply_text(&q->reply, 500, TEXT, text, strlen(text));
        return;
    }
    if (strcmp(path, "/readyz") == 0 && store_waits(q->server->store)) {
        text = "[-]store failed: the database does not answer, and changes wait for it: see the "
               "log\nreadyz check failed\n";
        reply_text(&q->reply, 500, TEXT, text, strlen(text));
        return;
    }
    if (strcmp(path, "/readyz") == 0 && has_audit_trouble(q, &is_passing) && !is_passing) {
        text = "[-]audit failed: the audit log cannot be written: 'kctl status' says why\n"
               "readyz check failed\n";
        reply_text(&q->reply, 500, TEXT, text, strlen(text));
        return;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(q->server->leases); i++)
        if (q->server->leases[i] != NULL && atomic_load(q->server->leases[i])) {
            text = arena_printf(q->arena,
                                "[-]leaderElection failed: the lease cannot "
                                "be renewed\n%s check failed\n",
                                path + 1);
            reply_text(&q->reply, 500, TEXT, text, strlen(text));
            return;
        }
    if (q->is_verbose)
        text = arena_printf(q->arena,
                            "[+]ping ok\n%s\n%s%s%s%s[+]munge ok\n"
                            "[+]leaderElection ok\n"
                            "[+]shutdown ok\n%s "
                            "check passed\n",
                            store_is_read_only(q->server->store) ? describe_full(q)
                            : has_one_copy(q) ? "[+]store ok: what is acknowledged is on one disk "
                                                "only, for the database has no synchronous standby"
                                              : "[+]store ok",
                            describe_damaged(q), describe_damaged_since(q), describe_audit(q),
                            describe_pause(q), path + 1);
    reply_text(&q->reply, 200, TEXT, text, strlen(text));
}

/* The part of a version after its "+" has no other one. */
static void
reply_version(struct request *q)
{
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    char *metadata = arena_strdup(a, version_text());
    struct utsname machine;

    uname(&machine);
    for (char *c = metadata; *c != '\0'; c++)
        if (*c == '+')
            *c = '.';
    json_set_string(a, tree, "major", API_MAJOR);
    json_set_string(a, tree, "minor", API_MINOR);
    json_set(a, tree, "gitVersion", json_stringf(a, API_VERSION "+kiln.%s", metadata));
    json_set_string(a, tree, "gitCommit", version_commit());
    json_set_string(a, tree, "gitTreeState", "clean");
    json_set_string(a, tree, "buildDate", "1970-01-01T00:00:00Z");
    json_set_string(a, tree, "goVersion", "none");
    json_set_string(a, tree, "compiler", "cc");
    json_set(a, tree, "platform",
             json_stringf(a, "linux/%s",
                          strcmp(machine.machine, "x86_64") == 0 ? "amd64" : machine.machine));
    reply_tree(&q->reply, 200, tree);
}

static void
reply_metrics(struct request *q)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (q->server->metrics != NULL)
        metric_format(q->server->metrics, &text);
    reply_text(&q->reply, 200, METRIC_CONTENT_TYPE,
               arena_memdup(q->arena, text.text, text.length + 1), text.length);
}

static void
reply_paths(struct request *q)
{
    const struct kind *list[API_RESOURCES_MAX_VERSIONS];
    struct arena *a = q->arena;
    struct json *tree = json_object(a);
    struct json *paths = json_array(a);

    json_append(a, paths, json_string(a, "/api"));
    json_append(a, paths, json_string(a, "/api/v1"));
    json_append(a, paths, json_string(a, "/apis"));
    for (const char *const *group = api_resources_groups + 1; *group != NULL; group++) {
        unsigned n = api_resources_versions(*group, q->server->profile, list);

        if (n > 0)
            json_append(a, paths, json_stringf(a, "/apis/%s", *group));
        for (unsigned i = 0; i < n; i++)
            json_append(a, paths, json_stringf(a, "/apis/%s", list[i]->api_version));
    }
    json_append(a, paths, json_string(a, "/openapi/v3"));
    for (unsigned i = 0; i < ARRAY_SIZE(public_paths) - 1; i++)
        json_append(a, paths, json_string(a, public_paths[i]));
    json_set(a, tree, "paths", paths);
    reply_tree(&q->reply, 200, tree);
}

/* Serves /apis/GROUP and /apis/GROUP/VERSION. */
static bool
serve_group(struct request *q, const char *path)
{
    char *group = arena_strdup(q->arena, path);
    char *version = strchr(group, '/');

    if (version == NULL)
        return discovery_group(q, group);
    *version++ = '\0';
    if (version[0] == '\0')
        return discovery_group(q, group);
    version[strcspn(version, "/")] = '\0';
    return strlen(group) + 1 + strlen(version) >= strlen(path) - 1
           && discovery_resources(q, group, version);
}

static bool
is_path(const char *path, const char *wanted)
{
    size_t n = strlen(wanted);

    return strncmp(path, wanted, n) == 0
           && (path[n] == '\0' || (path[n] == '/' && path[n + 1] == '\0'));
}

/* Serves /api and /apis in the form that the client prefers. */
static void
serve_root(struct request *q, const struct discovery_question *asked)
{
    bool is_core = is_path(asked->path, "/api");
    struct accept accept;

    if (!accept_parse_discovery(asked->accept, &accept, &q->reply))
        return;
    if (accept.form == ACCEPT_DISCOVERY)
        discovery_aggregated(q, is_core, accept.is_v2beta1, asked->if_none_match);
    else if (is_core)
        discovery_api_versions(q);
    else
        discovery_groups(q);
}

static const char *const readable_paths[] = {
    "/api",     "/api/*",     "/apis",   "/apis/*",  "/healthz",  "/livez", "/metrics",
    "/openapi", "/openapi/*", "/readyz", "/version", "/version/", NULL,
};

const char *const *
discovery_paths(void)
{
    return readable_paths;
}

bool
discovery_knows(const char *path)
{
    for (const char *const *known = readable_paths; *known != NULL; known++) {
        size_t n = strcspn(*known, "*");

        if (strncmp(*known, path, n) == 0 && ((*known)[n] == '*' || path[n] == '\0'))
            return true;
    }
    return false;
}

bool
discovery_serve(struct request *q, const struct discovery_question *asked)
{
    const char *path = asked->path;
    struct accept accept;

    if (is_path(path, "/api") || is_path(path, "/apis")) {
        serve_root(q, asked);
        return true;
    }
    if (strcmp(path, "/healthz") == 0 || strcmp(path, "/livez") == 0
        || strcmp(path, "/readyz") == 0)
        reply_health(q, path);
    else if (strcmp(path, "/metrics") == 0)
        reply_metrics(q);
    else if (strcmp(path, "/configz") == 0 && q->server->configz != NULL)
        reply_text(&q->reply, 200, "application/json", q->server->configz,
                   strlen(q->server->configz));
    else if (strncmp(path, "/openapi/v3", 11) == 0)
        return openapi_serve(q, path + 11, asked->if_none_match);
    else if (strcmp(path, "/openapi/v2") == 0)
        openapi_serve_old(q, asked->accept);
    else if ((!discovery_knows(path) && strcmp(path, "/") != 0)
             || strncmp(path, "/openapi", 8) == 0)
        return false;
    else if (!accept_parse(asked->accept, &accept, &q->reply))
        return true;
    else if (is_path(path, "/version"))
        reply_version(q);
    else if (strcmp(path, "/") == 0)
        reply_paths(q);
    else if (is_path(path, "/api/v1"))
        return discovery_resources(q, "", "v1");
    else if (strncmp(path, "/apis/", 6) == 0)
        return serve_group(q, path + 6);
    else
        return false;
    return true;
}
