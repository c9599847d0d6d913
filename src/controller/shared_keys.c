/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens and the certificate must outlive a takeover, so their keys are in the store, and the
 * files of each head follow it (decision 790). While a controller leads, a file that an
 * administrator replaces is the newer truth and goes into the store: rotating a key means the
 * same with one head and with two. The certificate and its key are two files, and a kill
 * between them leaves none rather than a pair that does not match.
 */
#include "controller/shared_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/serving_keys.h"
#include "controller/settings.h"
#include "controller/store/engine/engine.h"
#include "controller/store/store.h"
#include "lib/auth/bearer_tokens.h"
#include "lib/auth/node_secret.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/tls/certificate.h"

#define LOOK_MS       1000
#define FILE_MOST     (1u << 20)
#define TAKEN_TRIES   30
#define TAKEN_WAIT_US 500000

/* Stored forms: the texts of the files, as they are. */
static const struct shared_file {
    const char *secret;
    const char *file;
    mode_t mode;
} token_file = {"keys/token", "token.key", 0600}, key_file = {"keys/tls.key", "tls.key", 0600},
  certificate_file = {"keys/tls.crt", "tls.crt", 0644};

struct shared_keys {
    struct shared_keys_settings s;
    struct timer *look;
    struct stat seen; /* of the token key that the store has */
    bool has_wait;    /* open runs the loop */
    bool is_done;
    int outcome;
};

static char *
path_of(const struct shared_keys *k, const struct shared_file *file)
{
    return xasprintf("%s/%s", k->s.settings->state_dir, file->file);
}

static const char *
stored(const struct shared_keys *k, const struct shared_file *file)
{
    return store_find_secret(k->s.store, file->secret);
}

static int
read_file(const struct shared_keys *k, const struct shared_file *file, struct strbuf *out,
          struct error *err)
{
    CLEANUP_FREE char *path = path_of(k, file);

    return file_read(path, FILE_MOST, out, err);
}

static void
wipe(struct strbuf *text)
{
    if (text->text != NULL)
        explicit_bzero(text->text, text->length);
    strbuf_fini(text);
}

/* --- from the store to the files --------------------------------------------------- */

/* 1 if the file was another one before. */
static int
write_file(const struct shared_keys *k, const struct shared_file *file, struct error *err)
{
    CLEANUP_FREE char *path = path_of(k, file);
    struct strbuf before = STRBUF_INIT;
    const char *text = stored(k, file);
    bool is_same = read_file(k, file, &before, NULL) == 0 && strcmp(before.text, text) == 0;
    int r = is_same ? 0 : file_write_atomic(path, file->mode, text, strlen(text), err);

    wipe(&before);
    return r < 0 ? r : !is_same;
}

/* A kill between the two files leaves no certificate, and the next start makes another
 * until it reads the store's again.
 */
static int
write_certificate(const struct shared_keys *k, struct error *err)
{
    CLEANUP_FREE char *path = path_of(k, &certificate_file);
    struct fresh_certificate *fresh = NULL;
    struct strbuf key = STRBUF_INIT;
    bool is_same =
        read_file(k, &key_file, &key, NULL) == 0 && strcmp(key.text, stored(k, &key_file)) == 0;
    int r = 0;

    wipe(&key);
    if (!is_same && unlink(path) < 0 && errno != ENOENT)
        return error_set(err, -errno, "cannot remove '%s': %s", path, strerror(errno));
    r = write_file(k, &key_file, err);
    if (r >= 0)
        r = write_file(k, &certificate_file, err);
    if (r >= 0)
        r = serving_keys_read_again(k->s.keys, &fresh, err);
    if (r < 0)
        return error_wrap(err, r, "the certificate that the controllers of this cluster share");
    if (serving_keys_take(k->s.keys, fresh))
        log_info("This controller uses the certificate that those before it have used");
    fresh_certificate_free(fresh);
    return 0;
}

static void
warn_of_names(const struct shared_keys *k)
{
    struct certificate_names names;

    serving_keys_names(k->s.keys, &names);
    for (size_t i = 0; i < names.count; i++)
        if (!certificate_has_name(serving_keys_certificate(k->s.keys), names.items[i]))
            log_warning("The certificate that the controllers share does not contain '%s': give "
                        "all of them the names of all in tls.names, restart them, remove tls.crt "
                        "and tls.key on the one that leads, and reload it",
                        names.items[i]);
    certificate_names_fini(&names);
}

/* --- from the files to the store --------------------------------------------------- */

static void
put(struct store_txn *txn, const struct shared_file *file, const struct strbuf *text)
{
    store_txn_put_secret(txn, file->secret, text->text);
}

static void
put_done(int outcome, void *context)
{
    struct shared_keys *k = context;

    k->outcome = outcome;
    k->is_done = true;
    if (outcome < 0)
        memset(&k->seen, 0, sizeof(k->seen));
    if (k->has_wait && !*k->s.is_stopping)
        loop_stop(k->s.loop);
}

static void
commit(struct shared_keys *k, struct store_txn *txn)
{
    k->is_done = false;
    store_commit(txn, put_done, k);
}

/* False: the files do not have the certificate that is in use. */
static bool
put_certificate(struct shared_keys *k, struct store_txn *txn)
{
    struct strbuf certificate = STRBUF_INIT, key = STRBUF_INIT;
    bool is_whole = read_file(k, &certificate_file, &certificate, NULL) == 0
                    && read_file(k, &key_file, &key, NULL) == 0
                    && strcmp(certificate.text, serving_keys_certificate(k->s.keys)) == 0;

    if (is_whole) {
        put(txn, &certificate_file, &certificate);
        put(txn, &key_file, &key);
    }
    strbuf_fini(&certificate);
    wipe(&key);
    return is_whole;
}

static int
put_token_key(struct shared_keys *k, struct store_txn *txn, struct error *err)
{
    CLEANUP_FREE char *path = path_of(k, &token_file);
    struct strbuf text = STRBUF_INIT;
    int r = stat(path, &k->seen) < 0 ? error_set(err, -errno, "'%s': %s", path, strerror(errno))
                                     : file_read(path, FILE_MOST, &text, err);

    if (r == 0)
        put(txn, &token_file, &text);
    wipe(&text);
    return r;
}

static bool
is_site_certificate(const struct shared_keys *k)
{
    return k->s.settings->tls_certificate != NULL;
}

static bool
has_certificate(const struct shared_keys *k)
{
    return stored(k, &certificate_file) != NULL && stored(k, &key_file) != NULL;
}

/* --- a token key that is replaced while this controller leads ----------------------- */

/* A file that is removed revokes all tokens, as one that is replaced does. */
static void
make_token_key(const char *path)
{
    struct error err = {0};

    if (bearer_tokens_rotate(path, &err) < 0)
        log_warning("no token is valid, and there is no new token key: %s", err.text);
}

static bool
is_seen(const struct shared_keys *k, const struct stat *now)
{
    return now->st_ino == k->seen.st_ino && now->st_mtim.tv_sec == k->seen.st_mtim.tv_sec
           && now->st_mtim.tv_nsec == k->seen.st_mtim.tv_nsec;
}

static void
check_token_key(struct shared_keys *k)
{
    CLEANUP_FREE char *path = path_of(k, &token_file);
    struct strbuf text = STRBUF_INIT;
    struct node_secret key;
    struct stat now;

    if (stat(path, &now) < 0 && errno == ENOENT)
        make_token_key(path);
    if (stat(path, &now) < 0 || is_seen(k, &now) || file_read(path, FILE_MOST, &text, NULL) < 0)
        return;
    k->seen = now;
    if (strcmp(text.text, stored(k, &token_file)) != 0) {
        CLEANUP_FREE char *line = xstrndup(text.text, strcspn(text.text, "\n"));

        if (node_secret_parse(line, &key) == 0) {
            struct store_txn *txn = store_begin(k->s.store);

            put(txn, &token_file, &text);
            commit(k, txn);
            serving_keys_reload(k->s.keys);
            log_info("The token key was replaced, also for the controllers that wait: all tokens "
                     "are revoked");
        }
        explicit_bzero(line, strlen(line));
        explicit_bzero(&key, sizeof(key));
    }
    wipe(&text);
}

/* After a reload, which took other files into use. */
static void
check_certificate(struct shared_keys *k)
{
    struct store_txn *txn;

    if (is_site_certificate(k)
        || (has_certificate(k)
            && strcmp(stored(k, &certificate_file), serving_keys_certificate(k->s.keys)) == 0))
        return;
    txn = store_begin(k->s.store);
    if (put_certificate(k, txn))
        commit(k, txn);
    else
        store_rollback(txn);
}

static void
check_files(void *arg)
{
    struct shared_keys *k = arg;

    check_token_key(k);
    check_certificate(k);
}

/* --- life ---------------------------------------------------------------------------- */

static int
await_commit(struct shared_keys *k, struct error *err)
{
    k->has_wait = true;
    loop_run(k->s.loop);
    k->has_wait = false;
    if (k->is_done && k->outcome == 0)
        return 0;
    if (*k->s.is_stopping)
        return -ECANCELED;
    return error_set(err, -EIO, "the store does not take the keys of this controller");
}

/* Writes what the store has to the files, and reads from them what it lacks. */
static int
exchange(struct shared_keys *k, bool *ret_must_wait, struct error *err)
{
    struct store_txn *txn = NULL;
    int r = 0;

    if (stored(k, &token_file) != NULL)
        r = write_file(k, &token_file, err);
    serving_keys_reload(k->s.keys);
    if (r >= 0 && !is_site_certificate(k) && has_certificate(k))
        r = write_certificate(k, err);
    if (r < 0)
        return r;
    *ret_must_wait =
        stored(k, &token_file) == NULL || (!is_site_certificate(k) && !has_certificate(k));
    if (!*ret_must_wait)
        return 0;
    txn = store_begin(k->s.store);
    r = stored(k, &token_file) == NULL ? put_token_key(k, txn, err) : 0;
    if (r == 0 && !is_site_certificate(k) && !has_certificate(k) && !put_certificate(k, txn))
        r = error_set(err, -EIO, "tls.crt was changed while the controller starts: start it again");
    if (r < 0)
        store_rollback(txn);
    else
        commit(k, txn);
    return r;
}

/* A cluster that was moved back from a database: its keys are in files again, and what the
 * store has must not come back when it is moved there another time.
 */
static void
forget(struct store *store)
{
    const char *const names[] = {token_file.secret, key_file.secret, certificate_file.secret};
    struct store_txn *txn = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (store_find_secret(store, names[i]) == NULL)
            continue;
        if (txn == NULL)
            txn = store_begin(store);
        store_txn_remove_secret(txn, names[i]);
    }
    if (txn != NULL)
        store_commit(txn, NULL, NULL);
}

int
shared_keys_open(const struct shared_keys_settings *settings, struct shared_keys **ret_shared,
                 struct error *err)
{
    struct shared_keys *k;
    bool must_wait = false;
    int r;

    if (settings->settings->database == NULL)
        forget(settings->store);
    if (settings->settings->database == NULL || settings->keys == NULL)
        return 0;
    k = xnew(struct shared_keys);
    k->s = *settings;
    *ret_shared = k;
    r = exchange(k, &must_wait, err);
    if (r == 0 && must_wait)
        r = await_commit(k, err);
    if (r < 0)
        return r;
    if (!is_site_certificate(k))
        warn_of_names(k);
    k->look = timer_new(settings->loop, check_files, k);
    timer_repeat(k->look, LOOK_MS);
    return 0;
}

void
shared_keys_stop(struct shared_keys *k)
{
    if (k == NULL)
        return;
    timer_free(k->look);
    k->look = NULL;
}

void
shared_keys_free(struct shared_keys *k)
{
    free(k);
}

/* --- for kiln-controller --rotate-tokens --------------------------------------------- */

static void
find_key(const char *name, const char *value, void *context)
{
    struct strbuf *out = context;

    if (strcmp(name, token_file.secret) == 0)
        strbuf_add_text(out, value);
}

static void
no_blob(UNUSED int64_t row, UNUSED const char *digest, UNUSED int64_t count, UNUSED void *context)
{
}

/* 1 if the store has that key. */
static int
is_taken(const char *url, const char *key, struct error *err)
{
    struct strbuf text = STRBUF_INIT;
    const struct engine_visitor visitor = {no_blob, find_key, &text};
    struct engine_counters counters;
    struct engine *engine = NULL;
    int r = engine_postgres_attach(url, &engine, &counters, err);

    if (r < 0)
        return r;
    r = engine->ops->visit(engine, &visitor, err);
    if (r == 0)
        r = text.length > 0 && strcmp(text.text, key) == 0;
    engine->ops->close(engine);
    wipe(&text);
    return r;
}

int
shared_keys_await(const struct controller_settings *settings, const char *path, struct error *err)
{
    struct strbuf key = STRBUF_INIT;
    int r = file_read(path, FILE_MOST, &key, err);

    for (int i = 0; r == 0 && i < TAKEN_TRIES; i++) {
        if (i > 0)
            usleep(TAKEN_WAIT_US);
        r = is_taken(settings->database, key.text, err);
    }
    wipe(&key);
    if (r == 0)
        return error_set(err, -ESTALE,
                         "no token was revoked: the controller that leads takes a new key only "
                         "from its own state directory, and while it serves TLS; run this on its "
                         "machine, which 'kctl controllers' names");
    return r < 0 ? error_wrap(err, r, "it is not known whether tokens were revoked") : 0;
}
