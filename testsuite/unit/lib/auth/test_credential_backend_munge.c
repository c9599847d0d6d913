/* SPDX-License-Identifier: Apache-2.0 */
/* Real credentials, of munged daemons that this test starts with their own
 * keys.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/auth/auth_client.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/suite.h"

#define NOBODY 65534

struct realm {
    char folder[64];
    char socket[96];
    pid_t pid;
};

static const char *const munged_paths[] = {
    "/usr/sbin/munged",
    "/usr/local/sbin/munged",
};

static const char *
find_munged(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(munged_paths); i++)
        if (access(munged_paths[i], X_OK) == 0)
            return munged_paths[i];
    return NULL;
}

#define NEEDS_MUNGED()                                              \
    do {                                                            \
        if (find_munged() == NULL)                                  \
            SKIP("munged is not installed (Debian package munge)"); \
    } while (0)

static void
write_key(const struct realm *r)
{
    char path[96], key[64];
    int fd;

    random_bytes(key, sizeof(key));
    snprintf(path, sizeof(path), "%s/key", r->folder);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_eq(write(fd, key, sizeof(key)), (ssize_t)sizeof(key));
    close(fd);
}

static void
exec_munged(const struct realm *r)
{
    char options[5][128];

    snprintf(options[0], 128, "--socket=%s", r->socket);
    snprintf(options[1], 128, "--key-file=%s/key", r->folder);
    snprintf(options[2], 128, "--log-file=%s/log", r->folder);
    snprintf(options[3], 128, "--pid-file=%s/pid", r->folder);
    snprintf(options[4], 128, "--seed-file=%s/seed", r->folder);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it also ends with a failed test */
    close(2);
    open("/dev/null", O_WRONLY);
    execl(find_munged(), "munged", "--foreground", options[0], options[1], options[2], options[3],
          options[4], (char *)NULL);
    _exit(127);
}

static void
realm_start(struct realm *r)
{
    struct stat found;

    strcpy(r->folder, "/tmp/kiln-munge-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(r->folder));
    chmod(r->folder, 0755);
    snprintf(r->socket, sizeof(r->socket), "%s/socket", r->folder);
    write_key(r);
    r->pid = fork();
    if (r->pid == 0)
        exec_munged(r);
    for (int i = 0; i < 1000 && stat(r->socket, &found) < 0; i++)
        usleep(10000);
    ck_assert_int_eq(stat(r->socket, &found), 0);
}

static void
realm_stop(struct realm *r)
{
    static const char *const files[] = {"key", "log", "pid", "seed", "socket", "socket.lock"};
    char path[128];

    kill(r->pid, SIGTERM);
    waitpid(r->pid, NULL, 0);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", r->folder, files[i]);
        unlink(path);
    }
    rmdir(r->folder);
}

START_TEST(a_credential_says_who_made_it_and_is_read_once)
{
    struct realm realm;
    struct credential_backend *n;
    struct credential c = {0};
    struct error err = {0};
    char *text = NULL;

    NEEDS_MUNGED();
    realm_start(&realm);
    n = credential_backend_new_munge(realm.socket);
    ck_assert_int_eq(credential_backend_encode(n, "hello", 5, geteuid(), 60, &text, &err), 0);
    ck_assert_int_eq(credential_backend_decode(n, text, &c, &err), 0);
    ck_assert_str_eq(c.payload, "hello");
    ck_assert_uint_eq(c.length, 5);
    ck_assert_uint_eq(c.uid, geteuid());
    ck_assert_uint_eq(c.only_uid, geteuid());
    ck_assert_int_le(c.age_s, 5);
    credential_fini(&c);

    ck_assert_int_eq(credential_backend_decode(n, text, &c, &err), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(err.text, "used before"));
    free(text);
    credential_backend_free(n);
    realm_stop(&realm);
}
END_TEST

START_TEST(an_expired_credential_says_by_how_much_and_what_to_do)
{
    struct realm realm;
    struct credential_backend *n;
    struct credential c = {0};
    struct error err = {0};
    char *text = NULL;

    NEEDS_MUNGED();
    realm_start(&realm);
    n = credential_backend_new_munge(realm.socket);
    ck_assert_int_eq(credential_backend_encode(n, "", 0, geteuid(), 1, &text, &err), 0);
    usleep(2500 * 1000);

    ck_assert_int_eq(credential_backend_decode(n, text, &c, &err), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(err.text, "has expired"));
    ck_assert_ptr_nonnull(strstr(err.text, "was valid for 1"));
    ck_assert_ptr_nonnull(strstr(err.text, "chrony"));
    free(text);
    credential_backend_free(n);
    realm_stop(&realm);
}
END_TEST

START_TEST(a_credential_for_another_user_cannot_be_read)
{
    struct realm realm;
    struct credential_backend *n;
    struct credential c = {0};
    struct error err = {0};
    char *text = NULL;

    NEEDS_MUNGED();
    realm_start(&realm);
    n = credential_backend_new_munge(realm.socket);
    ck_assert_int_eq(credential_backend_encode(n, "", 0, geteuid() + 1, 60, &text, &err), 0);

    ck_assert_int_eq(credential_backend_decode(n, text, &c, &err), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(err.text, "for a user other than"));
    free(text);
    credential_backend_free(n);
    realm_stop(&realm);
}
END_TEST

START_TEST(a_credential_of_another_realm_is_refused)
{
    struct realm ours, theirs;
    struct credential_backend *n, *stranger;
    struct credential c = {0};
    struct error err = {0};
    char *text = NULL;

    NEEDS_MUNGED();
    realm_start(&ours);
    realm_start(&theirs);
    n = credential_backend_new_munge(ours.socket);
    stranger = credential_backend_new_munge(theirs.socket);
    ck_assert_int_eq(credential_backend_encode(stranger, "", 0, geteuid(), 60, &text, &err), 0);

    ck_assert_int_eq(credential_backend_decode(n, text, &c, &err), -EKEYREJECTED);
    ck_assert_ptr_nonnull(strstr(err.text, "same MUNGE key"));
    ck_assert_int_eq(credential_backend_decode(n, "MUNGE:rubbish:", &c, &err), -EKEYREJECTED);
    ck_assert_int_eq(credential_backend_decode(n, "", &c, &err), -EKEYREJECTED);
    free(text);
    credential_backend_free(n);
    credential_backend_free(stranger);
    realm_stop(&ours);
    realm_stop(&theirs);
}
END_TEST

START_TEST(a_munged_that_is_down_is_named_by_its_socket)
{
    struct credential_backend *n = credential_backend_new_munge("/nowhere/munge.socket");
    struct credential c = {0};
    struct error err = {0};
    char *text = NULL;

    ck_assert_int_eq(credential_backend_encode(n, "", 0, 0, 60, &text, &err), -EHOSTDOWN);
    ck_assert_ptr_null(text);
    ck_assert_ptr_nonnull(strstr(err.text, "is munged running?"));
    ck_assert_ptr_nonnull(strstr(err.text, "'/nowhere/munge.socket'"));
    ck_assert_ptr_nonnull(strstr(err.text, "No such file or directory"));

    ck_assert_int_eq(credential_backend_decode(n, "MUNGE:x:", &c, &err), -EHOSTDOWN);
    credential_backend_free(n);
}
END_TEST

/* A session between two users: the caller is a process of the user nobody. */

struct opening {
    struct loop *loop;
    struct auth_session *session;
    char *credential;
    struct error error;
};

static void
opened(struct auth_session *session, const char *credential, const struct error *err, void *arg)
{
    struct opening *o = arg;

    o->session = session;
    o->credential = credential != NULL ? xstrdup(credential) : NULL;
    if (err != NULL)
        o->error = *err;
    loop_stop(o->loop);
}

static void
granted(struct auth_grant *grant, const struct error *err, void *arg)
{
    ck_assert_ptr_null(err);
    *(uid_t *)arg = auth_grant_identity(grant)->uid;
    auth_grant_free(grant);
}

static void
say(int fd, const char *text)
{
    ck_assert_int_eq(write(fd, text, strlen(text) + 1), (ssize_t)strlen(text) + 1);
}

static void
hear(int fd, struct strbuf *out)
{
    char c;

    strbuf_truncate(out, 0);
    while (read(fd, &c, 1) == 1 && c != '\0')
        strbuf_add_char(out, c);
}

/* Sends hello, receives the welcome, sends one signed request; exits with 0. */
static int
call_as_nobody(const struct realm *realm, uid_t service, int in, int out)
{
    struct auth_client_settings settings = {
        .cluster = "north",
        .service_uid = service,
    };
    struct strbuf text = STRBUF_INIT;
    struct auth_client *client;
    struct auth_line line;

    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 1;
    settings.credential_backend = credential_backend_new_munge(realm->socket);
    client = auth_client_new(&settings);
    if (auth_client_hello(client, &line, &text, NULL) < 0)
        return 2;
    say(out, text.text);
    hear(in, &text);
    if (auth_client_welcome(client, &line, text.text, NULL) < 0)
        return 3;
    strbuf_truncate(&text, 0);
    auth_line_sign(&line, "GET", "/x", NULL, NULL, 0, "", &text);
    say(out, text.text);
    return 0;
}

START_TEST(a_session_is_opened_between_two_users)
{
    struct auth_request q = {.method = "POST", .target = "/kiln/v1/session"};
    struct auth_server_settings settings = {.cluster = "north"};
    struct strbuf text = STRBUF_INIT;
    struct opening o = {0};
    struct auth_server *server;
    struct realm realm;
    int to[2], from[2], status;
    uid_t who = 0;
    pid_t pid;

    if (geteuid() != 0)
        SKIP("only root can be two users");
    NEEDS_MUNGED();
    realm_start(&realm);
    o.loop = loop_new();
    ck_assert_int_eq(pipe(to) + pipe(from), 0);
    pid = fork();
    if (pid == 0)
        _exit(call_as_nobody(&realm, geteuid(), to[0], from[1]));
    settings.loop = o.loop;
    settings.workers = workers_new(1);
    settings.credential_backend = credential_backend_new_munge(realm.socket);
    server = auth_server_new(&settings);

    hear(from[0], &text);
    q.authorization = text.text;
    auth_server_open(server, &q, opened, &o);
    loop_run(o.loop);
    ck_assert_msg(o.session != NULL, "%s", o.error.text);
    say(to[1], o.credential);
    hear(from[0], &text);
    q = (struct auth_request){
        .authorization = text.text,
        .method = "GET",
        .target = "/x",
        .session = o.session,
    };
    auth_server_check(server, &q, granted, &who);

    ck_assert_uint_eq(who, NOBODY);
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    auth_session_free(o.session);
    workers_free(settings.workers);
    loop_drain(o.loop);
    auth_server_free(server);
    credential_backend_free(settings.credential_backend);
    loop_free(o.loop);
    free(o.credential);
    strbuf_fini(&text);
    realm_stop(&realm);
}
END_TEST

SUITE("credential_backend_munge", a_credential_says_who_made_it_and_is_read_once,
      an_expired_credential_says_by_how_much_and_what_to_do,
      a_credential_for_another_user_cannot_be_read, a_credential_of_another_realm_is_refused,
      a_munged_that_is_down_is_named_by_its_socket, a_session_is_opened_between_two_users)
