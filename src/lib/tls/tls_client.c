/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/tls_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define PEM_MOST ((size_t)1 << 20)

struct tls_client {
    SSL_CTX *context;
    char *server_name; /* or NULL */
};

/* A setting that is given as a file or as data. */
struct source {
    const char *what;
    const char *file;
    const char *data;
};

static bool
has_source(const struct source *s)
{
    return text_is_set(s->file) || text_is_set(s->data);
}

static int
refuse(const struct source *s, const char *why, struct error *err)
{
    ERR_clear_error();
    if (text_is_set(s->data))
        return error_set(err, -EINVAL, "%sData: %s", s->what, why);
    return error_set(err, -EINVAL, "%sFile '%s': %s", s->what, s->file, why);
}

/* OpenSSL's first error is the cause; later ones are consequences. */
static int
refuse_by_openssl(const struct source *s, const char * or, struct error *err)
{
    const char *why = ERR_reason_error_string(ERR_get_error());

    return refuse(s, why != NULL ? why : or, err);
}

static int
decode(const struct source *s, struct strbuf *out, struct error *err)
{
    BIO *text = BIO_new_mem_buf(s->data, -1);
    BIO *base64 = BIO_new(BIO_f_base64());
    char bytes[512];
    int n;

    if (text == NULL || base64 == NULL)
        abort();
    BIO_set_flags(base64, BIO_FLAGS_BASE64_NO_NL);
    base64 = BIO_push(base64, text);
    while ((n = BIO_read(base64, bytes, sizeof(bytes))) > 0)
        strbuf_add(out, bytes, (size_t)n);
    BIO_free_all(base64);
    return out->length > 0 ? 0 : refuse(s, "not base64", err);
}

/* Opens the PEM text for OpenSSL; the caller frees the BIO. */
static int
open_source(const struct source *s, BIO **ret_pem, struct error *err)
{
    CLEANUP_STRBUF struct strbuf pem = STRBUF_INIT;
    int r = text_is_set(s->data) ? decode(s, &pem, err) : file_read(s->file, PEM_MOST, &pem, err);

    if (r < 0)
        return text_is_set(s->data) ? r : error_wrap(err, r, "%sFile", s->what);
    *ret_pem = BIO_new(BIO_s_mem());
    if (*ret_pem == NULL || BIO_write(*ret_pem, pem.text, (int)pem.length) < (int)pem.length)
        abort();
    explicit_bzero(pem.text, pem.length); /* it may contain a key */
    return 0;
}

/* Passes each certificate of the source to `add`, which takes its own
 * reference.
 */
static int
read_certificates(const struct source *s,
                  int (*add)(SSL_CTX *context, X509 *certificate, unsigned nth), SSL_CTX *context,
                  struct error *err)
{
    unsigned count = 0;
    X509 *certificate;
    BIO *pem;
    int r = open_source(s, &pem, err);

    if (r < 0)
        return r;
    while (r == 0 && (certificate = PEM_read_bio_X509(pem, NULL, NULL, NULL)) != NULL) {
        if (add(context, certificate, count++) != 1)
            r = refuse_by_openssl(s, "it cannot be used", err);
        X509_free(certificate);
    }
    BIO_free(pem);
    ERR_clear_error(); /* OpenSSL reports the end of the text as an error */
    if (r == 0 && count == 0)
        return refuse(s, "contains no certificate in PEM", err);
    return r;
}

static int
add_authority(SSL_CTX *context, X509 *certificate, unsigned nth)
{
    (void)nth;
    return X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate);
}

/* The client's own certificate comes first, then the chain to an authority. */
static int
add_own(SSL_CTX *context, X509 *certificate, unsigned nth)
{
    return nth == 0 ? SSL_CTX_use_certificate(context, certificate)
                    : (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static int
read_key(const struct source *s, SSL_CTX *context, struct error *err)
{
    EVP_PKEY *key;
    BIO *pem;
    int r = open_source(s, &pem, err);

    if (r < 0)
        return r;
    key = PEM_read_bio_PrivateKey(pem, NULL, NULL, (void *)(uintptr_t) "");
    BIO_free(pem);
    if (key == NULL)
        return refuse(s, "contains no PEM key that can be read without a password", err);
    if (SSL_CTX_use_PrivateKey(context, key) != 1)
        r = refuse_by_openssl(s, "does not belong to the certificate", err);
    EVP_PKEY_free(key);
    return r;
}

static int
trust(SSL_CTX *context, const struct source *authority, bool is_insecure, struct error *err)
{
    if (is_insecure && has_source(authority))
        return error_set(err, -EINVAL, "an authority with the insecure flag is not allowed");
    SSL_CTX_set_verify(context, is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (has_source(authority))
        return read_certificates(authority, add_authority, context, err);
    SSL_CTX_set_default_verify_paths(context);
    return 0;
}

static int
set_up(SSL_CTX *context, const struct tls_client_settings *s, struct error *err)
{
    const struct source authority = {"ca", s->authority_file, s->authority_data};
    const struct source certificate = {"cert", s->certificate_file, s->certificate_data};
    const struct source key = {"key", s->key_file, s->key_data};
    int r;

    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    if (has_source(&certificate) != has_source(&key))
        return error_set(err, -EINVAL,
                         "a certificate requires its key, and a key its "
                         "certificate; one of them is missing");
    r = trust(context, &authority, s->is_insecure, err);
    if (r == 0 && has_source(&certificate))
        r = read_certificates(&certificate, add_own, context, err);
    if (r == 0 && has_source(&key))
        r = read_key(&key, context, err);
    return r;
}

void
tls_client_free(struct tls_client *t)
{
    if (t == NULL)
        return;
    SSL_CTX_free(t->context);
    free(t->server_name);
    free(t);
}

int
tls_client_open(const struct tls_client_settings *settings, struct tls_client **ret_client,
                struct error *err)
{
    struct tls_client *t = xnew(struct tls_client);
    int r;

    t->context = SSL_CTX_new(TLS_client_method());
    if (t->context == NULL)
        abort();
    if (text_is_set(settings->server_name))
        t->server_name = xstrdup(settings->server_name);
    r = set_up(t->context, settings, err);
    if (r < 0) {
        tls_client_free(t);
        return r;
    }
    *ret_client = t;
    return 0;
}

/* Sets the identity that the server must prove: an address, or a name, which is
 * also sent to the server (SNI).
 */
static bool
expect(SSL *ssl, const char *name)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1)
        return true;
    ERR_clear_error();
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1
           && SSL_set_tlsext_host_name(ssl, (char *)(uintptr_t)name) == 1;
}

struct bufferevent *
tls_client_make(struct event_base *base, int fd, const char *host, void *arg)
{
    const struct tls_client *t = arg;
    const char *name = t->server_name != NULL ? t->server_name : host;
    SSL *ssl = SSL_new(t->context);
    struct bufferevent *bev = NULL;

    if (ssl != NULL && expect(ssl, name))
        bev = bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_CONNECTING,
                                             BEV_OPT_CLOSE_ON_FREE);
    if (bev == NULL) {
        SSL_free(ssl);
        return NULL;
    }
    /* Many servers close without close_notify; HTTP has lengths, so nothing is
     * lost unnoticed.
     */
    bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

const char *
tls_client_why(struct bufferevent *bev)
{
    SSL *ssl = bufferevent_openssl_get_ssl(bev);
    long verdict = SSL_get_verify_result(ssl);
    const char *why;

    if (verdict != X509_V_OK && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE)
        return X509_verify_cert_error_string(verdict);
    why = ERR_reason_error_string(bufferevent_get_openssl_error(bev));
    return why != NULL ? why : "the server ended the connection in the TLS handshake";
}
