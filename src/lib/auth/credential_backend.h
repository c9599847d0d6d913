/* SPDX-License-Identifier: Apache-2.0 */
/* credential_backend.h - who makes credentials and vouches for them: MUNGE, or
 * a fake
 *
 * A credential is text that carries a payload and proves the uid and gid of
 * the process that had it made, within one security realm, for a short time
 * and for one reading.
 *
 * Thread: any; both calls block, so they run on workers in a daemon.
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
    uid_t uid; /* of its maker */
    gid_t gid;
    uid_t only_uid; /* who may read it, or CREDENTIAL_ANY_UID */
    long age_s;     /* since it was made, by the clocks of both machines */
};
void credential_fini(struct credential *c);

struct credential_backend_ops {
    int (*encode)(struct credential_backend *credential_backend,
                  const void *payload,
                  size_t length,
                  uid_t only_uid,
                  unsigned ttl_s,
                  char **ret_text,
                  struct error *err);
    int (*decode)(struct credential_backend *credential_backend,
                  const char *text,
                  struct credential *ret_credential,
                  struct error *err);
    void (*free)(struct credential_backend *credential_backend);
};

struct credential_backend {
    const struct credential_backend_ops *ops;
};

/* Life. Munge: over libmunge; NULL is its default socket. Nothing is opened
 * before the first use.
 */
void credential_backend_free(struct credential_backend *credential_backend);
struct credential_backend *credential_backend_new_munge(const char *socket_path)
    OWNED_BY(credential_backend_free);
DEFINE_CLEANUP(struct credential_backend, credential_backend_free)

/* Encode: a credential that only a process of `only_uid` can decode. Free the
 * text. Decode: everything about it has been checked but what the payload
 * says. Errors: -EKEYREJECTED when the credential is bad (expired, rewound,
 * replayed, for somebody else, forged), -EHOSTDOWN when the service is not
 * there; the words say what to do.
 */
int credential_backend_encode(struct credential_backend *credential_backend,
                              const void *payload,
                              size_t length,
                              uid_t only_uid,
                              unsigned ttl_s,
                              char **ret_text,
                              struct error *err);
int credential_backend_decode(struct credential_backend *credential_backend,
                              const char *text,
                              struct credential *ret_credential,
                              struct error *err);
