/* SPDX-License-Identifier: Apache-2.0 */
/* krun_grants.h - grants of the controller (lib/auth/exec_grant.h), which kctl gets and krun uses
 * where MUNGE does not prove that the caller is the job's user
 *
 * They are in a file without a name that kctl hands over as a descriptor, with the secret key that they
 * are for. Each is for one connection; what has been used is marked in the file, so that the next
 * program does not use it again.
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

#define KRUN_GRANTS_KEY_SIZE 65 /* hexadecimal digits and a NUL */

struct error;
struct exec_call;
struct krun_grants;

/* Life. Make: none yet, for the key that it returns. Open takes the descriptor, which other programs
 * no longer inherit. -EINVAL: there are no grants in it.
 */
void krun_grants_free(struct krun_grants *grants);
int krun_grants_make(struct krun_grants **ret_grants, char ret_key[KRUN_GRANTS_KEY_SIZE],
                     struct error *err);
int krun_grants_open(int fd TAKES, struct krun_grants **ret_grants, struct error *err);
DEFINE_CLEANUP(struct krun_grants, krun_grants_free)

/* Texts without blanks. Adds a grant for a pod on that node. */
int krun_grants_add(struct krun_grants *grants, const char *node, const char *node_key,
                    const char *grant, struct error *err);

/* The next one for that node; the texts are those of the grants. -ENOENT: there is none. The
 * caller wipes the call.
 */
int krun_grants_take(struct krun_grants *grants, const char *node, struct exec_call *ret_call,
                     struct error *err);

/* A copy of the descriptor, which the next program of this process inherits, or closes. */
int krun_grants_share(const struct krun_grants *grants, struct error *err);
