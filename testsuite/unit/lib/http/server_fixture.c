/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/lib/http/server_fixture.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/loop/loop.h"

static void *
run(void *arg)
{
    struct server_fixture *s = arg;

    loop_run(s->loop);
    http_server_free(s->server);
    loop_drain(s->loop);
    return NULL;
}

void
server_fixture_start(struct server_fixture *s, const struct http_limits *limits,
                     http_server_fn handler, void *arg)
{
    struct error err = {0};

    s->loop = loop_new();
    s->server = http_server_new(s->loop, limits, handler, arg);
    snprintf(s->path, sizeof(s->path), "/tmp/kiln-fixture-%d", (int)getpid());
    if (http_server_listen(s->server, "127.0.0.1:0", &err) < 0
        || http_server_listen_unix(s->server, s->path, 0600, &err) < 0)
        ck_abort_msg("%s", err.text);
    s->port = http_server_port(s->server);
    pthread_create(&s->thread, NULL, run, s);
}

void
server_fixture_stop(struct server_fixture *s)
{
    loop_stop(s->loop);
    pthread_join(s->thread, NULL);
    loop_free(s->loop);
}

struct sync_call {
    void (*fn)(void *arg);
    void *arg;
    sem_t done;
};

static void
run_call(void *arg)
{
    struct sync_call *e = arg;

    e->fn(e->arg);
    sem_post(&e->done);
}

void
server_fixture_call(struct server_fixture *s, void (*fn)(void *arg), void *arg)
{
    struct sync_call e = {.fn = fn, .arg = arg};

    sem_init(&e.done, 0, 0);
    loop_post(s->loop, run_call, &e);
    while (sem_wait(&e.done) < 0 && errno == EINTR)
        ;
    sem_destroy(&e.done);
}

struct counts_call {
    struct server_fixture *fixture;
    struct http_server_counts counts;
};

static void
get_counts(void *arg)
{
    struct counts_call *e = arg;

    e->counts = e->fixture->server->counts;
}

struct http_server_counts
server_fixture_counts(struct server_fixture *s)
{
    struct counts_call e = {.fixture = s};

    server_fixture_call(s, get_counts, &e);
    return e.counts;
}

static int
connected(int fd, const void *address, socklen_t length)
{
    struct timeval patience = {.tv_sec = 10};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    ck_assert_int_eq(connect(fd, address, length), 0);
    return fd;
}

int
server_fixture_connect(const struct server_fixture *s)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)s->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    return connected(socket(AF_INET, SOCK_STREAM, 0), &at, sizeof(at));
}

int
server_fixture_connect_unix(const struct server_fixture *s)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    strcpy(at.sun_path, s->path);
    return connected(socket(AF_UNIX, SOCK_STREAM, 0), &at, sizeof(at));
}

void
server_fixture_send(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static bool
read_some(int fd, struct strbuf *out)
{
    char bytes[16384];
    ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

    if (n <= 0)
        return false;
    strbuf_add(out, bytes, (size_t)n);
    return true;
}

void
server_fixture_read_all(int fd, struct strbuf *out)
{
    while (read_some(fd, out))
        ;
}

bool
server_fixture_read_until(int fd, struct strbuf *out, const char *text)
{
    while (strstr(out->text, text) == NULL)
        if (!read_some(fd, out))
            return false;
    return true;
}

bool
server_fixture_read_answer(int fd, struct strbuf *out)
{
    size_t head, length;
    const char *field;

    if (!server_fixture_read_until(fd, out, "\r\n\r\n"))
        return false;
    head = (size_t)(strstr(out->text, "\r\n\r\n") - out->text) + 4;
    field = strcasestr(out->text, "\r\nContent-Length:");
    length = field != NULL ? strtoul(field + 17, NULL, 10) : 0;
    while (out->length < head + length)
        if (!read_some(fd, out))
            return false;
    return true;
}
