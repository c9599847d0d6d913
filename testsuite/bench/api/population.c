/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/api/population.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "testsuite/bench/http/asker.h"
#include "testsuite/bench/http/served.h"

#define AT_ONCE 1000 /* objects per load */

/* Defaults that the server would add to a pod, so that a patch adds no more. */
static const char container_defaults[] = ",\"imagePullPolicy\":\"IfNotPresent\","
                                         "\"terminationMessagePath\":\"/dev/termination-log\","
                                         "\"terminationMessagePolicy\":\"File\"";
static const char pod_defaults[] =
    ",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\","
    "\"schedulerName\":\"default-scheduler\",\"securityContext\":{},"
    "\"enableServiceLinks\":true,\"priority\":0,"
    "\"preemptionPolicy\":\"PreemptLowerPriority\"";

static int
free_port(void)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0
        || getsockname(fd, (struct sockaddr *)&at, &length) < 0)
        _exit(1);
    close(fd);
    return ntohs(at.sin_port);
}

/* Reports the port when the server listens on it. */
static void
tell_when_up(int port_pipe, int port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    for (int i = 0; i < 200; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        int r = connect(fd, (struct sockaddr *)&at, sizeof(at));

        close(fd);
        if (r == 0) {
            served_tell_port(port_pipe, port);
            return;
        }
        usleep(50 * 1000);
    }
}

void
population_serve(int port_pipe)
{
    const char *build = getenv("top_builddir");
    const char *directory = getenv(POPULATION_DIRECTORY);
    char *program = xasprintf("%s/kiln-controller", build != NULL ? build : "build");
    int port = free_port();
    char *listen = xasprintf("127.0.0.1:%d", port);

    if (directory == NULL)
        _exit(1);
    if (fork() == 0) {
        tell_when_up(port_pipe, port);
        _exit(0);
    }
    close(port_pipe);
    execl(program, program, "--conformance", "--state-dir", directory, "--listen", listen,
          "--log-level", "error", (char *)NULL);
    perror(program);
    _exit(1);
}

void
population_stop(struct served *server)
{
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
}

void
population_add_head(struct strbuf *out, const char *method, const char *target, ...)
{
    va_list args;

    strbuf_printf(out, "%s ", method);
    va_start(args, target);
    strbuf_vprintf(out, target, args);
    va_end(args);
    strbuf_add_text(out, " HTTP/1.1\r\n"
                         "Host: localhost\r\n"
                         "Authorization: Bearer conformance\r\n"
                         "Accept: application/json\r\n"
                         "User-Agent: bench\r\n");
}

static void
add_metadata(struct strbuf *out, const char *namespace, unsigned long n, enum population_form form)
{
    strbuf_printf(out, "\"metadata\":{\"name\":\"pod-%lu\",\"namespace\":\"%s\",", n, namespace);
    if (form == POPULATION_AS_KEPT)
        strbuf_printf(out,
                      "\"uid\":\"00000000-0000-4000-8000-%012lu\","
                      "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",",
                      n);
    strbuf_printf(out,
                  "\"labels\":{\"app\":\"sweep\",\"index\":\"%lu\","
                  "\"team\":\"t%lu\",\"turn\":\"none\"},"
                  "\"annotations\":{\"example.org/note\":\"a pod of a sweep "
                  "over parameters, number %lu\"}}",
                  n, n % 17, n);
}

void
population_add_pod(struct strbuf *out, const char *namespace, unsigned long n,
                   enum population_form form)
{
    strbuf_add_text(out, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",");
    add_metadata(out, namespace, n, form);
    strbuf_printf(out,
                  ",\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"host\","
                  "\"command\":[\"/usr/bin/solve\",\"--case\",\"%lu\"],\"env\":["
                  "{\"name\":\"OMP_NUM_THREADS\",\"value\":\"8\"},"
                  "{\"name\":\"CASE\",\"value\":\"%lu\"}],\"resources\":{"
                  "\"requests\":{\"cpu\":\"8\",\"memory\":\"16Gi\"},"
                  "\"limits\":{\"cpu\":\"8\",\"memory\":\"16Gi\"}}%s}],"
                  "\"restartPolicy\":\"Never\",\"tolerations\":[{\"key\":"
                  "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\","
                  "\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]%s}",
                  n, n, form == POPULATION_AS_KEPT ? container_defaults : "",
                  form == POPULATION_AS_KEPT ? pod_defaults : "");
    if (form == POPULATION_AS_KEPT)
        strbuf_add_text(out, ",\"status\":{\"phase\":\"Pending\",\"qosClass\":\"Guaranteed\","
                             "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
                             "\"reason\":\"Unschedulable\",\"message\":\"0/100 nodes are "
                             "available: 100 Insufficient cpu.\",\"lastTransitionTime\":"
                             "\"2026-01-01T00:00:01Z\"}]}");
    strbuf_add_text(out, "}");
}

static void
post(const struct served *server, const char *target, const struct strbuf *body)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    int status;

    population_add_head(&request, "POST", "%s", target);
    strbuf_printf(&request, "Content-Length: %zu\r\n\r\n", body->length);
    strbuf_add(&request, body->text, body->length);
    status = asker_ask_once(server, &request, &answer);
    if (status == 200)
        return;
    fprintf(stderr, "api: %s: %d %s\n", target, status, answer.text);
    exit(1);
}

static void
load_pods(const struct served *server, const char *namespace, unsigned long from, unsigned long to)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    strbuf_add_text(&body, "{\"items\":[");
    for (unsigned long n = from; n < to; n++) {
        if (n > from)
            strbuf_add_char(&body, ',');
        population_add_pod(&body, namespace, n, POPULATION_AS_KEPT);
    }
    strbuf_add_text(&body, "]}");
    post(server, "/conformance/load", &body);
}

void
population_load(const struct served *server, const char *namespace, unsigned long count)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    strbuf_printf(&body,
                  "{\"items\":[{\"kind\":\"Namespace\",\"apiVersion\":\"v1\","
                  "\"metadata\":{\"name\":\"%s\",\"uid\":"
                  "\"00000000-0000-4000-8000-000000000000\"},\"status\":{"
                  "\"phase\":\"Active\"}}]}",
                  namespace);
    post(server, "/conformance/load", &body);
    for (unsigned long n = 0; n < count; n += AT_ONCE)
        load_pods(server, namespace, n, n + AT_ONCE < count ? n + AT_ONCE : count);
}

static void
add_node(struct strbuf *out, unsigned long n)
{
    static const char resources[] = "{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\"}";

    strbuf_printf(out,
                  "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"name\":\"node-%lu\",\"uid\":"
                  "\"00000000-0000-4000-9000-%012lu\"},\"status\":{"
                  "\"capacity\":%s,\"allocatable\":%s,\"conditions\":[{"
                  "\"type\":\"Ready\",\"status\":\"True\"}]}}",
                  n, n, resources, resources);
}

void
population_load_nodes(const struct served *server, unsigned long count)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    strbuf_add_text(&body, "{\"items\":[");
    for (unsigned long n = 0; n < count; n++) {
        if (n > 0)
            strbuf_add_char(&body, ',');
        add_node(&body, n);
    }
    strbuf_add_text(&body, "]}");
    post(server, "/conformance/load", &body);
}

double
population_read_metric(const char *metrics, const char *name)
{
    CLEANUP_FREE char *line = xasprintf("\n%s ", name);
    const char *found = strstr(metrics, line);

    if (found == NULL) {
        fprintf(stderr, "api: there is no metric %s\n", name);
        exit(1);
    }
    return atof(found + strlen(line));
}

double
population_metric(const struct served *server, const char *name)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    population_add_head(&request, "GET", "/metrics");
    strbuf_add_text(&request, "\r\n");
    asker_ask_once(server, &request, &body);
    return population_read_metric(body.text, name);
}

double
population_object_bytes(const struct served *server)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    population_add_head(&request, "GET", "/api/v1/namespaces/bench/pods/pod-1");
    strbuf_add_text(&request, "\r\n");
    asker_ask_once(server, &request, &body);
    return (double)body.length;
}

static unsigned long
count_items(const char *text)
{
    static const char mark[] = "\"qosClass\":";
    unsigned long n = 0;

    while ((text = strstr(text, mark)) != NULL) {
        text += sizeof(mark) - 1;
        n++;
    }
    return n;
}

void
population_walk_all(const struct served *server, int page, struct population_walk *ret_walk)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    CLEANUP_FREE char *token = xstrdup("");
    int64_t began = clock_monotonic_us(&clock_system);

    memset(ret_walk, 0, sizeof(*ret_walk));
    do {
        static const char mark[] = "\"continue\":\"";
        const char *found;

        strbuf_truncate(&request, 0);
        strbuf_truncate(&body, 0);
        population_add_head(&request, "GET", "/api/v1/pods?limit=%d%s%s", page,
                            token[0] != '\0' ? "&continue=" : "", token);
        strbuf_add_text(&request, "\r\n");
        if (asker_ask_once(server, &request, &body) != 200) {
            fprintf(stderr, "api: %s\n", body.text);
            exit(1);
        }
        ret_walk->pages++;
        ret_walk->bytes += (double)body.length;
        ret_walk->objects += count_items(body.text);
        found = strstr(body.text, mark);
        free(token);
        token = NULL;
        if (found != NULL) {
            found += sizeof(mark) - 1;
            token = xstrndup(found, strcspn(found, "\""));
        }
    } while (token != NULL);
    ret_walk->seconds = (double)(clock_monotonic_us(&clock_system) - began) / 1e6;
}
