/* SPDX-License-Identifier: Apache-2.0 */
/* location.h - where a store is
 *
 * Thread:  any; const.
 */
#pragma once

/* With a database, the state directory has only what each controller keeps for
 * itself: events, history, keys.
 */
struct store_location {
    const char *directory;
    const char *database; /* of PostgreSQL, "postgresql://..."; NULL: kiln.db in the directory */
};
