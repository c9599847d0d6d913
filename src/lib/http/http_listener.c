/* SPDX-License-Identifier: Apache-2.0 */
/* After a restart of the controller all nodes connect in the same second; the default backlog
 * of 128 would make most of them wait for seconds. When descriptors run out, a listener that
 * stays in the loop would spin, so accepting stops until a connection was closed.
 */
#include "lib/http/http_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/loop/base.h"

enum { BACKLOG = 4096 };

struct http_listener {
    struct list place;
    struct evhttp *evhttp;
    struct evhttp_bound_socket *bound;
    struct evconnlistener *listener;
    char *path; /* of a Unix socket */
};

static void
rest(struct evconnlistener *listener, void *arg)
{
    (void)arg;
    log_debug("accepting a connection failed: %m; pausing");
    evconnlistener_disable(listener);
}

static void
add(struct loop *loop, struct evhttp *evhttp, struct list *listeners, int fd, const char *path)
{
    struct http_listener *l = xnew(struct http_listener);

    l->evhttp = evhttp;
    l->listener = evconnlistener_new(loop_base(loop), NULL, NULL,
                                     LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (l->listener == NULL || fd_set_nonblocking(fd, true) < 0)
        abort();
    l->bound = evhttp_bind_listener(evhttp, l->listener);
    evconnlistener_set_error_cb(l->listener, rest);
    l->path = path != NULL ? xstrdup(path) : NULL;
    list_add_last(listeners, &l->place);
}

/* getaddrinfo would accept 99999 as 34463. */
static bool
is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits > 0 && digits <= 5 && text[digits] == '\0' && atoi(text) <= UINT16_MAX;
}

/* Splits "HOST:PORT", "[V6]:PORT" or "*:PORT"; the host is NULL for "*". */
static int
split(const char *address, char **ret_host, char **ret_port, struct error *err)
{
    const char *colon = strrchr(address, ':');
    size_t length = colon != NULL ? (size_t)(colon - address) : 0;
    const char *host = address;

    if (length == 0 || colon[1] == '\0')
        return error_set(err, -EINVAL,
                         "address '%s' is not HOST:PORT (as in "
                         "'127.0.0.1:6820', '[::]:6820' or '*:6820')",
                         address);
    if (!is_port(colon + 1))
        return error_set(err, -EINVAL, "address '%s': '%s' is not a port from 0 to 65535", address,
                         colon + 1);
    if (host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    *ret_port = xstrdup(colon + 1);
    *ret_host = length == 1 && host[0] == '*' ? NULL : xstrndup(host, length);
    return 0;
}

static int
bind_one(const struct addrinfo *at, bool takes_both, int *ret_fd)
{
    static const int on = 1;
    int only_v6 = !takes_both;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
    if (bind(fd, at->ai_addr, at->ai_addrlen) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int
resolve(const char *host, const char *port, struct addrinfo **ret_found, struct error *err)
{
    struct addrinfo hints = {
        .ai_flags = AI_PASSIVE,
        .ai_socktype = SOCK_STREAM,
        .ai_family = host == NULL ? AF_INET6 : AF_UNSPEC,
    };
    int r = getaddrinfo(host, port, &hints, ret_found);

    if (r == 0)
        return 0;
    return error_set(err, -EADDRNOTAVAIL, "address '%s:%s': %s", host != NULL ? host : "*", port,
                     gai_strerror(r));
}

/* One IPv6 socket serves both families; an IPv4 socket if the kernel has no
 * IPv6.
 */
static int
bind_any(const char *port, int *ret_fd, struct error *err)
{
    struct addrinfo *found = NULL;
    struct error ignored;
    int r = resolve(NULL, port, &found, &ignored);

    if (r == 0) {
        r = bind_one(found, true, ret_fd);
        freeaddrinfo(found);
    }
    if (r != -EADDRNOTAVAIL && r != -EAFNOSUPPORT)
        return r;
    r = resolve("0.0.0.0", port, &found, err);
    if (r < 0)
        return r;
    r = bind_one(found, false, ret_fd);
    freeaddrinfo(found);
    return r;
}

static int
bind_named(const char *host, const char *port, int *ret_fd, struct error *err)
{
    struct addrinfo *found = NULL;
    int r = resolve(host, port, &found, err);

    if (r < 0)
        return r;
    r = bind_one(found, false, ret_fd);
    freeaddrinfo(found);
    return r;
}

static bool
is_loopback_host(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcmp(host, "localhost") == 0;
}

bool
http_listener_is_loopback(const char *address)
{
    struct error ignored = {0};
    char *host = NULL;
    char *port = NULL;
    bool is_loopback =
        split(address, &host, &port, &ignored) == 0 && host != NULL && is_loopback_host(host);

    free(host);
    free(port);
    return is_loopback;
}

int
http_listener_check(const char *address, struct error *err)
{
    CLEANUP_FREE char *host = NULL;
    CLEANUP_FREE char *port = NULL;

    return split(address, &host, &port, err);
}

int
http_listener_bind(const char *address, int *ret_fd, struct error *err)
{
    CLEANUP_FREE char *host = NULL;
    CLEANUP_FREE char *port = NULL;
    struct error why = {0};
    int r = split(address, &host, &port, err);

    if (r < 0)
        return r;
    r = host == NULL ? bind_any(port, ret_fd, &why) : bind_named(host, port, ret_fd, &why);
    if (r == 0 && listen(*ret_fd, BACKLOG) == 0)
        return 0;
    if (r == 0) {
        r = -errno;
        close(*ret_fd);
    }
    if (why.code != 0)
        return error_set(err, r, "%s", why.text);
    return error_set(err, r, "cannot listen on '%s': %s%s", address, strerror(-r),
                     r == -EADDRINUSE ? " (is another one running?)" : "");
}

int
http_listener_open(struct loop *loop, struct evhttp *evhttp, struct list *listeners,
                   const char *address, struct error *err)
{
    int fd;
    int r = http_listener_bind(address, &fd, err);

    if (r == 0)
        add(loop, evhttp, listeners, fd, NULL);
    return r;
}

/* Nobody listens on a socket file that a crash left. Connecting to a file that
 * is no socket fails in the same way, and such a file must not be removed.
 */
static int
clear_stale(const struct sockaddr_un *at)
{
    struct stat file;
    int r = 0;
    int fd;

    if (lstat(at->sun_path, &file) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(file.st_mode))
        return -EEXIST;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0)
        r = -EADDRINUSE;
    else if (errno == ECONNREFUSED)
        r = unlink(at->sun_path) < 0 ? -errno : 0;
    close(fd);
    return r;
}

/* The socket is created private and then set to `mode`, so that nobody can
 * connect in between.
 */
static int
bind_unix(const struct sockaddr_un *at, mode_t mode, int *ret_fd)
{
    int fd, r;
    mode_t before;

    r = clear_stale(at);
    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    before = umask(0177);
    r = bind(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ? -errno : 0;
    umask(before);
    if (r == 0 && chmod(at->sun_path, mode) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int
http_listener_open_unix(struct loop *loop, struct evhttp *evhttp, struct list *listeners,
                        const char *path, mode_t mode, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = -1;
    int r;

    if (strlen(path) >= sizeof(at.sun_path))
        return error_set(err, -ENAMETOOLONG, "socket path '%s' is longer than %zu characters", path,
                         sizeof(at.sun_path) - 1);
    strcpy(at.sun_path, path);
    r = bind_unix(&at, mode, &fd);
    if (r == 0 && listen(fd, BACKLOG) < 0)
        r = -errno;
    if (r == 0) {
        add(loop, evhttp, listeners, fd, path);
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return error_set(err, r, "cannot listen on socket '%s': %s%s", path, strerror(-r),
                     r == -EADDRINUSE ? " (is another one running?)" : "");
}

void
http_listener_resume_all(struct list *listeners)
{
    list_foreach(at, listeners)
        evconnlistener_enable(container_of(at, struct http_listener, place)->listener);
}

void
http_listener_close_all(struct list *listeners)
{
    list_foreach_safe(at, listeners)
    {
        struct http_listener *l = container_of(at, struct http_listener, place);

        list_remove(&l->place);
        evhttp_del_accept_socket(l->evhttp, l->bound);
        if (l->path != NULL)
            unlink(l->path);
        free(l->path);
        free(l);
    }
}

int
http_listener_port(const struct list *listeners)
{
    list_foreach(at, listeners)
    {
        struct http_listener *l = container_of(at, struct http_listener, place);
        union {
            struct sockaddr any;
            struct sockaddr_in v4;
            struct sockaddr_in6 v6;
            struct sockaddr_storage storage;
        } bound = {0};
        socklen_t length = sizeof(bound);

        if (l->path != NULL)
            continue;
        getsockname(evconnlistener_get_fd(l->listener), &bound.any, &length);
        return ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
    }
    return 0;
}
