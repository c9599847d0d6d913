/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/tls_access.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect/connection.h"
#include "cli/connect/inquiry.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The host in the server's URL; this host when the server is a socket. */
static const char *
host_of(const struct connection *c, struct arena *arena)
{
    static const char scheme[] = "http://";
    const char *url = connection_server(c), *colon;
    char name[256] = "localhost";

    if (strncmp(url, scheme, sizeof(scheme) - 1) != 0) {
        (void)gethostname(name, sizeof(name) - 1);
        return arena_strdup(arena, name);
    }
    url += sizeof(scheme) - 1;
    url = arena_strndup(arena, url, strcspn(url, "/"));
    colon = strrchr(url, ':');
    if (colon == NULL || colon[strcspn(colon, "]")] != '\0')
        return url;
    return arena_strndup(arena, url, (size_t)(colon - url));
}

static const char *
in_base64(struct arena *arena, const char *text)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    base64_encode(&out, text, strlen(text));
    return arena_strndup(arena, out.text, out.length);
}

int
tls_access_find_endpoint(struct connection *c, const char *host, struct arena *arena,
                         struct tls_endpoint *ret_endpoint, struct error *err)
{
    struct json *answer;
    const char *cluster, *authority;
    int64_t port;
    int r = inquiry_run(c, HTTP_GET, "/kiln/v1/access", NULL, arena, &answer, err);

    if (r < 0)
        return r;
    cluster = json_get_text(answer, "cluster");
    authority = json_get_text(answer, "certificateAuthority");
    port = json_get_int(answer, "port", 0);
    if (cluster == NULL || authority == NULL || port <= 0)
        return error_set(err, -EREMOTEIO,
                         "the controller does not publish the address where "
                         "it serves TLS");
    ret_endpoint->cluster = cluster;
    ret_endpoint->authority_base64 = in_base64(arena, authority);
    ret_endpoint->url =
        arena_printf(arena, "https://%s:%" PRId64, host != NULL ? host : host_of(c, arena), port);
    return 0;
}

int
tls_access_get_token(struct connection *c, struct arena *arena, struct tls_access_token *ret_token,
                     struct error *err)
{
    struct json *answer;
    const char *sealed;
    int r = inquiry_run(c, HTTP_POST, "/kiln/v1/token", NULL, arena, &answer, err);

    if (r < 0)
        return r;
    ret_token->text = json_get_text(answer, "token");
    ret_token->ends_at = json_get_text(answer, "expirationTimestamp");
    sealed = json_get_text(answer, "credential");
    if (sealed != NULL)
        r = connection_unseal(c, sealed, arena, &ret_token->text, err);
    if (r < 0)
        return r;
    if (ret_token->text == NULL || ret_token->ends_at == NULL)
        return error_set(err, -EREMOTEIO, "the controller's answer contains no token");
    return 0;
}

int
tls_access_make_metrics_token(struct connection *c, const char *name, struct arena *arena,
                              const char **ret_token, struct error *err)
{
    struct json *answer;
    int r = inquiry_run(c, HTTP_POST, arena_printf(arena, "/kiln/v1/metrics-token?name=%s", name),
                        NULL, arena, &answer, err);

    if (r < 0)
        return r;
    *ret_token = json_get_text(answer, "token");
    if (*ret_token == NULL)
        return error_set(err, -EREMOTEIO, "the controller's answer contains no token");
    return 0;
}

int
tls_access_end_metrics_token(struct connection *c, const char *name, struct arena *arena,
                             struct error *err)
{
    struct json *answer;

    return inquiry_run(c, HTTP_DELETE, arena_printf(arena, "/kiln/v1/metrics-token?name=%s", name),
                       NULL, arena, &answer, err);
}
