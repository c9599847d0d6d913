/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_names.h - names that are added to a reservation's lists, or taken out of them:
 * "Users+=ann", "Users=+ann,-bob"
 *
 * Thread: the main one.
 */
#pragma once

struct arena;
struct error;
struct kctl;
struct reservation_request;

/* "Users=+ann,+bob" for "Users+=ann,bob", which means the same; others unchanged, and NULL for a
 * field that has no such form.
 */
const char *reservation_names_spell(struct arena *arena, const char *word);

/* Replaces lists with signs by the whole lists, of the reservation as it is; the request then has
 * its version, by which a change in between is noticed. -EINVAL: a list has names with and without a sign, or
 * nobody would be left.
 */
int reservation_names_settle(struct kctl *kctl, struct reservation_request *request,
                             struct arena *arena, struct error *err);
