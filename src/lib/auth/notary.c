/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/notary.h"

#include <string.h>

#include "lib/base/alloc.h"

void
credential_fini(struct credential *c)
{
    /* It may have held a session's key. */
    if (c->payload != NULL)
        explicit_bzero(c->payload, c->length);
    free(c->payload);
    *c = (struct credential){0};
}

void
notary_free(struct notary *notary)
{
    if (notary != NULL)
        notary->ops->free(notary);
}

int
notary_encode(struct notary *notary,
              const void *payload,
              size_t length,
              uid_t only_uid,
              unsigned ttl_s,
              char **ret_text,
              struct error *err)
{
    return notary->ops
        ->encode(notary, payload, length, only_uid, ttl_s, ret_text, err);
}

int
notary_decode(struct notary *notary,
              const char *text,
              struct credential *ret_credential,
              struct error *err)
{
    return notary->ops->decode(notary, text, ret_credential, err);
}
