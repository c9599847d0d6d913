/* SPDX-License-Identifier: Apache-2.0 */
/* history_rights.h - the rows of history that a principal may read
 *
 * Thread:  the loop's.
 */
#pragma once

struct apiserver;
struct arena;
struct history_rights;
struct principal;

/* Administrators and the lifecycle component read all rows, others their own
 * and those of accounts that they are members of: of `account` only, of all
 * such accounts (NULL), or of none ("").
 */
void history_rights_find(const struct apiserver *server, const struct principal *principal,
                         const char *account, struct arena *arena,
                         struct history_rights *ret_rights);
