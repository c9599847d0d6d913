/* SPDX-License-Identifier: Apache-2.0 */
/* exec_grants.h - POST pods/NAME/exec-grant: grants to start programs in a pod
 *
 * They are for the pod's owner on a machine where MUNGE does not prove who that is, and for
 * administrators; the programs run as the owner. Lib/auth/exec_grant.h says what a grant is, and why
 * others may read the answer. Nothing is stored.
 *
 * Thread:  the loop's.
 * See:     doc/api.md, doc/protocol.md.
 */
#pragma once

struct request;

/* The verb of the subresource. */
void exec_grants_make(struct request *q);
