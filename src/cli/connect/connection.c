/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/connection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect/call_retry.h"
#include "cli/connect/client_settings.h"
#include "cli/connect/getent.h"
#include "lib/api/object/status.h"
#include "lib/auth/auth_client.h"
#include "lib/auth/credential_backend.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/remote.h"
#include "lib/http/http_client.h"
#include "lib/http/http_login.h"
#include "lib/loop/loop.h"

/* Of several controllers, the first may stand still, and another one lead. */
#define ANSWER_OF_SEVERAL_MS 15000

#define LOCAL_SOCKET RUNSTATEDIR "/kiln/socket"
#define UNIX_SCHEME  "http+unix://"
#define DEFAULT_USER "kiln"
#define LEADER_BYTES 1024

struct connection {
    char *server;
    struct client_settings settings;
    struct loop *loop;
    struct credential_backend *credential_backend; /* NULL for a Unix socket */
    uid_t service_uid;
    struct http_login *login;
    struct http_client *http;
    struct client *client;
    struct call_retry retry;
};

/* ---- The server's address ---- */

/* Users write an address as a URL, as HOST:PORT, or as the path of a socket. */
static char *
url_of(const char *server)
{
    if (strncmp(server, "unix://", 7) == 0)
        return xasprintf(UNIX_SCHEME "%s", server + 7);
    if (strstr(server, "://") != NULL)
        return xstrdup(server);
    if (server[0] == '/')
        return xasprintf(UNIX_SCHEME "%s", server);
    return xasprintf("http://%s", server);
}

static bool
is_local(const char *url)
{
    return strncmp(url, UNIX_SCHEME, sizeof(UNIX_SCHEME) - 1) == 0;
}

/* Reads the configuration if the server or its user is to come from it. */
static int
find_server(struct connection *c, const char *server, struct error *err)
{
    int r;

    if (server == NULL || server[0] == '\0')
        server = getenv("KILN_SERVER");
    if (server != NULL && server[0] != '\0') {
        c->server = url_of(server);
        return is_local(c->server) ? 0 : client_settings_read(&c->settings, err);
    }
    r = client_settings_read(&c->settings, err);
    if (r < 0)
        return r;
    if (c->settings.server != NULL)
        c->server = url_of(c->settings.server);
    else if (access(LOCAL_SOCKET, F_OK) == 0 || access(LOCAL_SOCKET ".leader", F_OK) == 0)
        c->server = url_of(LOCAL_SOCKET);
    else
        return error_set(err, -EHOSTUNREACH,
                         "no controller is configured, and none runs on this "
                         "machine ('%s' does not exist); give its address "
                         "with --server URL, KILN_SERVER, or server: in %s",
                         LOCAL_SOCKET, client_settings_path());
    return 0;
}

/* A controller that waits to lead has no local socket, and names in a file beside it
 * the one that leads.
 */
static int
follow_leader(struct connection *c, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s.leader", c->server + strlen(UNIX_SCHEME));
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(path, LEADER_BYTES, &text, NULL) < 0 || strncmp(text.text, "http://", 7) != 0)
        return 0;
    free(c->server);
    c->server = xstrndup(text.text, strcspn(text.text, "\n"));
    client_settings_fini(&c->settings);
    c->settings = (struct client_settings){0};
    return client_settings_read(&c->settings, err);
}

/* ---- Authentication of the controller and of the user ---- */

static int
service_uid(const struct client_settings *settings, uid_t *ret_uid, struct error *err)
{
    const char *name = settings->service_user != NULL ? settings->service_user : DEFAULT_USER;
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    int r;

    if (end != name && *end == '\0') {
        *ret_uid = (uid_t)number;
        return 0;
    }
    r = getent_find_user(&getent_system_files, name, ret_uid);
    if (r == 0)
        return 0;
    return error_set(err, -EHOSTDOWN,
                     "the controller's user '%s' is unknown on this "
                     "machine%s%s; set serviceUser: in %s",
                     name, r != -ENOENT ? ", where getent cannot be run: " : "",
                     r != -ENOENT ? strerror(-r) : "", client_settings_path());
}

static int
log_in(struct connection *c, enum connection_use use, struct error *err)
{
    struct auth_client_settings settings = {.cluster = c->settings.cluster};
    int r = service_uid(&c->settings, &settings.service_uid, err);

    if (r < 0)
        return r;
    c->service_uid = settings.service_uid;
    if (settings.cluster == NULL)
        settings.cluster = "kiln";
    c->credential_backend = credential_backend_new_munge(c->settings.munge_socket);
    settings.credential_backend = c->credential_backend;
    c->login = http_login_new(c->loop, NULL, &settings,
                              use == CONNECTION_ONCE ? HTTP_LOGIN_REQUEST : HTTP_LOGIN_SESSION);
    return 0;
}

static int
resolve(const char *host, struct http_endpoints *places, struct error *err)
{
    return getent_find_host(&getent_system_files, host, places, err);
}

/* Life */

void
connection_close(struct connection *c)
{
    if (c == NULL)
        return;
    client_free(c->client);
    http_client_free(c->http);
    http_login_free(c->login);
    credential_backend_free(c->credential_backend);
    loop_free(c->loop);
    client_settings_fini(&c->settings);
    free(c->server);
    free(c);
}

int
connection_open(const char *server, const char *as_user, enum connection_use use,
                struct connection **ret_connection, struct error *err)
{
    CLEANUP(connection_closep)
    struct connection *c = xnew(struct connection);
    /* Each watch occupies a connection, and kctl proxy may have many. */
    struct http_client_settings settings = {
        .connections = use == CONNECTION_ONCE ? 1 : 256,
        .resolve = resolve,
        .as_user = as_user,
    };
    int r;

    r = find_server(c, server, err);
    if (r == 0 && is_local(c->server))
        r = follow_leader(c, err);
    if (r < 0)
        return r;
    if (use == CONNECTION_ONCE && strchr(c->server, ',') != NULL)
        settings.answer_ms = ANSWER_OF_SEVERAL_MS;
    c->loop = loop_new();
    if (!is_local(c->server)) {
        r = log_in(c, use, err);
        if (r < 0)
            return r;
    }
    settings.login = c->login;
    r = http_client_new(c->loop, c->server, &settings, &c->http, err);
    if (r < 0)
        return r;
    c->client = remote_client_new(c->loop, c->http);
    *ret_connection = c;
    c = NULL;
    return 0;
}

int
connection_unseal(struct connection *c, const char *credential, struct arena *arena,
                  const char **ret_text, struct error *err)
{
    struct credential opened = {0};
    int r;

    if (c->credential_backend == NULL)
        return error_set(err, -EREMOTEIO, "this connection carries no MUNGE credentials");
    r = credential_backend_decode(c->credential_backend, credential, &opened, err);
    if (r == 0 && opened.uid != c->service_uid)
        r = error_set(err, -EKEYREJECTED, "uid %u signed the answer, not the controller",
                      (unsigned)opened.uid);
    if (r == 0)
        *ret_text = arena_strndup(arena, opened.payload, opened.length);
    credential_fini(&opened);
    return r;
}

void
connection_wait_for_server(struct connection *c, const char *program)
{
    c->retry = (struct call_retry){.program = program, .server = c->server};
}

struct call_retry *
connection_retry(struct connection *c)
{
    return &c->retry;
}

struct client *
connection_client(struct connection *c)
{
    return c->client;
}

struct http_client *
connection_http(struct connection *c)
{
    return c->http;
}

const char *
connection_server(const struct connection *c)
{
    return c->server;
}

static bool
means_unreachable(int r)
{
    switch (r) {
    case -ECONNREFUSED:
    case -EHOSTUNREACH:
    case -ENETUNREACH:
    case -ETIMEDOUT:
        return true;
    default:
        return false;
    }
}

int
connection_advise(int r, struct error *err)
{
    char words[sizeof(err->text)];

    if (r == 0 || err == NULL || err->code == 0)
        return r;
    if (!means_unreachable(r)) {
        CLEANUP_STRBUF struct strbuf plain = STRBUF_INIT;

        status_add_plain_message(err->text, &plain);
        return error_set(err, r, "%s", plain.text);
    }
    snprintf(words, sizeof(words), "%s", err->text);
    return error_set(err, r,
                     "%.800s (the server is set by --server, KILN_SERVER or "
                     "%s)",
                     words, client_settings_path());
}
