/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate is its own authority, because a cluster without a CA should be safe too: a
 * client that got the file by a trusted way needs nobody else. The key is written first, so
 * that a certificate which exists has its key, whenever the process was killed.
 */
#include "lib/tls/certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define DAYS         3650
#define DAY_S        86400
#define EARLIER_S    3600 /* because clocks differ */
#define SERIAL_BYTES 16
#define SUBJECT_MOST 64 /* of a common name, by X.520 */

static bool
add_extension(X509 *x, X509V3_CTX *context, int id, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, id, value);
    bool done = extension != NULL && X509_add_ext(x, extension, -1) == 1;

    X509_EXTENSION_free(extension);
    return done;
}

static bool
is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static bool
add_extensions(X509 *x, const char *const *names, size_t n_names)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
    X509V3_CTX context;

    for (size_t i = 0; i < n_names; i++)
        strbuf_printf(&all, "%s%s:%s", i > 0 ? "," : "", is_address(names[i]) ? "IP" : "DNS",
                      names[i]);
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, x, x, NULL, NULL, 0);
    return add_extension(x, &context, NID_basic_constraints, "critical,CA:TRUE")
           && add_extension(x, &context, NID_key_usage, "critical,digitalSignature,keyCertSign")
           && add_extension(x, &context, NID_ext_key_usage, "serverAuth")
           && add_extension(x, &context, NID_subject_key_identifier, "hash")
           && add_extension(x, &context, NID_subject_alt_name, all.text);
}

static bool
set_serial(X509 *x)
{
    unsigned char bytes[SERIAL_BYTES];
    BIGNUM *number = NULL;
    bool done;

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] &= 0x7f;
    number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    done = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)) != NULL;
    BN_free(number);
    return done;
}

static bool
set_subject(X509 *x, const char *name)
{
    X509_NAME *subject = X509_get_subject_name(x);
    char common[SUBJECT_MOST + 1];

    snprintf(common, sizeof(common), "%s", name);
    return X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC, (const unsigned char *)"Kiln", -1,
                                      -1, 0)
               == 1
           && X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                         (const unsigned char *)common, -1, -1, 0)
                  == 1
           && X509_set_issuer_name(x, subject) == 1;
}

static bool
fill_in(X509 *x, EVP_PKEY *key, const char *const *names, size_t n_names)
{
    return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x)
           && X509_gmtime_adj(X509_getm_notBefore(x), -EARLIER_S) != NULL
           && X509_gmtime_adj(X509_getm_notAfter(x), (long)DAYS * DAY_S) != NULL
           && set_subject(x, names[0]) && X509_set_pubkey(x, key) == 1
           && add_extensions(x, names, n_names) && X509_sign(x, key, EVP_sha256()) > 0;
}

static int
write_out(const char *path, mode_t mode, BIO *pem, struct error *err)
{
    char *text;
    long length = BIO_get_mem_data(pem, &text);

    return file_write_atomic(path, mode, text, (size_t)length, err);
}

static int
write_both(const char *certificate_path, const char *key_path, X509 *x, EVP_PKEY *key,
           struct error *err)
{
    BIO *certificate_pem = BIO_new(BIO_s_mem());
    BIO *key_pem = BIO_new(BIO_s_secmem());
    int r = 0;

    if (PEM_write_bio_X509(certificate_pem, x) != 1
        || PEM_write_bio_PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL) != 1)
        r = error_set(err, -EIO, "cannot write a certificate");
    /* Write the key first, so that a certificate that exists has its key. */
    if (r == 0)
        r = write_out(key_path, 0600, key_pem, err);
    if (r == 0)
        r = write_out(certificate_path, 0644, certificate_pem, err);
    BIO_free(certificate_pem);
    BIO_free(key_pem);
    return r;
}

int
certificate_make(const char *certificate_path, const char *key_path, const char *const *names,
                 size_t n_names, struct error *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    int r;

    if (key == NULL || x == NULL || !fill_in(x, key, names, n_names))
        r = error_set(err, -EINVAL, "cannot create a certificate for '%s'", names[0]);
    else
        r = write_both(certificate_path, key_path, x, key, err);
    X509_free(x);
    EVP_PKEY_free(key);
    return r;
}

bool
certificate_has_name(const char *pem, const char *name)
{
    BIO *text = BIO_new_mem_buf(pem, -1);
    X509 *x = text != NULL ? PEM_read_bio_X509(text, NULL, NULL, NULL) : NULL;
    bool has = x != NULL
               && (is_address(name) ? X509_check_ip_asc(x, name, 0) == 1
                                    : X509_check_host(x, name, 0, 0, NULL) == 1);

    X509_free(x);
    BIO_free(text);
    return has;
}
