/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/api_connection.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/registration.h"
#include "agent/settings.h"
#include "lib/auth/auth_client.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/client/remote.h"
#include "lib/http/http_client.h"
#include "lib/http/http_login.h"

/* Of several controllers, one that stands still must be left before the node
 * counts as silent at the next (nodeGrace).
 */
#define ANSWER_OF_SEVERAL_MS 20000

/* The user is a name that the system knows, or a number. */
static int
service_uid(const char *user, uid_t *ret_uid, struct error *err)
{
    const struct passwd *p = getpwnam(user);
    char *end;
    unsigned long number = strtoul(user, &end, 10);

    if (p != NULL)
        *ret_uid = p->pw_uid;
    else if (*user != '\0' && *end == '\0')
        *ret_uid = (uid_t)number;
    else
        return error_set(err, -ENOENT,
                         "--service-user: there is no user '%s' on this "
                         "machine; give the user that kiln-controller runs as",
                         user);
    return 0;
}

static int
open_login(struct api_connection *connection, const struct api_connection_settings *s,
           struct error *err)
{
    struct node_secret secret;
    struct auth_client_settings auth = {
        .cluster = s->agent->cluster,
        .node_name = s->node,
    };
    int r = service_uid(s->agent->service_user, &auth.service_uid, err);

    if (r < 0)
        return r;
    connection->service_uid = auth.service_uid;
    if (s->secret_path != NULL) {
        r = registration_read_secret(s->secret_path, &secret, err);
        if (r == 0)
            auth.secret = &secret;
        else if (r != -ENOENT)
            return r;
    }
    connection->credential_backend = credential_backend_new_munge(s->agent->munge_socket);
    auth.credential_backend = connection->credential_backend;
    connection->login = http_login_new(s->loop, s->workers, &auth, HTTP_LOGIN_SESSION);
    return 0;
}

int
api_connection_open(struct api_connection *connection, const struct api_connection_settings *s,
                    struct error *err)
{
    struct http_client_settings settings = {.connections = 8, .resolve = http_resolve};
    int r;

    if (strchr(s->agent->controller, ',') != NULL)
        settings.answer_ms = ANSWER_OF_SEVERAL_MS;
    if (strncmp(s->agent->controller, "http+unix:", 10) != 0) {
        r = open_login(connection, s, err);
        if (r < 0)
            return r;
        settings.login = connection->login;
    }
    r = http_client_new(s->loop, s->agent->controller, &settings, &connection->http, err);
    if (r < 0)
        return r;
    connection->client = remote_client_new(s->loop, connection->http);
    connection->event_recorder =
        event_recorder_new(connection->client, &clock_system, "kiln-agent", s->node);
    return 0;
}

void
api_connection_close(struct api_connection *connection)
{
    event_recorder_free(connection->event_recorder);
    if (connection->client != NULL)
        client_free(connection->client);
    http_client_free(connection->http);
}

void
api_connection_fini(struct api_connection *connection)
{
    http_login_free(connection->login);
    credential_backend_free(connection->credential_backend);
}
