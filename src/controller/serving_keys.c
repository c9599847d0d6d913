/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate that the controller makes itself is made once, with all names that the
 * machine and the settings have then, and is kept: clients' configurations contain it, and a
 * new one would be a stranger to all of them. The key of tokens is separate, so that making a
 * new one revokes all tokens and nothing else.
 */
#include "controller/serving_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/apiserver/access/token_endpoint.h"
#include "controller/settings.h"
#include "controller/shared_keys.h"
#include "controller/store/directory/statedir.h"
#include "lib/auth/bearer_tokens.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_server.h"
#include "lib/tls/certificate.h"
#include "lib/tls/tls.h"

#define SECOND_US        1000000
#define CERTIFICATE_MOST (1u << 20)

struct serving_keys {
    const struct controller_settings *settings;
    char *certificate;
    char *key;
    struct strbuf pem; /* of the certificate */
    struct tls *tls;
    struct bearer_tokens *bearer;
};

struct fresh_certificate {
    struct strbuf pem;
    struct tls *tls;
};

static char *
token_key(const struct controller_settings *s)
{
    return xasprintf("%s/token.key", s->state_dir);
}

/* The host of "ADDR:PORT" as a certificate has it; NULL for all addresses. */
static char *
host_of(const char *listen)
{
    const char *colon = strrchr(listen, ':');
    size_t length = colon != NULL ? (size_t)(colon - listen) : strlen(listen);
    char *host;

    if (length > 2 && listen[0] == '[' && listen[length - 1] == ']') {
        listen++;
        length -= 2;
    }
    host = xstrndup(listen, length);
    if (strcmp(host, "*") != 0 && strcmp(host, "0.0.0.0") != 0 && strcmp(host, "::") != 0)
        return host;
    free(host);
    return NULL;
}

/* Adds the name unless it is empty or in the list. */
static void
add_name(struct certificate_names *names, char *name TAKES)
{
    bool is_there = name == NULL || name[0] == '\0' || names->count == CERTIFICATE_NAMES;

    for (size_t i = 0; !is_there && i < names->count; i++)
        is_there = strcmp(names->items[i], name) == 0;
    if (is_there)
        free(name);
    else
        names->items[names->count++] = name;
}

void
serving_keys_names(const struct serving_keys *k, struct certificate_names *ret_names)
{
    const struct controller_settings *s = k->settings;
    char host[256] = "";

    *ret_names = (struct certificate_names){0};
    for (size_t i = 0; i < s->tls_names.count; i++)
        add_name(ret_names, xstrdup(s->tls_names.items[i]));
    if (gethostname(host, sizeof(host) - 1) == 0)
        add_name(ret_names, xstrdup(host));
    for (size_t i = 0; i < s->tls_listen.count; i++)
        add_name(ret_names, host_of(s->tls_listen.items[i]));
    add_name(ret_names, xstrdup("localhost"));
    add_name(ret_names, xstrdup("127.0.0.1"));
    add_name(ret_names, xstrdup("::1"));
}

void
certificate_names_fini(struct certificate_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    names->count = 0;
}

static int
make_certificate(const struct serving_keys *k, struct error *err)
{
    struct certificate_names names;
    int r;

    serving_keys_names(k, &names);
    r = certificate_make(k->certificate, k->key, (const char *const *)names.items, names.count,
                         err);
    if (r == 0)
        log_info("created a certificate for '%s' and %zu more names: '%s'", names.items[0],
                 names.count - 1, k->certificate);
    certificate_names_fini(&names);
    return r;
}

static int
find_certificate(struct serving_keys *k, struct error *err)
{
    const struct controller_settings *s = k->settings;

    if (s->tls_certificate != NULL) {
        k->certificate = xstrdup(s->tls_certificate);
        k->key = xstrdup(s->tls_key);
        return 0;
    }
    k->certificate = xasprintf("%s/tls.crt", s->state_dir);
    k->key = xasprintf("%s/tls.key", s->state_dir);
    return access(k->certificate, F_OK) == 0 ? 0 : make_certificate(k, err);
}

int
serving_keys_open(const struct controller_settings *settings, struct serving_keys **ret_keys,
                  struct error *err)
{
    CLEANUP_FREE char *key = token_key(settings);
    struct serving_keys *k;
    int r;

    *ret_keys = NULL;
    if (settings->tls_listen.count == 0)
        return 0;
    k = xnew(struct serving_keys);
    k->settings = settings;
    strbuf_init(&k->pem);
    r = dir_make(settings->state_dir, 0700, err);
    if (r == 0)
        r = find_certificate(k, err);
    if (r == 0)
        r = file_read(k->certificate, CERTIFICATE_MOST, &k->pem, err);
    if (r == 0)
        r = tls_open(k->certificate, k->key, &k->tls, err);
    if (r == 0)
        r = bearer_tokens_open(key, settings->cluster, &clock_system, &k->bearer, err);
    if (r < 0) {
        serving_keys_free(k);
        return r;
    }
    *ret_keys = k;
    return 0;
}

void
serving_keys_free(struct serving_keys *k)
{
    if (k == NULL)
        return;
    bearer_tokens_free(k->bearer);
    tls_free(k->tls);
    strbuf_fini(&k->pem);
    free(k->certificate);
    free(k->key);
    free(k);
}

int
serving_keys_read_again(const struct serving_keys *k, struct fresh_certificate **ret_fresh,
                        struct error *err)
{
    struct fresh_certificate *fresh;
    int r = 0;

    *ret_fresh = NULL;
    if (k == NULL)
        return 0;
    fresh = xnew(struct fresh_certificate);
    strbuf_init(&fresh->pem);
    if (k->settings->tls_certificate == NULL && access(k->certificate, F_OK) < 0)
        r = make_certificate(k, err);
    if (r == 0)
        r = file_read(k->certificate, CERTIFICATE_MOST, &fresh->pem, err);
    if (r == 0)
        r = tls_open(k->certificate, k->key, &fresh->tls, err);
    if (r < 0) {
        fresh_certificate_free(fresh);
        return r;
    }
    *ret_fresh = fresh;
    return 0;
}

void
fresh_certificate_free(struct fresh_certificate *fresh)
{
    if (fresh == NULL)
        return;
    tls_free(fresh->tls);
    strbuf_fini(&fresh->pem);
    free(fresh);
}

bool
serving_keys_take(struct serving_keys *k, struct fresh_certificate *fresh)
{
    struct strbuf before;

    if (k == NULL || fresh == NULL)
        return false;
    before = k->pem;
    tls_take_certificate(k->tls, fresh->tls);
    k->pem = fresh->pem;
    fresh->pem = before;
    return strcmp(k->pem.text, before.text) != 0;
}

int
serving_keys_rotate_tokens(const struct controller_settings *settings, struct error *err)
{
    CLEANUP_FREE char *key = token_key(settings);
    int r = bearer_tokens_rotate(key, err);

    if (r == 0)
        r = statedir_give_away(settings->state_dir, key, err);
    return r == 0 && settings->database != NULL ? shared_keys_await(settings, key, err) : r;
}

void
serving_keys_access(const struct serving_keys *k, struct credential_backend *credential_backend,
                    struct token_endpoint *ret_access)
{
    memset(ret_access, 0, sizeof(*ret_access));
    if (k == NULL)
        return;
    *ret_access = (struct token_endpoint){
        .bearer = k->bearer,
        .credential_backend = credential_backend,
        .cluster = k->settings->cluster,
        .authority = &k->pem,
        .lifetime_s = k->settings->token_lifetime_us / SECOND_US,
    };
}

void
serving_keys_layer(const struct serving_keys *k, struct http_layer *ret_layer)
{
    *ret_layer = (struct http_layer){.make = tls_make_connection, .arg = k->tls};
}

struct tls *
serving_keys_tls(const struct serving_keys *k)
{
    return k != NULL ? k->tls : NULL;
}

const char *
serving_keys_certificate(const struct serving_keys *k)
{
    return k->pem.text;
}

void
serving_keys_reload(struct serving_keys *k)
{
    bearer_tokens_reload(k->bearer);
}
