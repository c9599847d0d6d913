/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/http/http_endpoint.h"

static const char tcp_scheme[] = "http://";
static const char tls_scheme[] = "https://";
static const char unix_scheme[] = "http+unix://";

void
http_address_fini(struct http_address *a)
{
    free(a->url);
    free(a->path);
    free(a->host);
    free(a->port);
    free(a->host_header);
    *a = (struct http_address){0};
}

static bool
has_scheme(const char *url, const char *scheme)
{
    return strncmp(url, scheme, strlen(scheme)) == 0;
}

static int
bad_url(const char *url, const char *why, struct error *err)
{
    return error_set(err, -EINVAL,
                     "controller URL '%s': %s (expected 'http://HOST:PORT' or "
                     "'http+unix:///PATH')",
                     url, why);
}

static int
parse_unix(const char *url, struct http_address *a, struct error *err)
{
    const char *path = url + sizeof(unix_scheme) - 1;
    struct sockaddr_un room;

    if (path[0] != '/')
        return bad_url(url, "the socket's path is not absolute", err);
    if (strlen(path) >= sizeof(room.sun_path))
        return bad_url(url, "the socket's path is too long", err);
    a->path = xstrdup(path);
    a->host_header = xstrdup("localhost");
    return 0;
}

static int
parse_tcp(const char *url, const char *host, struct http_address *a, struct error *err)
{
    size_t length = strcspn(host, "/?#");
    const char *rest = host + length;
    const char *colon = memrchr(host, ':', length);
    size_t host_length, port_length;

    if (rest[0] != '\0' && strcmp(rest, "/") != 0)
        return bad_url(url, "a path is not allowed", err);
    if (memchr(host, '@', length) != NULL)
        return bad_url(url, "a user is not allowed", err);
    if (colon == NULL || (host[0] == '[' && colon[-1] != ']'))
        return bad_url(url, "no port", err);
    host_length = (size_t)(colon - host);
    port_length = length - host_length - 1;
    if (port_length == 0 || port_length > 5 || strspn(colon + 1, "0123456789") != port_length
        || strtoul(colon + 1, NULL, 10) > 65535)
        return bad_url(url, "a malformed port", err);
    a->host_header = xstrndup(host, length);
    a->port = xstrndup(colon + 1, port_length);
    if (host[0] == '[') {
        host++;
        host_length -= 2;
    }
    if (host_length == 0)
        return bad_url(url, "no host", err);
    a->host = xstrndup(host, host_length);
    return 0;
}

int
http_address_parse(const char *url, bool knows_tls, struct http_address *ret_address,
                   struct error *err)
{
    struct http_address a = {0};
    int r;

    a.is_secure = has_scheme(url, tls_scheme);
    if (a.is_secure && !knows_tls)
        return bad_url(url, "TLS is not supported here", err);
    if (has_scheme(url, unix_scheme))
        r = parse_unix(url, &a, err);
    else if (a.is_secure)
        r = parse_tcp(url, url + sizeof(tls_scheme) - 1, &a, err);
    else if (has_scheme(url, tcp_scheme))
        r = parse_tcp(url, url + sizeof(tcp_scheme) - 1, &a, err);
    else
        r = bad_url(url, "unknown scheme", err);
    if (r < 0) {
        http_address_fini(&a);
        return r;
    }
    a.url = xstrdup(url);
    *ret_address = a;
    return 0;
}

int
http_address_resolve(const struct http_address *a, http_resolve_fn *resolve,
                     struct http_endpoints *places, struct error *err)
{
    in_port_t port = htons((uint16_t)strtoul(a->port, NULL, 10));
    int r = 0;

    if (!http_endpoints_add(places, a->host))
        r = resolve != NULL
                ? resolve(a->host, places, err)
                : error_set(err, -EHOSTUNREACH, "host '%s': not a numeric address", a->host);
    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].at.any.sa_family == AF_INET6)
            places->items[i].at.v6.sin6_port = port;
        else
            places->items[i].at.v4.sin_port = port;
    return r;
}

static int
start_connect(int family, const void *at, socklen_t length, int *ret_fd)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    if (connect(fd, at, length) < 0 && errno != EINPROGRESS) {
        int r = -errno;

        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int
http_address_connect_tcp(const struct http_endpoint *at, int *ret_fd)
{
    static const int on = 1;
    int r = start_connect(at->at.any.sa_family, &at->at, at->length, ret_fd);

    if (r < 0)
        return r;
    setsockopt(*ret_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(*ret_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    return 0;
}

int
http_address_connect_unix(const struct http_address *a, int *ret_fd)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    strcpy(at.sun_path, a->path);
    return start_connect(AF_UNIX, &at, sizeof(at), ret_fd);
}
