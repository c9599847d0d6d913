/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/credential_backend.h"

#include <string.h>

#include "lib/base/alloc.h"

void
credential_fini(struct credential *c)
{
    /* The payload may contain the key of a session. */
    if (c->payload != NULL)
        explicit_bzero(c->payload, c->length);
    free(c->payload);
    *c = (struct credential){0};
}

void
credential_backend_free(struct credential_backend *credential_backend)
{
    if (credential_backend != NULL)
        credential_backend->ops->free(credential_backend);
}

int
credential_backend_encode(struct credential_backend *credential_backend, const void *payload,
                          size_t length, uid_t only_uid, unsigned ttl_s, char **ret_text,
                          struct error *err)
{
    return credential_backend->ops->encode(credential_backend, payload, length, only_uid, ttl_s,
                                           ret_text, err);
}

int
credential_backend_decode(struct credential_backend *credential_backend, const char *text,
                          struct credential *ret_credential, struct error *err)
{
    return credential_backend->ops->decode(credential_backend, text, ret_credential, err);
}
