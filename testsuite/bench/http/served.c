/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/http/served.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

void
served_start(struct served *ret_served, void (*run)(int port_pipe))
{
    int pipe_fds[2];

    if (pipe(pipe_fds) < 0)
        exit(1);
    ret_served->pid = fork();
    if (ret_served->pid == 0) {
        close(pipe_fds[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(pipe_fds[1]);
        _exit(0);
    }
    close(pipe_fds[1]);
    if (read(pipe_fds[0], &ret_served->port, sizeof(ret_served->port))
        != (ssize_t)sizeof(ret_served->port)) {
        fprintf(stderr, "bench: a server did not start\n");
        exit(1);
    }
    close(pipe_fds[0]);
}

void
served_tell_port(int port_pipe, int port)
{
    if (write(port_pipe, &port, sizeof(port)) < 0)
        _exit(1);
    close(port_pipe);
}

void
served_stop(struct served *served)
{
    kill(served->pid, SIGKILL);
    waitpid(served->pid, NULL, 0);
}

double
served_cpu_us(const struct served *served)
{
    struct timespec used = {0};
    clockid_t clock;

    if (clock_getcpuclockid(served->pid, &clock) == 0)
        clock_gettime(clock, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

size_t
served_resident_bytes(const struct served *served)
{
    char path[64];
    unsigned long pages = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)served->pid);
    f = fopen(path, "r");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void
bare_handle(struct evhttp_request *r, void *arg)
{
    static const char body[1024] = "{\"kind\":\"Status\"}";
    struct evbuffer *out = arg;

    evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type", "application/json");
    evbuffer_add(out, body, sizeof(body));
    evhttp_send_reply(r, 200, "OK", out);
}

void
served_bare_run(int port_pipe)
{
    struct event_base *base = event_base_new();
    struct evhttp *evhttp = evhttp_new(base);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(evhttp, "127.0.0.1", 0);
    struct sockaddr_in at;
    socklen_t length = sizeof(at);

    evhttp_set_gencb(evhttp, bare_handle, evbuffer_new());
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &length);
    served_tell_port(port_pipe, ntohs(at.sin_port));
    event_base_dispatch(base);
}
