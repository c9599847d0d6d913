/* SPDX-License-Identifier: Apache-2.0 */
/* allowed_users.h - formats the users that may use something
 *
 * Thread: the main one.
 */
#pragma once

struct json;
struct strbuf;

/* Lists of names, or NULL. */
struct allowed_users {
    const struct json *users;
    const struct json *groups;
    const struct json *accounts;
};

/* Adds "ann,@chem", "everybody", "everybody in physics". */
void allowed_users_add(const struct allowed_users *allowed, struct strbuf *out);
