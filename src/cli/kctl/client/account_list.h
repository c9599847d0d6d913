/* SPDX-License-Identifier: Apache-2.0 */
/* account_list.h - which namespaces the accounts of a list are
 *
 * A site's account may have another name than its namespace ("six@v100"). The
 * server takes both in requests; what filters lists itself asks here.
 *
 * Thread: main.
 */
#pragma once

struct arena;
struct kctl;

/* "a,b" with the names of the namespaces. A name that is none stays. */
const char *account_list_namespaces(struct kctl *kctl, const char *list, struct arena *arena);

/* The same with all names of each account, as lists of jobs show them. */
const char *account_list_names(struct kctl *kctl, const char *list, struct arena *arena);
