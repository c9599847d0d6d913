/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h - makes a self-signed certificate
 *
 * Signed by its own key (EC P-256), valid for ten years. It is its own
 * authority: a client that got the certificate by a trusted way can verify the
 * server.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

/* Writes both files, in PEM: the key with mode 0600, the certificate with 0644.
 * Names are those by which clients reach the server, DNS names and addresses
 * ("::1"); the first is the subject.
 */
int certificate_make(const char *certificate_path, const char *key_path, const char *const *names,
                     size_t n_names, struct error *err);

/* True if the first certificate of a text in PEM is one for that DNS name or address. */
bool certificate_has_name(const char *pem, const char *name);
