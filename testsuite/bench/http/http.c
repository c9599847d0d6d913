/* SPDX-License-Identifier: Apache-2.0 */
/* http - requests per second of lib/http, compared with evhttp alone
 *
 * Each server is a process with one thread that returns one constant response;
 * the clients are in this process: 64 kept connections, one request at a time
 * on each. Both servers run on the same machine in turns, so only the ratio is
 * meaningful. CPU is the server's own.
 *
 * Usage: http [SECONDS [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/loop/loop.h"
#include "testsuite/bench/http/asker.h"
#include "testsuite/bench/http/served.h"

static void
ours_handle(struct http_request *r, void *arg)
{
    static const char body[1024] = "{\"kind\":\"Status\"}";

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
    served_tell_port(port_pipe, http_server_port(server));
    loop_run(loop);
}

static const struct {
    const char *name;
    void (*run)(int port_pipe);
} servers[] = {
    {"evhttp alone", served_bare_run},
    {"lib/http", ours_run},
};

static void
ask(struct strbuf *out, unsigned long n, const void *arg)
{
    (void)n;
    (void)arg;
    strbuf_add_text(out, "GET /api/v1/namespaces/default/pods/a?pretty=false HTTP/1.1\r\n"
                         "Host: localhost:6820\r\n"
                         "Accept: application/json\r\n"
                         "User-Agent: bench\r\n\r\n");
}

int
main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    int rounds = argc > 2 ? atoi(argv[2]) : 3;

    printf("%-14s %12s %16s\n", "server", "requests/s", "CPU us/request");
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
            struct served server;
            struct asker_answers answers;

            served_start(&server, servers[i].run);
            asker_run(
                &(struct asker_plan){
                    .server = &server,
                    .connections = 64,
                    .seconds = seconds,
                    .status = 200,
                    .ask = ask,
                },
                &answers);
            served_stop(&server);
            printf("%-14s %12.0f %16.1f\n", servers[i].name, answers.per_second, answers.cpu_us);
            fflush(stdout);
        }
    return 0;
}
