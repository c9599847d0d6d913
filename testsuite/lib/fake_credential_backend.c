/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/lib/fake_credential_backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/auth/credential_backend.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"

struct fake_credential_backend {
    struct credential_backend credential_backend;
    struct fake_realm *realm;
    uid_t uid;
    gid_t gid;
};

static struct fake_credential_backend *
fake_from(struct credential_backend *credential_backend)
{
    return container_of(credential_backend, struct fake_credential_backend, credential_backend);
}

void
fake_realm_init(struct fake_realm *realm)
{
    *realm = (struct fake_realm){.now_s = 1000000};
    pthread_mutex_init(&realm->lock, NULL);
    realm->read = map_new();
}

void
fake_realm_fini(struct fake_realm *realm)
{
    map_free(realm->read);
    pthread_mutex_destroy(&realm->lock);
}

static int
fake_encode(struct credential_backend *credential_backend, const void *payload, size_t length,
            uid_t only_uid, unsigned ttl_s, char **ret_text, struct error *err)
{
    struct fake_credential_backend *f = fake_from(credential_backend);
    struct strbuf text = STRBUF_INIT;
    bool is_down;

    pthread_mutex_lock(&f->realm->lock);
    is_down = f->realm->is_down;
    strbuf_printf(&text, "FAKE:%lu:%u:%u:%u:%u:%ld:", f->realm->made++, (unsigned)f->uid,
                  (unsigned)f->gid, (unsigned)only_uid, ttl_s, f->realm->now_s);
    pthread_mutex_unlock(&f->realm->lock);
    base64_encode(&text, payload, length);
    if (!is_down)
        *ret_text = xstrdup(text.text);
    strbuf_fini(&text);
    return is_down ? error_set(err, -EHOSTDOWN, "is munged running?") : 0;
}

/* Call it with the lock held. */
static int
check(struct fake_credential_backend *f, const char *text, const struct credential *c, long ttl_s,
      struct error *err)
{
    if (f->realm->is_down)
        return error_set(err, -EHOSTDOWN, "is munged running?");
    if (c->only_uid != CREDENTIAL_ANY_UID && c->only_uid != f->uid)
        return error_set(err, -EKEYREJECTED, "for another user");
    if (c->age_s > ttl_s)
        return error_set(err, -EKEYREJECTED, "has expired");
    if (c->age_s < 0)
        return error_set(err, -EKEYREJECTED, "made in the future");
    if (map_put(f->realm->read, text, f->realm) != NULL)
        return error_set(err, -EKEYREJECTED, "has been used before");
    return 0;
}

static int
fake_decode(struct credential_backend *credential_backend, const char *text,
            struct credential *ret_credential, struct error *err)
{
    struct fake_credential_backend *f = fake_from(credential_backend);
    struct strbuf payload = STRBUF_INIT;
    struct credential c = {0};
    unsigned long number;
    unsigned ttl_s;
    long made_s;
    int at = 0, r;

    if (sscanf(text, "FAKE:%lu:%u:%u:%u:%u:%ld:%n", &number, &c.uid, &c.gid, &c.only_uid, &ttl_s,
               &made_s, &at)
            < 6
        || at == 0 || base64_decode(&payload, text + at, strlen(text + at)) < 0)
        return error_set(err, -EKEYREJECTED, "not a credential");
    pthread_mutex_lock(&f->realm->lock);
    c.age_s = f->realm->now_s - made_s;
    r = check(f, text, &c, (long)ttl_s, err);
    pthread_mutex_unlock(&f->realm->lock);
    if (r == 0) {
        c.length = payload.length;
        c.payload = xmalloc(payload.length + 1);
        memcpy(c.payload, payload.text, payload.length + 1);
        *ret_credential = c;
    }
    strbuf_fini(&payload);
    return r;
}

static void
fake_free(struct credential_backend *credential_backend)
{
    free(fake_from(credential_backend));
}

struct credential_backend *
fake_credential_backend_new(struct fake_realm *realm, uid_t uid, gid_t gid)
{
    static const struct credential_backend_ops ops = {
        .encode = fake_encode,
        .decode = fake_decode,
        .free = fake_free,
    };
    struct fake_credential_backend *f = xnew(struct fake_credential_backend);

    f->credential_backend.ops = &ops;
    f->realm = realm;
    f->uid = uid;
    f->gid = gid;
    return &f->credential_backend;
}
