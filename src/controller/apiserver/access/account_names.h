/* SPDX-License-Identifier: Apache-2.0 */
/* account_names.h - accounts as a site spells them
 *
 * An account is a namespace, whose name is a DNS label. Sites have names such as
 * "six@v100", so a namespace may have a second one, in its annotation
 * kiln.hpc/account. Both name it in requests, whatever the case of their letters;
 * people see the second one. No look-up scans the namespaces.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct request;
struct store;

/* The namespace of this account: of that name, or with that spelling; NULL: there
 * is none.
 */
const char *account_names_find(const struct store *store, const char *account);

/* The same, but the account itself if there is none, or if there are no spellings
 * (conformance). NULL stays NULL.
 */
const char *account_names_resolve(const struct request *q, const char *account);

/* Whether the two are the same account. */
bool account_names_are_same(const struct request *q, const char *a, const char *b);

/* The spelling of the namespace; NULL: only its name. */
const char *account_names_spelling(const struct store *store, const char *namespace);

/* The same JSON with the spellings as values of "account". */
const char *account_names_in_text(const struct store *store, const char *text, size_t *length,
                                  struct arena *arena);
