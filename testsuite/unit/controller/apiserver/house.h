/* SPDX-License-Identifier: Apache-2.0 */
/* house.h - the world of world.h with listeners, called over HTTP
 *
 * Thread: the test's.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/auth/auth_client.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/http/http_client.h"
#include "lib/http/http_login.h"
#include "testsuite/lib/fake_credential_backend.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

/* The world with listeners, and clients of these. */
struct house {
    struct world w;
    struct fake_realm realm;
    struct credential_backend *credential_backend;
    struct auth_server *auth;
    struct http_client *local;
    struct http_client *remote;
    struct http_client *agent; /* of the node n1 */
    struct http_login *login;
    struct node_secret secret;
    char *socket;
};

static inline bool
find_verifier(const char *node_name, struct digest *ret_verifier, void *arg)
{
    const struct house *h = arg;

    node_secret_verifier(&h->secret, ret_verifier);
    return strcmp(node_name, "n1") == 0;
}

static inline void
agent_init(struct house *h, const char *url)
{
    h->login = http_login_new(h->w.loop, h->w.workers,
                              &(struct auth_client_settings){
                                  .credential_backend = h->credential_backend,
                                  .cluster = "test",
                                  .service_uid = getuid(),
                                  .node_name = "n1",
                                  .secret = &h->secret,
                              },
                              HTTP_LOGIN_SESSION);
    ck_assert_int_eq(http_client_new(h->w.loop, url,
                                     &(struct http_client_settings){.login = h->login}, &h->agent,
                                     NULL),
                     0);
}

/* The port of the only TCP socket on which this process listens; 0: none. */
static inline int
listening_port(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in at;
        socklen_t length = sizeof(at), size = sizeof(int);
        int listens = 0;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens
            && getsockname(fd, (struct sockaddr *)&at, &length) == 0 && at.sin_family == AF_INET)
            return ntohs(at.sin_port);
    }
    return 0;
}

static inline void
house_init(struct house *h)
{
    CLEANUP_FREE char *url = NULL;
    char *remote;

    world_init(&h->w);
    apiserver_stop(h->w.server);
    apiserver_free(h->w.server);
    h->w.policy.allows_root_jobs = true;
    h->w.policy.minimum_uid = 0;
    fake_realm_init(&h->realm);
    h->credential_backend = fake_credential_backend_new(&h->realm, getuid(), getgid());
    node_secret_issue(&h->secret);
    h->auth =
        auth_server_new(&(struct auth_server_settings){.loop = h->w.loop,
                                                       .workers = h->w.workers,
                                                       .credential_backend = h->credential_backend,
                                                       .cluster = "test",
                                                       .verifier = find_verifier,
                                                       .verifier_arg = h});
    h->w.server = apiserver_new(&(struct apiserver_settings){.loop = h->w.loop,
                                                             .clock = &h->w.time.clock,
                                                             .store = h->w.store,
                                                             .workers = h->w.workers,
                                                             .auth = h->auth,
                                                             .look_up_user = world_look_up,
                                                             .profile = &api_profile_kiln,
                                                             .policy = &h->w.policy});
    h->socket = xasprintf("%s/socket", h->w.directory);
    ck_assert_int_eq(apiserver_listen_unix(h->w.server, h->socket, 0600, NULL), 0);
    ck_assert_int_eq(apiserver_listen(h->w.server, "127.0.0.1:0", NULL), 0);
    url = xasprintf("http+unix://%s", h->socket);
    ck_assert_int_eq(http_client_new(h->w.loop, url, NULL, &h->local, NULL), 0);
    remote = xasprintf("http://127.0.0.1:%d", listening_port());
    ck_assert_int_eq(http_client_new(h->w.loop, remote, NULL, &h->remote, NULL), 0);
    agent_init(h, remote);
    free(remote);
}

static inline void
house_fini(struct house *h)
{
    http_client_free(h->local);
    http_client_free(h->remote);
    http_client_free(h->agent);
    loop_drain(h->w.loop);
    apiserver_stop(h->w.server);
    store_close(h->w.store);
    workers_free(h->w.workers);
    loop_drain(h->w.loop);
    http_login_free(h->login);
    apiserver_free(h->w.server);
    node_classes_free(h->w.classes);
    user_counts_free(h->w.counts);
    auth_server_free(h->auth);
    credential_backend_free(h->credential_backend);
    fake_realm_fini(&h->realm);
    loop_drain(h->w.loop);
    loop_free(h->w.loop);
    scratch_freep(&h->w.directory);
    free(h->socket);
}
#define CLEANUP_HOUSE CLEANUP(house_fini)

/* One exchange that is waited for. */
struct exchange {
    struct loop *loop;
    int status; /* 0: no answer yet */
    char type[64];
    char *text;
};

static inline void
exchange_fini(struct exchange *e)
{
    free(e->text);
}
#define CLEANUP_EXCHANGE CLEANUP(exchange_fini)

static inline void
answered(const struct http_response *answer, const struct error *err, void *arg)
{
    struct exchange *e = arg;

    ck_assert_msg(answer != NULL, "%s", err != NULL ? err->text : "?");
    e->status = answer->status;
    snprintf(e->type, sizeof(e->type), "%s", answer->content_type);
    e->text = xstrndup(answer->body, answer->length);
    loop_stop(e->loop);
}

static inline struct exchange
ask(struct house *h, struct http_client *client, enum http_method method, const char *target,
    const char *body)
{
    struct exchange e = {.loop = h->w.loop};

    http_client_call(client, &(struct http_client_request){
                                 .method = method,
                                 .target = target,
                                 .content_type = body != NULL ? "application/json" : NULL,
                                 .body = body,
                                 .length = body != NULL ? strlen(body) : 0,
                                 .done = answered,
                                 .arg = &e});
    while (e.status == 0)
        loop_run(h->w.loop);
    return e;
}

/* The lines of a watch. It stops the loop at each line. */
struct listener {
    struct loop *loop;
    struct strbuf text;
    unsigned lines;
};

static inline void
heard(const void *bytes, size_t length, void *arg)
{
    struct listener *l = arg;

    strbuf_add(&l->text, bytes, length);
    l->lines = 0;
    for (size_t i = 0; i < l->text.length; i++)
        l->lines += l->text.text[i] == '\n';
    loop_stop(l->loop);
}

static inline void
ended(const struct http_response *answer, const struct error *err, void *arg)
{
    (void)answer;
    (void)err;
    (void)arg;
}

static inline struct http_call *
listen_as(struct http_client *client, struct listener *l, const char *target)
{
    return http_client_call(
        client, &(struct http_client_request){
                    .method = HTTP_GET, .target = target, .data = heard, .done = ended, .arg = l});
}

static inline struct http_call *
listen_to(struct house *h, struct listener *l, const char *target)
{
    return listen_as(h->local, l, target);
}

static inline void
bind_to_n1(struct house *h, const char *name)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s/binding", name);

    ck_assert_int_eq(world_code(&h->w, &scheduler_room, HTTP_POST, target,
                                "{\"target\":{\"name\":\"n1\"},\"allocation\":{\"cpus\":\"0\","
                                "\"memoryNodes\":\"0\"}}"),
                     201);
}

static inline void
wait_for(struct house *h, const struct listener *l, const char *what)
{
    while (strstr(l->text.text, what) == NULL)
        loop_run(h->w.loop);
}
