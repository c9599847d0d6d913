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
    for (unsigned i = 0; i < a->n_hosts; i++) {
        free(a->hosts[i].name);
        free(a->hosts[i].port);
    }
    free(a->hosts);
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
                     "controller URL '%s': %s (expected 'http://HOST:PORT', "
                     "'http://HOST:PORT,HOST:PORT' or 'http+unix:///PATH')",
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

/* One "HOST:PORT" of so many bytes. */
static int
add_host(const char *url, const char *host, size_t length, struct http_address *a,
         struct error *err)
{
    const char *colon = memrchr(host, ':', length);
    size_t host_length, port_length;

    if (colon == NULL || (host[0] == '[' && colon[-1] != ']'))
        return bad_url(url, "no port", err);
    host_length = (size_t)(colon - host);
    port_length = length - host_length - 1;
    if (port_length == 0 || port_length > 5 || strspn(colon + 1, "0123456789") < port_length
        || strtoul(colon + 1, NULL, 10) > 65535)
        return bad_url(url, "a malformed port", err);
    if (a->host_header == NULL)
        a->host_header = xstrndup(host, length);
    if (host[0] == '[') {
        host++;
        host_length -= 2;
    }
    if (host_length == 0)
        return bad_url(url, "no host", err);
    a->hosts = xrealloc(a->hosts, (a->n_hosts + 1) * sizeof(*a->hosts));
    a->hosts[a->n_hosts++] = (struct http_host){
        .name = xstrndup(host, host_length),
        .port = xstrndup(colon + 1, port_length),
    };
    return 0;
}

static int
parse_tcp(const char *url, const char *hosts, struct http_address *a, struct error *err)
{
    size_t length = strcspn(hosts, "/?#");
    const char *rest = hosts + length;
    int r = 0;

    if (rest[0] != '\0' && strcmp(rest, "/") != 0)
        return bad_url(url, "a path is not allowed", err);
    if (memchr(hosts, '@', length) != NULL)
        return bad_url(url, "a user is not allowed", err);
    for (const char *at = hosts; r == 0 && at <= rest;) {
        size_t n = strcspn(at, ",/?#");

        r = add_host(url, at, n, a, err);
        at += n + 1;
    }
    if (r == 0 && a->is_secure && a->n_hosts > 1)
        return bad_url(url, "with TLS only one host is allowed", err);
    return r;
}

void
http_address_copy(const struct http_address *a, unsigned first, struct http_address *ret)
{
    *ret = (struct http_address){
        .path = a->path != NULL ? xstrdup(a->path) : NULL,
        .hosts = xnew_array(struct http_host, a->n_hosts + 1),
        .n_hosts = a->n_hosts,
        .is_secure = a->is_secure,
    };
    for (unsigned i = 0; i < a->n_hosts; i++) {
        const struct http_host *host = &a->hosts[(first + i) % a->n_hosts];

        ret->hosts[i] = (struct http_host){xstrdup(host->name), xstrdup(host->port)};
    }
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

static int
resolve_host(const struct http_address *a, unsigned number, http_resolve_fn *resolve,
             struct http_endpoints *places, struct error *err)
{
    const struct http_host *host = &a->hosts[number];
    in_port_t port = htons((uint16_t)strtoul(host->port, NULL, 10));
    size_t before = places->count;
    int r = 0;

    if (!http_endpoints_add(places, host->name))
        r = resolve != NULL
                ? resolve(host->name, places, err)
                : error_set(err, -EHOSTUNREACH, "host '%s': not a numeric address", host->name);
    for (size_t i = before; i < places->count; i++) {
        places->items[i].n_host = number;
        if (places->items[i].at.any.sa_family == AF_INET6)
            places->items[i].at.v6.sin6_port = port;
        else
            places->items[i].at.v4.sin_port = port;
    }
    return r;
}

/* A host without an address is no hindrance while another one has some. */
int
http_address_resolve(const struct http_address *a, http_resolve_fn *resolve,
                     struct http_endpoints *places, struct error *err)
{
    int r = 0;

    for (unsigned i = 0; i < a->n_hosts; i++) {
        int one = resolve_host(a, i, resolve, places, err);

        r = one < 0 ? one : r;
    }
    return places->count > 0 ? 0 : r;
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

/* A machine that has lost its power says nothing, and a watch only waits: another
 * host must be asked before the node counts as silent there.
 */
int
http_address_connect_tcp(const struct http_endpoint *at, int *ret_fd)
{
    static const int on = 1, idle_s = 10, every_s = 4, lost_ms = 20000;
    int r = start_connect(at->at.any.sa_family, &at->at, at->length, ret_fd);

    if (r < 0)
        return r;
    setsockopt(*ret_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(*ret_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(*ret_fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(*ret_fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(*ret_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof(lost_ms));
    return 0;
}

int
http_address_connect_unix(const struct http_address *a, int *ret_fd)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    strcpy(at.sun_path, a->path);
    return start_connect(AF_UNIX, &at, sizeof(at), ret_fd);
}
