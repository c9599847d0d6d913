/* SPDX-License-Identifier: Apache-2.0 */
/* kctl kubeconfig, credential - access to the API by TLS for other tools
 *
 * Kubeconfig writes the file that kubectl and client libraries read. The file
 * tells them to run credential for a new token when the last one has expired.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/connect/tls_access.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

#define EXEC_VERSION "client.authentication.k8s.io/v1"

struct kubeconfig_options {
    struct common_options common;
    const char *host;
};

static const struct option_spec kubeconfig_rows[] = {
    COMMON_OPTIONS,
    {.name = "host",
     .argument = "NAME",
     .help = "the name or address of the controller in it, if clients use a "
             "different one",
     .type = OPTION_TEXT,
     .offset = offsetof(struct kubeconfig_options, host)},
};

static const struct option_table kubeconfig_table = {
    .name = "kctl kubeconfig",
    .usage = "[OPTION]...",
    .summary = "Write the configuration that kubectl and client libraries "
               "need to reach this cluster as you.",
    OPTION_ROWS(kubeconfig_rows),
};

static const struct option_spec credential_rows[] = {COMMON_OPTIONS};

static const struct option_table credential_table = {
    .name = "kctl credential",
    .usage = "[OPTION]...",
    .summary = "Get a short-lived token, in the form that kubectl expects "
               "from a credential plugin.",
    OPTION_ROWS(credential_rows),
};

/* The path of this program, so that it is found without PATH. */
static const char *
own_path(struct arena *arena)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

    return n > 0 ? arena_strndup(arena, path, (size_t)n) : "kctl";
}

static struct json *
named(struct arena *a, const char *name, const char *what, struct json *value)
{
    struct json *item = json_object(a), *list = json_array(a);

    json_set_string(a, item, "name", name);
    json_set(a, item, what, value);
    json_append(a, list, item);
    return list;
}

static struct json *
exec_plugin(const struct kctl *kctl, struct arena *a)
{
    struct json *user = json_object(a);
    struct json *exec = json_make_object(a, user, "exec");
    struct json *args = json_array(a);

    json_append(a, args, json_string(a, "credential"));
    if (kctl->server != NULL) {
        json_append(a, args, json_string(a, "--server"));
        json_append(a, args, json_string(a, kctl->server));
    }
    json_set_string(a, exec, "apiVersion", EXEC_VERSION);
    json_set_string(a, exec, "command", own_path(a));
    json_set(a, exec, "args", args);
    json_set_string(a, exec, "interactiveMode", "Never");
    json_set_bool(a, exec, "provideClusterInfo", false);
    return user;
}

static struct json *
configuration(const struct kctl *kctl, const struct tls_endpoint *endpoint, struct arena *a)
{
    struct json *all = json_object(a);
    struct json *cluster = json_object(a), *context = json_object(a);

    json_set_string(a, cluster, "server", endpoint->url);
    json_set_string(a, cluster, "certificate-authority-data", endpoint->authority_base64);
    json_set_string(a, context, "cluster", endpoint->cluster);
    json_set_string(a, context, "user", endpoint->cluster);
    if (kctl->namespace != NULL)
        json_set_string(a, context, "namespace", kctl->namespace);
    json_set_string(a, all, "apiVersion", "v1");
    json_set_string(a, all, "kind", "Config");
    json_set(a, all, "clusters", named(a, endpoint->cluster, "cluster", cluster));
    json_set(a, all, "users", named(a, endpoint->cluster, "user", exec_plugin(kctl, a)));
    json_set(a, all, "contexts", named(a, endpoint->cluster, "context", context));
    json_set_string(a, all, "current-context", endpoint->cluster);
    return all;
}

static int
kubeconfig_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
               struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct kubeconfig_options *o = options;
    struct tls_endpoint endpoint;
    int r;

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected", operands[0]);
    r = kctl_open(kctl, err);
    if (r == 0)
        r = tls_access_find_endpoint(kctl->connection, o->host, arena, &endpoint, err);
    if (r < 0)
        return r;
    yaml_print(configuration(kctl, &endpoint, arena), &text);
    fputs(text.text, stdout);
    return 0;
}

static int
credential_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
               struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *answer = json_object(arena), *status;
    struct tls_access_token token;
    int r;

    (void)options;
    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected", operands[0]);
    r = kctl_open(kctl, err);
    if (r == 0)
        r = tls_access_get_token(kctl->connection, arena, &token, err);
    if (r < 0)
        return r;
    json_set_string(arena, answer, "apiVersion", EXEC_VERSION);
    json_set_string(arena, answer, "kind", "ExecCredential");
    status = json_make_object(arena, answer, "status");
    json_set_string(arena, status, "token", token.text);
    json_set_string(arena, status, "expirationTimestamp", token.ends_at);
    json_print(answer, &text);
    puts(text.text);
    return 0;
}

const struct command kubeconfig_command = {
    .name = "kubeconfig",
    .options = &kubeconfig_table,
    .options_size = sizeof(struct kubeconfig_options),
    .run = kubeconfig_run,
};

const struct command credential_command = {
    .name = "credential",
    .options = &credential_table,
    .options_size = sizeof(struct common_options),
    .run = credential_run,
};
