/* SPDX-License-Identifier: Apache-2.0 */
/* getent.h - finds users and hosts by name without the C library's look-ups
 *
 * ksub is linked statically where possible, which halves its start time. The C
 * library's own look-ups (nsswitch.conf) would then load shared libraries that
 * were made for another C library. So ksub reads the file, which nearly always
 * has the name, and for any other name runs getent(1), which follows
 * nsswitch.conf.
 *
 * Thread: any. Blocking: it reads files and may run a program.
 */
#pragma once

#include <sys/types.h>

#include "lib/http/http_endpoint.h"

struct error;

/* The files that are searched first. */
struct getent_files {
    const char *users; /* in the form of passwd(5) */
    const char *hosts; /* in the form of hosts(5) */
};
extern const struct getent_files getent_system_files;

/* -ENOENT for a user or -EHOSTUNREACH for a host that is not found;
 * another negative errno when getent cannot be run. Host appends the addresses
 * to `places`.
 */
int getent_find_user(const struct getent_files *files, const char *name, uid_t *ret_uid);
int getent_find_host(const struct getent_files *files, const char *host,
                     struct http_endpoints *places, struct error *err);
