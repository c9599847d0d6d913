/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h - a certificate of one's own making
 *
 * Signed by its own key (EC P-256), for ten years, and so its own authority:
 * who is given the certificate by a way he trusts knows the server by it.
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

struct error;

/* Writes both files, in PEM: the key mode 0600, the certificate 0644. Names
 * are those the server is reached by, DNS names and addresses ("::1"); the
 * first is its subject.
 */
int certificate_make(const char *certificate_path,
                     const char *key_path,
                     const char *const *names,
                     size_t n_names,
                     struct error *err);
