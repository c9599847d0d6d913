/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/api/pass.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/bench/api/population.h"
#include "testsuite/bench/http/asker.h"

#define DECIDED "scheduler_pod_scheduling_attempts_count"

static bool
is_up(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    r = connect(fd, (struct sockaddr *)&at, sizeof(at));
    close(fd);
    return r == 0;
}

static char *
path_of_socket(const char *directory)
{
    return xasprintf("%s/socket", directory);
}

static void
initialize(const char *program, const char *directory)
{
    pid_t pid = fork();

    if (pid == 0) {
        execl(program, program, "--state-dir", directory, "--init", (char *)NULL);
        perror(program);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}

static void
serve(int port_pipe)
{
    const char *build = getenv("top_builddir");
    const char *directory = getenv(POPULATION_DIRECTORY);
    char *program = xasprintf("%s/kiln-controller", build != NULL ? build : "build");
    char *path = path_of_socket(directory);
    const struct passwd *user = getpwuid(getuid());

    if (fork() == 0) {
        while (!is_up(path))
            usleep(1000);
        served_tell_port(port_pipe, 1);
        _exit(0);
    }
    close(port_pipe);
    initialize(program, directory);
    execl(program, program, "--state-dir", directory, "--socket", path, "--listen", "127.0.0.1:0",
          "--cluster", "bench", "--administrators", user != NULL ? user->pw_name : "root",
          "--node-grace", "1h", "--log-level", "error", (char *)NULL);
    perror(program);
    _exit(1);
}

void
pass_start(struct served *ret_server, const char *directory, unsigned long nodes,
           unsigned long pods)
{
    if (mkdir(directory, 0700) < 0 || setenv(POPULATION_DIRECTORY, directory, 1) < 0) {
        perror(directory);
        exit(1);
    }
    ret_server->path = NULL;
    served_start(ret_server, population_serve);
    population_load_nodes(ret_server, nodes);
    population_load(ret_server, "bench", pods);
    population_stop(ret_server);
    served_start(ret_server, serve);
    ret_server->path = path_of_socket(directory);
}

void
pass_stop(struct served *server)
{
    population_stop(server);
    free(server->path);
    server->path = NULL;
}

void
pass_add_get(struct strbuf *out, const char *target, ...)
{
    va_list args;

    strbuf_add_text(out, "GET ");
    va_start(args, target);
    strbuf_vprintf(out, target, args);
    va_end(args);
    strbuf_add_text(out, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

double
pass_decided(const struct served *server)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    pass_add_get(&request, "/metrics");
    asker_ask_once(server, &request, &body);
    return population_read_metric(body.text, DECIDED);
}

void
pass_wait(const struct served *server, unsigned long pods)
{
    while (pass_decided(server) < (double)pods)
        usleep(100000);
    sleep(1); /* until its writes have settled */
}
