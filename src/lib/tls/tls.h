/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - the server's side of TLS: a certificate, and connections that use it
 *
 * TLS 1.2 and 1.3. Clients have no certificate; they authenticate in their
 * requests.
 *
 * Thread: the loop's; tls_open: any.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct bufferevent;
struct error;
struct event_base;
struct tls;

/* Life. Open reads both files, in PEM, and refuses a key that does not belong
 * to the certificate. Free it after the connections.
 */
void tls_free(struct tls *tls);
int tls_open(const char *certificate_path, const char *key_path, struct tls **ret_tls,
             struct error *err);
DEFINE_CLEANUP(struct tls, tls_free)

/* When the certificate ends, in seconds since 1970; 0: unknown. */
int64_t tls_certificate_end_s(const struct tls *tls);

/* Uses the certificate and the key of `by` for new connections; `by` is to be freed. */
void tls_take_certificate(struct tls *tls, struct tls *by);

/* Makes a bufferevent for one connection to be accepted; `tls` is a struct tls.
 * It closes its descriptor when it is freed.
 */
struct bufferevent *tls_make_connection(struct event_base *base, void *tls);
