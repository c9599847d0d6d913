/* SPDX-License-Identifier: Apache-2.0 */
/* getent.h - users and hosts by their names, without the C library's look-ups
 *
 * ksub is linked statically where it can be, as that halves the time of its
 * start. The C library's own look-ups (nsswitch.conf) would then load shared
 * libraries that were made for another C library. So ksub reads the file, which
 * nearly always has the name, and asks getent(1) for any other name, a program
 * that looks where nsswitch.conf says.
 *
 * Thread: any. Blocking: it reads files and may run a program.
 */
#pragma once

#include <sys/types.h>

#include "lib/http/http_endpoint.h"

struct error;

/* Where names are looked for first. */
struct getent_files {
    const char *users; /* as passwd(5) */
    const char *hosts; /* as hosts(5) */
};
extern const struct getent_files getent_system_files;

/* Look. -ENOENT, or -EHOSTUNREACH, when nobody knows the name; another
 * negative errno when getent cannot be asked. Host: adds its places.
 */
int getent_find_user(const struct getent_files *files,
                     const char *name,
                     uid_t *ret_uid);
int getent_find_host(const struct getent_files *files,
                     const char *host,
                     struct http_endpoints *places,
                     struct error *err);

/* The same of the system's files, for http_client.h. */
int getent_resolve(const char *host,
                   struct http_endpoints *places,
                   struct error *err);
