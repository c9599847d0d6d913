/* SPDX-License-Identifier: Apache-2.0 */
/* credential_backend_munge.c - credentials of munged, by libmunge
 *
 * Each call uses its own context, so any number of threads may call it.
 */
#include "lib/auth/credential_backend.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <munge.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/path_access.h"

#define CHECK_CLOCKS "check the clocks (chrony) of both machines"

struct munge_backend {
    struct credential_backend credential_backend;
    char *socket_path; /* NULL: libmunge's default */
};

static struct munge_backend *
munge_from(struct credential_backend *credential_backend)
{
    return container_of(credential_backend, struct munge_backend, credential_backend);
}

static munge_ctx_t
context_new(const struct munge_backend *m)
{
    munge_ctx_t context = munge_ctx_create();

    if (context == NULL)
        abort();
    if (m->socket_path != NULL)
        munge_ctx_set(context, MUNGE_OPT_SOCKET, m->socket_path);
    return context;
}

static const char *
socket_of(munge_ctx_t context)
{
    const char *path = NULL;

    munge_ctx_get(context, MUNGE_OPT_SOCKET, &path);
    return path != NULL ? path : "?";
}

/* Returns a copy, because the next call on the context overwrites its message.
 */
static char *
words_of(munge_ctx_t context, munge_err_t why)
{
    const char *words = munge_ctx_strerror(context);

    return xstrdup(words != NULL ? words : munge_strerror(why));
}

/* Seconds since the credential was made; negative when its maker's clock is
 * ahead.
 */
static long
age_of(munge_ctx_t context)
{
    time_t made = 0, read = 0;

    munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &made);
    munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &read);
    return (long)(read - made);
}

/* When a directory above the socket denies access, munged is not to blame. */
static int
explain_silence(munge_ctx_t context, const char *words, struct error *err)
{
    const char *path = socket_of(context);
    CLEANUP_FREE char *obstacle = path_obstacle_dup(path, geteuid(), getegid());

    if (obstacle != NULL)
        return error_set(err, -EHOSTDOWN,
                         "MUNGE's socket '%s' cannot be reached: %s; make the "
                         "directory accessible, or set another socket "
                         "(mungeSocket)",
                         path, obstacle);
    return error_set(err, -EHOSTDOWN, "MUNGE does not answer: %s; is munged running? socket '%s'",
                     words, path);
}

static int
explain(munge_ctx_t context, munge_err_t why, struct error *err)
{
    CLEANUP_FREE char *words = words_of(context, why);
    int ttl = 0;

    switch (why) {
    case EMUNGE_SOCKET:
    case EMUNGE_TIMEOUT:
        return explain_silence(context, words, err);
    case EMUNGE_CRED_EXPIRED:
        munge_ctx_get(context, MUNGE_OPT_TTL, &ttl);
        return error_set(err, -EKEYREJECTED,
                         "the credential has expired: it was created %ld "
                         "seconds ago and was valid for %d; try again, and "
                         "if that does not help " CHECK_CLOCKS,
                         age_of(context), ttl);
    case EMUNGE_CRED_REWOUND:
        return error_set(err, -EKEYREJECTED,
                         "the credential was created %ld seconds in the "
                         "future; " CHECK_CLOCKS,
                         -age_of(context));
    case EMUNGE_CRED_REPLAYED:
        return error_set(err, -EKEYREJECTED,
                         "the credential has been used before; each attempt "
                         "needs a new one");
    case EMUNGE_CRED_UNAUTHORIZED:
        return error_set(err, -EKEYREJECTED,
                         "the credential was made for a user other than uid "
                         "%u, which read it: the user of the controller must "
                         "have the same uid on all machines ('id -u kiln'); "
                         "change it on one of them, or set serviceUser: %u "
                         "where the credential was made",
                         (unsigned)geteuid(), (unsigned)geteuid());
    case EMUNGE_CRED_INVALID:
        return error_set(err, -EKEYREJECTED,
                         "the credential is not from this cluster: do both "
                         "machines have the same MUNGE key?");
    default:
        return error_set(err, -EKEYREJECTED, "MUNGE refuses the credential: %s", words);
    }
}

static int
munge_backend_encode(struct credential_backend *credential_backend, const void *payload,
                     size_t length, uid_t only_uid, unsigned ttl_s, char **ret_text,
                     struct error *err)
{
    munge_ctx_t context = context_new(munge_from(credential_backend));
    munge_err_t why;
    int r = 0;

    munge_ctx_set(context, MUNGE_OPT_TTL, (int)ttl_s);
    if (only_uid != CREDENTIAL_ANY_UID)
        munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, only_uid);
    why = length > INT_MAX ? EMUNGE_BAD_LENGTH
                           : munge_encode(ret_text, context, payload, (int)length);
    if (why != EMUNGE_SUCCESS)
        r = explain(context, why, err);
    munge_ctx_destroy(context);
    return r;
}

static int
munge_backend_decode(struct credential_backend *credential_backend, const char *text,
                     struct credential *ret_credential, struct error *err)
{
    munge_ctx_t context = context_new(munge_from(credential_backend));
    struct credential c = {0};
    void *payload = NULL;
    int length = 0;
    int r = 0;
    munge_err_t why;

    why = munge_decode(text, context, &payload, &length, &c.uid, &c.gid);
    c.payload = payload != NULL ? payload : xstrdup("");
    c.length = (size_t)length;
    if (why == EMUNGE_SUCCESS) {
        c.only_uid = CREDENTIAL_ANY_UID;
        munge_ctx_get(context, MUNGE_OPT_UID_RESTRICTION, &c.only_uid);
        c.age_s = age_of(context);
        *ret_credential = c;
    } else {
        r = explain(context, why, err);
        credential_fini(&c);
    }
    munge_ctx_destroy(context);
    return r;
}

static void
munge_backend_free(struct credential_backend *credential_backend)
{
    struct munge_backend *m = munge_from(credential_backend);

    free(m->socket_path);
    free(m);
}

struct credential_backend *
credential_backend_new_munge(const char *socket_path)
{
    static const struct credential_backend_ops ops = {
        .encode = munge_backend_encode,
        .decode = munge_backend_decode,
        .free = munge_backend_free,
    };
    struct munge_backend *m = xnew(struct munge_backend);

    m->credential_backend.ops = &ops;
    m->socket_path = socket_path != NULL ? xstrdup(socket_path) : NULL;
    return &m->credential_backend;
}
