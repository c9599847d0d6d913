/* SPDX-License-Identifier: Apache-2.0 */
/* http - requests a second of lib/http, beside evhttp alone
 *
 * Each server is a process with one thread that gives one constant answer; the
 * clients are this process: 64 kept connections, one request at a time on
 * each. Both run on the same machine in turns, so read the ratio. CPU is the
 * server's own.
 *
 * Usage: http [SECONDS [ROUNDS]]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/loop/loop.h"

enum { CONNECTIONS = 64 };

static const char body[1024] = "{\"kind\":\"Status\"}";
static const char request[] =
    "GET /api/v1/namespaces/default/pods/a?pretty=false HTTP/1.1\r\n"
    "Host: localhost:6820\r\n"
    "Accept: application/json\r\n"
    "User-Agent: bench\r\n\r\n";

struct server {
    const char *name;
    void (*run)(int port_pipe);
};

static void
tell_port(int pipe_fd, int port)
{
    if (write(pipe_fd, &port, sizeof(port)) < 0)
        _exit(1);
    close(pipe_fd);
}

static void
ours_handle(struct http_request *r, void *arg)
{
    (void)arg;
    http_request_reply(r, 200, "application/json", body, sizeof(body));
}

static void
ours_run(int port_pipe)
{
    struct loop *loop = loop_new();
    struct http_server *server = http_server_new(loop, NULL, ours_handle, NULL);
    struct error err;

    if (http_server_listen(server, "127.0.0.1:0", &err) < 0) {
        fprintf(stderr, "http: %s\n", err.text);
        _exit(1);
    }
    tell_port(port_pipe, http_server_port(server));
    loop_run(loop);
}

static void
bare_handle(struct evhttp_request *r, void *arg)
{
    struct evbuffer *out = arg;

    evhttp_add_header(evhttp_request_get_output_headers(r),
                      "Content-Type",
                      "application/json");
    evbuffer_add(out, body, sizeof(body));
    evhttp_send_reply(r, 200, "OK", out);
}

static void
bare_run(int port_pipe)
{
    struct event_base *base = event_base_new();
    struct evhttp *evhttp = evhttp_new(base);
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(evhttp, "127.0.0.1", 0);
    struct sockaddr_in at;
    socklen_t length = sizeof(at);

    evhttp_set_gencb(evhttp, bare_handle, evbuffer_new());
    getsockname(evhttp_bound_socket_get_fd(bound),
                (struct sockaddr *)&at,
                &length);
    tell_port(port_pipe, ntohs(at.sin_port));
    event_base_dispatch(base);
}

static const struct server servers[] = {
    {"evhttp alone", bare_run},
    {"lib/http", ours_run},
};

static int
connect_to(int port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
        fprintf(stderr, "http: connecting: %s\n", strerror(errno));
        exit(1);
    }
    return fd;
}

static void
send_request(int fd)
{
    if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL)
        != (ssize_t)sizeof(request) - 1) {
        fprintf(stderr, "http: sending: %s\n", strerror(errno));
        exit(1);
    }
}

/* The answers are all of one length, which the first one shows. */
static size_t
first_length(int port)
{
    char answer[4096];
    int fd = connect_to(port);
    ssize_t n;

    send_request(fd);
    usleep(100 * 1000);
    n = recv(fd, answer, sizeof(answer), 0);
    close(fd);
    return n > 0 ? (size_t)n : 1;
}

static double
ask_for(int port, double seconds)
{
    size_t length = first_length(port), got[1024] = {0};
    int64_t end;
    unsigned long answers = 0;
    int poll_fd = epoll_create1(0);
    int fds[CONNECTIONS];

    for (int i = 0; i < CONNECTIONS; i++) {
        struct epoll_event event = {.events = EPOLLIN};

        fds[i] = connect_to(port);
        event.data.fd = fds[i];
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, fds[i], &event);
        send_request(fds[i]);
    }
    end = clock_monotonic_us(&clock_system) + (int64_t)(seconds * 1e6);
    while (clock_monotonic_us(&clock_system) < end) {
        struct epoll_event ready[CONNECTIONS];
        int n = epoll_wait(poll_fd, ready, CONNECTIONS, 1000);

        for (int i = 0; i < n; i++) {
            int fd = ready[i].data.fd;
            char answer[4096];
            ssize_t part = recv(fd, answer, sizeof(answer), 0);

            got[fd] += part > 0 ? (size_t)part : 0;
            if (got[fd] < length)
                continue;
            got[fd] = 0;
            answers++;
            send_request(fd);
        }
    }
    for (int i = 0; i < CONNECTIONS; i++)
        close(fds[i]);
    close(poll_fd);
    return (double)answers / seconds;
}

static double
cpu_seconds(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec)
           + (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static double
measure(const struct server *s, double seconds, double *ret_cpu_us)
{
    struct rusage usage;
    int pipe_fds[2], port = 0, status;
    double rate;
    pid_t pid;

    if (pipe(pipe_fds) < 0)
        exit(1);
    pid = fork();
    if (pid == 0) {
        close(pipe_fds[0]);
        s->run(pipe_fds[1]);
        _exit(0);
    }
    close(pipe_fds[1]);
    if (read(pipe_fds[0], &port, sizeof(port)) != (ssize_t)sizeof(port))
        exit(1);
    close(pipe_fds[0]);
    rate = ask_for(port, seconds);
    kill(pid, SIGKILL);
    wait4(pid, &status, 0, &usage);
    *ret_cpu_us = cpu_seconds(&usage) / (rate * seconds) * 1e6;
    return rate;
}

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    int rounds = argc > 2 ? atoi(argv[2]) : 3;

    printf("%-14s %12s %16s\n", "server", "requests/s", "CPU us/request");
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
            double cpu_us;
            double rate = measure(&servers[i], seconds, &cpu_us);

            printf("%-14s %12.0f %16.1f\n", servers[i].name, rate, cpu_us);
            fflush(stdout);
        }
    return 0;
}
