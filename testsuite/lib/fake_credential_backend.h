/* SPDX-License-Identifier: Apache-2.0 */
/* fake_credential_backend.h - credentials without munged, of whatever user a
 * test likes
 *
 * A realm is what one MUNGE key spans: its clock is set by hand, and it can be
 * down. A credential_backend speaks as one uid in it. As strict as munged: a
 * credential is read once, by whom it is for, while it is good.
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
    struct map *read; /* credentials that were */
    unsigned long made;
    long now_s;
    bool is_down;
};

/* Life. The realm outlives its notaries. */
void fake_realm_init(struct fake_realm *realm);
void fake_realm_fini(struct fake_realm *realm);
struct credential_backend *fake_credential_backend_new(struct fake_realm *realm,
                                                       uid_t uid,
                                                       gid_t gid) MUST_USE;
