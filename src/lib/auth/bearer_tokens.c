/* SPDX-License-Identifier: Apache-2.0 */
/* A token is not stored: its MAC proves it, and it expires soon. To revoke tokens there is the
 * key, which is read again when its file has changed; a file that has vanished means that all
 * tokens are to be invalid, so a random key takes its place. Groups and rank are not in the
 * token, but looked up at each use, so a right that was taken away is gone at once (decision
 * 57).
 */
#include "lib/auth/bearer_tokens.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/auth/digest.h"
#include "lib/auth/node_secret.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define FORM         "kiln1"
#define KEY_MODE     0600
#define LOOK_AGAIN_S 1

struct bearer_tokens {
    char *path;
    char *cluster;
    struct clock *clock;
    struct node_secret key;
    struct stat seen; /* of the file that the key was read from */
    int64_t looked_at_us;
};

/* The claims of a token, which its MAC covers. */
struct token_claims {
    uid_t uid;
    gid_t gid;
    int64_t ends_at_s;
};

void
bearer_tokens_free(struct bearer_tokens *b)
{
    if (b == NULL)
        return;
    explicit_bzero(&b->key, sizeof(b->key));
    free(b->path);
    free(b->cluster);
    free(b);
}

int
bearer_tokens_rotate(const char *path, struct error *err)
{
    struct node_secret key;
    char text[DIGEST_HEX_SIZE];
    int r;

    node_secret_issue(&key);
    node_secret_format(&key, text);
    text[DIGEST_HEX_SIZE - 1] = '\n';
    r = file_write_atomic(path, KEY_MODE, text, sizeof(text), err);
    explicit_bzero(text, sizeof(text));
    explicit_bzero(&key, sizeof(key));
    return r;
}

static int
read_key(struct bearer_tokens *b, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct stat status;
    int r;

    if (stat(b->path, &status) < 0)
        return error_set(err, -errno, "'%s': %s", b->path, strerror(errno));
    if ((status.st_mode & 077) != 0)
        return error_set(err, -EPERM,
                         "'%s' is readable by others; only its owner may read "
                         "a key (chmod 600)",
                         b->path);
    r = file_read(b->path, 4096, &text, err);
    if (r < 0)
        return r;
    strbuf_truncate(&text, strcspn(text.text, "\n"));
    r = node_secret_parse(text.text, &b->key);
    explicit_bzero(text.text, text.length);
    if (r < 0)
        return error_set(err, -EINVAL,
                         "'%s' is not a key; remove it, and a new one is "
                         "created",
                         b->path);
    b->seen = status;
    return 0;
}

int
bearer_tokens_open(const char *path, const char *cluster, struct clock *clock,
                   struct bearer_tokens **ret_bearer, struct error *err)
{
    struct bearer_tokens *b = xnew(struct bearer_tokens);
    struct stat status;
    int r = 0;

    b->path = xstrdup(path);
    b->cluster = xstrdup(cluster);
    b->clock = clock;
    if (stat(path, &status) < 0 && errno == ENOENT)
        r = bearer_tokens_rotate(path, err);
    if (r == 0)
        r = read_key(b, err);
    if (r < 0) {
        bearer_tokens_free(b);
        return r;
    }
    *ret_bearer = b;
    return 0;
}

/* Calls stat at most once a second, on a file on the controller's own disk. */
static void
reload_key_if_changed(struct bearer_tokens *b)
{
    int64_t now = clock_monotonic_us(b->clock);
    struct error err = {0};
    struct stat status;

    if (now - b->looked_at_us < LOOK_AGAIN_S * 1000000)
        return;
    b->looked_at_us = now;
    if (stat(b->path, &status) == 0 && status.st_ino == b->seen.st_ino
        && status.st_mtim.tv_sec == b->seen.st_mtim.tv_sec
        && status.st_mtim.tv_nsec == b->seen.st_mtim.tv_nsec)
        return;
    if (read_key(b, &err) == 0) {
        log_debug("the token key has changed");
        return;
    }
    /* Removing the key file is a way to revoke all tokens: use a random key. */
    log_debug("%s; no token is valid", err.text);
    node_secret_issue(&b->key);
    memset(&b->seen, 0, sizeof(b->seen));
}

void
bearer_tokens_reload(struct bearer_tokens *b)
{
    b->looked_at_us = INT64_MIN / 2;
}

static void
sign(const struct bearer_tokens *b, const struct token_claims *p, char out[DIGEST_HEX_SIZE])
{
    char *text = xasprintf("kiln-token 1\n%s\n%u\n%u\n%" PRId64 "\n", b->cluster, (unsigned)p->uid,
                           (unsigned)p->gid, p->ends_at_s);
    struct digest_part part = {text, strlen(text)};
    struct digest mac;

    digest_hmac(b->key.bytes, sizeof(b->key.bytes), &part, 1, &mac);
    digest_format(&mac, out);
    free(text);
}

void
bearer_tokens_issue(struct bearer_tokens *b, uid_t uid, gid_t gid, int64_t lifetime_s,
                    char ret_token[BEARER_TOKEN_SIZE], int64_t *ret_ends_at_s)
{
    struct token_claims p = {
        .uid = uid,
        .gid = gid,
        .ends_at_s = clock_real_us(b->clock) / 1000000 + lifetime_s,
    };
    char mac[DIGEST_HEX_SIZE];

    reload_key_if_changed(b);
    sign(b, &p, mac);
    snprintf(ret_token, BEARER_TOKEN_SIZE, FORM ".%u.%u.%" PRId64 ".%s", (unsigned)uid,
             (unsigned)gid, p.ends_at_s, mac);
    *ret_ends_at_s = p.ends_at_s;
}

/* Reads the number at *at, at most `most`, and the dot behind it. */
static int
read_number(const char **at, uint64_t most, uint64_t *ret_value)
{
    char *end;

    if (**at < '0' || **at > '9')
        return -EINVAL;
    errno = 0;
    *ret_value = strtoull(*at, &end, 10);
    if (errno != 0 || *end != '.' || *ret_value > most)
        return -EINVAL;
    *at = end + 1;
    return 0;
}

static int
parse(const char *token, struct token_claims *ret_claims, struct digest *ret_mac)
{
    static const char head[] = FORM ".";
    const char *at = token;
    uint64_t uid, gid, ends;

    if (strncmp(token, head, sizeof(head) - 1) != 0)
        return -EINVAL;
    at += sizeof(head) - 1;
    if (read_number(&at, UINT32_MAX, &uid) < 0 || read_number(&at, UINT32_MAX, &gid) < 0
        || read_number(&at, INT64_MAX, &ends) < 0 || digest_parse(at, ret_mac) < 0)
        return -EINVAL;
    *ret_claims = (struct token_claims){(uid_t)uid, (gid_t)gid, (int64_t)ends};
    return 0;
}

int
bearer_tokens_check(struct bearer_tokens *b, const char *token, uid_t *ret_uid, gid_t *ret_gid,
                    struct error *err)
{
    struct token_claims p;
    struct digest given, expected;
    char mac[DIGEST_HEX_SIZE];
    int64_t late_s;

    if (parse(token, &p, &given) < 0)
        return error_set(err, -EKEYREJECTED,
                         "the bearer token was not issued by Kiln; get one "
                         "with 'kctl credential'");
    reload_key_if_changed(b);
    sign(b, &p, mac);
    if (digest_parse(mac, &expected) < 0 || !digest_equals(&given, &expected))
        return error_set(err, -EKEYREJECTED,
                         "the bearer token is not from cluster '%s', or the "
                         "token key has been replaced since; get another with "
                         "'kctl credential'",
                         b->cluster);
    late_s = clock_real_us(b->clock) / 1000000 - p.ends_at_s;
    if (late_s >= 0)
        return error_set(err, -EKEYREJECTED,
                         "the bearer token expired %" PRId64 " seconds ago; "
                         "get another with 'kctl credential'",
                         late_s);
    *ret_uid = p.uid;
    *ret_gid = p.gid;
    return 0;
}

void
bearer_token_name(const char *token, char ret_name[BEARER_TOKEN_NAME_SIZE])
{
    struct digest d;
    char hex[DIGEST_HEX_SIZE];

    digest_of(token, strlen(token), &d);
    digest_format(&d, hex);
    snprintf(ret_name, BEARER_TOKEN_NAME_SIZE, "%.16s", hex);
}
