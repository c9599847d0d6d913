/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/node_dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/connect/getent.h"
#include "cli/krun/krun_grants.h"
#include "cli/krun/krun_link.h"
#include "lib/auth/exec_grant.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_endpoint.h"

#define CONNECT_MS 10000

static int
wait_for(int fd, short events, int limit_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    int r;

    do
        r = poll(&p, 1, limit_ms);
    while (r < 0 && errno == EINTR);
    return r > 0 ? 0 : r == 0 ? -ETIMEDOUT : -errno;
}

static int
connect_to(struct http_endpoint *at, unsigned port, int *ret_fd)
{
    int fd = socket(at->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = sizeof(int);
    int r = 0;

    if (fd < 0)
        return -errno;
    if (at->at.any.sa_family == AF_INET6)
        at->at.v6.sin6_port = htons((uint16_t)port);
    else
        at->at.v4.sin_port = htons((uint16_t)port);
    if (connect(fd, &at->at.any, at->length) < 0)
        r = errno == EINPROGRESS ? wait_for(fd, POLLOUT, CONNECT_MS) : -errno;
    if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &r, &length) == 0)
        r = -r;
    if (r < 0)
        close(fd);
    else
        *ret_fd = fd;
    return r;
}

static int
reach(const struct node_dial *to, int *ret_fd, struct error *err)
{
    struct http_endpoints places = {0};
    struct error why = {0};
    int r = getent_find_host(&getent_system_files, to->node, &places, &why);

    if (r < 0)
        return error_set(err, r,
                         "the address of node '%s' is not known here: %s; the names of nodes have "
                         "to resolve on all nodes",
                         to->node, why.text);
    r = -EHOSTUNREACH;
    for (size_t i = 0; i < places.count && r < 0; i++)
        r = connect_to(&places.items[i], to->port, ret_fd);
    http_endpoints_fini(&places);
    if (r < 0)
        return error_set(err, r, "the agent of node '%s' cannot be reached at port %u: %s",
                         to->node, to->port, strerror(-r));
    return 0;
}

static int
await_line(int fd)
{
    int r;

    do
        r = krun_link_await_answer(fd, POLLIN);
    while (r < 0 && errno == EINTR);
    return r > 0 ? 0 : r == 0 ? -ETIMEDOUT : -errno;
}

static int
exchange_lines(int fd, const char *own, size_t length, char *line, struct error *err)
{
    size_t have = 0;

    if (send(fd, own, length, MSG_NOSIGNAL) != (ssize_t)length)
        return error_set(err, -ECONNRESET, "the connection was lost");
    for (;;) {
        const int r = await_line(fd);
        /* Only what is of the line may be taken. */
        ssize_t n = r < 0 ? r : recv(fd, line + have, STEP_LINE_MOST - 1 - have, MSG_PEEK);
        char *end = n > 0 ? memchr(line + have, '\n', (size_t)n) : NULL;
        size_t taken = end != NULL ? (size_t)(end - line) + 1 - have : (size_t)(n > 0 ? n : 0);

        if (n <= 0 || have + taken >= STEP_LINE_MOST - 1)
            return error_set(err, r < 0 ? r : -ECONNRESET, "the agent does not answer: %s",
                             r < 0 ? strerror(-r) : "the connection was closed");
        (void)!recv(fd, line + have, taken, 0);
        have += taken;
        if (end != NULL)
            break;
    }
    line[have - 1] = '\0';
    return 0;
}

static int
shake_hands(const struct node_dial *to, int fd, struct step_keys *ret_keys, struct error *err)
{
    struct step_call call = {
        .cluster = to->cluster, .node = to->node, .pod = to->pod, .agent_uid = to->agent_uid};
    CLEANUP_STRBUF struct strbuf own = STRBUF_INIT;
    char line[STEP_LINE_MOST];
    int r = step_call_begin(&call, to->backend, &own, err);

    if (r == 0)
        r = exchange_lines(fd, own.text, own.length, line, err);
    if (r == 0)
        r = step_call_finish(&call, to->backend, line, ret_keys, err);
    return r;
}

static int
show_grant(const struct node_dial *to, int fd, struct step_keys *ret_keys, struct error *err)
{
    CLEANUP_STRBUF struct strbuf own = STRBUF_INIT;
    struct exec_call call;
    char line[STEP_LINE_MOST];
    int r = krun_grants_take(to->grants, to->node, &call, err);

    if (r < 0)
        return r;
    exec_call_begin(&call, &own);
    r = exchange_lines(fd, own.text, own.length, line, err);
    if (r == 0)
        r = exec_call_finish(&call, line, ret_keys, err);
    explicit_bzero(&call, sizeof(call));
    return r;
}

int
node_dial(const struct node_dial *to, int *ret_fd, struct step_keys *ret_keys, struct error *err)
{
    static const int on = 1, idle_s = 10, interval_s = 5, count = 4;
    CLEANUP_FD int fd = -1;
    int r = reach(to, &fd, err);

    if (r < 0)
        return r;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    r = to->grants != NULL ? show_grant(to, fd, ret_keys, err) : shake_hands(to, fd, ret_keys, err);
    if (r < 0)
        return error_wrap(err, r, "node '%s'", to->node);
    *ret_fd = fd;
    fd = -1;
    return 0;
}
