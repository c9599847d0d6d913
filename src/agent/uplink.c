/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/uplink.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "agent/registration.h"
#include "agent/settings.h"
#include "lib/auth/auth_client.h"
#include "lib/auth/notary.h"
#include "lib/auth/secret.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/client/announcer.h"
#include "lib/client/client.h"
#include "lib/client/remote.h"
#include "lib/http/http_client.h"
#include "lib/http/http_login.h"

/* A number, or a name that the system knows. */
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
        return error_set(err,
                         -ENOENT,
                         "--service-user: no user '%s' on this machine: which "
                         "user does kiln-controller run as?",
                         user);
    return 0;
}

static int
open_login(struct uplink *uplink,
           const struct uplink_settings *s,
           struct error *err)
{
    struct secret secret;
    struct auth_client_settings auth = {
        .cluster = s->agent->cluster,
        .node_name = s->node,
    };
    int r = service_uid(s->agent->service_user, &auth.service_uid, err);

    if (r < 0)
        return r;
    if (s->secret_path != NULL) {
        r = registration_read_secret(s->secret_path, &secret, err);
        if (r == 0)
            auth.secret = &secret;
        else if (r != -ENOENT)
            return r;
    }
    uplink->notary = notary_new_munge(s->agent->munge_socket);
    auth.notary = uplink->notary;
    uplink->login =
        http_login_new(s->loop, s->workers, &auth, HTTP_LOGIN_SESSION);
    return 0;
}

int
uplink_open(struct uplink *uplink,
            const struct uplink_settings *s,
            struct error *err)
{
    struct http_client_settings settings = {.connections = 8,
                                            .resolve = http_resolve};
    int r;

    if (strncmp(s->agent->controller, "http+unix:", 10) != 0) {
        r = open_login(uplink, s, err);
        if (r < 0)
            return r;
        settings.login = uplink->login;
    }
    r = http_client_new(s->loop,
                        s->agent->controller,
                        &settings,
                        &uplink->http,
                        err);
    if (r < 0)
        return r;
    uplink->client = remote_client_new(s->loop, uplink->http);
    uplink->announcer =
        announcer_new(uplink->client, &clock_system, "kiln-agent", s->node);
    return 0;
}

void
uplink_hang_up(struct uplink *uplink)
{
    announcer_free(uplink->announcer);
    if (uplink->client != NULL)
        client_free(uplink->client);
    http_client_free(uplink->http);
}

void
uplink_fini(struct uplink *uplink)
{
    http_login_free(uplink->login);
    notary_free(uplink->notary);
}
