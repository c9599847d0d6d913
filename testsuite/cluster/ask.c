/* SPDX-License-Identifier: Apache-2.0 */
/* ask - one request to a controller over TCP, by MUNGE: as the user who runs
 * it, or as the agent of a node whose secret is known
 *
 *   ask URL MUNGE-SOCKET NODE SECRET-FILE METHOD TARGET [BODY [TYPE
 *       [HEADER VALUE]]]
 *
 * NODE and SECRET-FILE may be empty. Prints the status on the first line, then
 * the body. Exits with 1 when there was no answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/auth/auth_client.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_client.h"
#include "lib/http/http_login.h"
#include "lib/loop/loop.h"

struct ask {
    struct loop *loop;
    int status;
};

static void
done(const struct http_response *answer, const struct error *err, void *context)
{
    struct ask *ask = context;

    if (answer == NULL) {
        fprintf(stderr, "ask: %s\n", err->text);
    } else {
        printf("%d\n%s\n", answer->status, answer->body);
        ask->status = 0;
    }
    loop_stop(ask->loop);
}

static enum http_method
method_of(const char *name)
{
    static const struct {
        const char *name;
        enum http_method method;
    } methods[] = {
        {"GET", HTTP_GET},     {"POST", HTTP_POST},     {"PUT", HTTP_PUT},
        {"PATCH", HTTP_PATCH}, {"DELETE", HTTP_DELETE},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(methods); i++)
        if (strcmp(name, methods[i].name) == 0)
            return methods[i].method;
    fprintf(stderr, "ask: no method '%s'\n", name);
    exit(2);
}

static void
read_secret(const char *path, struct node_secret *ret_secret)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};

    if (file_read(path, 1024, &text, &err) < 0) {
        fprintf(stderr, "ask: %s\n", err.text);
        exit(2);
    }
    strbuf_truncate(&text, strcspn(text.text, "\n"));
    if (node_secret_parse(text.text, ret_secret) < 0) {
        fprintf(stderr, "ask: '%s' holds no secret\n", path);
        exit(2);
    }
}

int
main(int argc, char **argv)
{
    struct ask ask = {.status = 1};
    struct error err = {0};
    struct node_secret secret;
    struct auth_client_settings auth = {
        .cluster = "test",
        .service_uid = 0,
    };
    struct http_client_settings settings = {.connections = 1};
    struct http_client *client = NULL;
    struct http_client_request question = {.done = done, .arg = &ask};
    struct http_header header;

    if (argc < 7) {
        fprintf(stderr, "usage: see the source\n");
        return 2;
    }
    if (argv[3][0] != '\0') {
        read_secret(argv[4], &secret);
        auth.node_name = argv[3];
        auth.secret = &secret;
    }
    question.method = method_of(argv[5]);
    question.target = argv[6];
    if (argc > 7) {
        question.body = argv[7];
        question.length = strlen(argv[7]);
        question.content_type = argc > 8 ? argv[8] : "application/json";
    }
    if (argc > 10) {
        header = (struct http_header){argv[9], argv[10]};
        question.headers = &header;
        question.n_headers = 1;
    }
    ask.loop = loop_new();
    auth.credential_backend = credential_backend_new_munge(argv[2]);
    settings.login = http_login_new(ask.loop, NULL, &auth, HTTP_LOGIN_SESSION);
    if (http_client_new(ask.loop, argv[1], &settings, &client, &err) < 0) {
        fprintf(stderr, "ask: %s\n", err.text);
        return 2;
    }
    http_client_call(client, &question);
    loop_run(ask.loop);
    http_client_free(client);
    http_login_free(settings.login);
    credential_backend_free(auth.credential_backend);
    loop_free(ask.loop);
    return ask.status;
}
