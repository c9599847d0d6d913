/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/extender_url.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

static const struct scheme {
    const char *text;
    unsigned port;
} schemes[] = {
    {"http://", 80},
    {"https://", 443},
};

static const struct scheme *
find_scheme(const char *url)
{
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
        if (strncmp(url, schemes[i].text, strlen(schemes[i].text)) == 0)
            return &schemes[i];
    return NULL;
}

/* "name", "name:port", "[::1]", "[::1]:port" */
static bool
is_host(const char *host, size_t length, bool *ret_has_port)
{
    const char *end = host + length;
    const char *port;

    if (length > 0 && host[0] == '[') {
        const char *bracket = memchr(host, ']', length);

        if (bracket == NULL || bracket == host + 1)
            return false;
        port = bracket + 1;
    } else {
        port = memchr(host, ':', length);
        if (port == NULL)
            port = end;
        if (port == host)
            return false;
    }
    for (const char *at = host; at < end; at++)
        if (!isgraph((unsigned char)*at) || *at == '@')
            return false;
    *ret_has_port = port < end;
    if (port == end)
        return true;
    return *port == ':' && end - port > 1 && end - port <= 6
           && strspn(port + 1, "0123456789") >= (size_t)(end - port - 1) && atoi(port + 1) > 0
           && atoi(port + 1) <= 65535;
}

static bool
is_path(const char *path)
{
    for (; *path != '\0'; path++)
        if (!isgraph((unsigned char)*path) || *path == '?' || *path == '#')
            return false;
    return true;
}

int
extender_url_split(const char *url, char **ret_origin, char **ret_path, struct error *err)
{
    const struct scheme *scheme = find_scheme(url);
    const char *host, *path;
    bool has_port;
    size_t end;

    if (scheme == NULL)
        return error_set(err, -EINVAL, "\"%s\" is not a URL such as http://HOST:PORT/PATH", url);
    host = url + strlen(scheme->text);
    path = host + strcspn(host, "/?#");
    if (!is_host(host, (size_t)(path - host), &has_port) || !is_path(path))
        return error_set(err, -EINVAL,
                         "\"%s\" is not a host, a port from 1 to 65535 and a "
                         "path, such as http://HOST:PORT/PATH",
                         url);
    end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    *ret_path = xstrndup(path, end);
    *ret_origin = has_port ? xstrndup(url, (size_t)(path - url))
                           : xasprintf("%.*s:%u", (int)(path - url), url, scheme->port);
    return 0;
}
