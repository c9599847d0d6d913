/* SPDX-License-Identifier: Apache-2.0 */
/* credential_backend.h - the service that makes and checks credentials: MUNGE,
 * or a fake
 *
 * A credential is text that carries a payload and proves the uid and gid of the
 * process that requested it. It is valid within one security realm, for a short
 * time, and can be decoded once.
 *
 * Thread: any; both calls block, so a daemon calls them on workers.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct credential_backend;

#define CREDENTIAL_ANY_UID ((uid_t)-1)

struct credential {
    char *payload; /* ends with a NUL that is not counted; never NULL */
    size_t length;
    uid_t uid; /* of the process that requested it */
    gid_t gid;
    uid_t only_uid; /* the uid that may decode it, or CREDENTIAL_ANY_UID */
    long age_s;     /* since it was made, by the clocks of both hosts */
};
void credential_fini(struct credential *c);

struct credential_backend_ops {
    int (*encode)(struct credential_backend *credential_backend, const void *payload, size_t length,
                  uid_t only_uid, unsigned ttl_s, char **ret_text, struct error *err);
    int (*decode)(struct credential_backend *credential_backend, const char *text,
                  struct credential *ret_credential, struct error *err);
    void (*free)(struct credential_backend *credential_backend);
};

struct credential_backend {
    const struct credential_backend_ops *ops;
};

/* Life. Munge uses libmunge; a NULL path is its default socket. The socket is
 * not opened before the first use.
 */
void credential_backend_free(struct credential_backend *credential_backend);
struct credential_backend *credential_backend_new_munge(const char *socket_path)
    OWNED_BY(credential_backend_free);
DEFINE_CLEANUP(struct credential_backend, credential_backend_free)

/* Encode makes a credential that only a process of `only_uid` can decode; free
 * the text. Decode checks all of it but the contents of the payload. Errors:
 * -EKEYREJECTED when the credential is bad (expired, rewound, replayed, for
 * another uid, forged), -EHOSTDOWN when the service does not answer; the text
 * says how to repair it.
 */
int credential_backend_encode(struct credential_backend *credential_backend, const void *payload,
                              size_t length, uid_t only_uid, unsigned ttl_s, char **ret_text,
                              struct error *err);
int credential_backend_decode(struct credential_backend *credential_backend, const char *text,
                              struct credential *ret_credential, struct error *err);
