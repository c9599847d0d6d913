/* SPDX-License-Identifier: Apache-2.0 */
/* fake_credential_backend.h - credentials without munged, of any user that a
 * test needs
 *
 * A realm corresponds to one MUNGE key: the test sets its clock, and it can be
 * down. A credential_backend is one uid in the realm. It is as strict as
 * munged: a credential can be read once, by its recipient, while it is valid.
 *
 * Thread: any.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct map;
struct credential_backend;

struct fake_realm {
    pthread_mutex_t lock;
    struct map *read; /* credentials that were read */
    unsigned long made;
    long now_s;
    bool is_down;
};

/* Life. The realm must outlive its credential backends. */
void fake_realm_init(struct fake_realm *realm);
void fake_realm_fini(struct fake_realm *realm);
struct credential_backend *fake_credential_backend_new(struct fake_realm *realm, uid_t uid,
                                                       gid_t gid) MUST_USE;
