/* SPDX-License-Identifier: Apache-2.0 */
/* history_rights.h - which rows of history a principal reads
 *
 * Thread: the loop's.
 */
#pragma once

struct apiserver;
struct arena;
struct history_rights;
struct principal;

/* Administrators, and the controller's own, read all; others their own, and of
 * the accounts that they belong to: of `account` alone, or of all (NULL).
 * Without accounts where their own rows are all that is asked for ("").
 */
void history_rights_find(const struct apiserver *server,
                         const struct principal *principal,
                         const char *account,
                         struct arena *arena,
                         struct history_rights *ret_rights);
