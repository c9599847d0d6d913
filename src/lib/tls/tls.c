/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

struct tls {
    SSL_CTX *context;
};

/* OpenSSL's first error is the cause; later ones are consequences. */
static int
refuse(struct error *err, const char *what, const char *path)
{
    const char *why = ERR_reason_error_string(ERR_get_error());

    ERR_clear_error();
    return error_set(err, -EINVAL, "%s '%s': %s", what, path, why != NULL ? why : "cannot be used");
}

void
tls_free(struct tls *tls)
{
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->context);
    free(tls);
}

static int
set_up(struct tls *tls, const char *certificate_path, const char *key_path, struct error *err)
{
    SSL_CTX *c = tls->context;

    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* Idle connections release their buffers, because there are many watches.
     */
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_use_certificate_chain_file(c, certificate_path) != 1)
        return refuse(err, "certificate", certificate_path);
    if (SSL_CTX_use_PrivateKey_file(c, key_path, SSL_FILETYPE_PEM) != 1)
        return refuse(err, "key", key_path);
    return 0;
}

int
tls_open(const char *certificate_path, const char *key_path, struct tls **ret_tls,
         struct error *err)
{
    struct tls *tls = xnew(struct tls);
    int r;

    tls->context = SSL_CTX_new(TLS_server_method());
    if (tls->context == NULL)
        abort();
    r = set_up(tls, certificate_path, key_path, err);
    if (r < 0) {
        tls_free(tls);
        return r;
    }
    *ret_tls = tls;
    return 0;
}

int64_t
tls_certificate_end_s(const struct tls *tls)
{
    const X509 *certificate = SSL_CTX_get0_certificate(tls->context);
    struct tm end;

    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    return timegm(&end);
}

/* Connections keep the context that they were made with. */
void
tls_take_certificate(struct tls *tls, struct tls *by)
{
    SSL_CTX *before = tls->context;

    tls->context = by->context;
    by->context = before;
}

struct bufferevent *
tls_make_connection(struct event_base *base, void *arg)
{
    struct tls *tls = arg;
    SSL *ssl = SSL_new(tls->context);
    struct bufferevent *bev;

    if (ssl == NULL)
        return NULL;
    bev = bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                         BEV_OPT_CLOSE_ON_FREE);
    if (bev == NULL) {
        SSL_free(ssl);
        return NULL;
    }
    /* Many clients close without close_notify; HTTP has lengths, so nothing is
     * lost unnoticed.
     */
    bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}
