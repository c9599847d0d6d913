/* SPDX-License-Identifier: Apache-2.0 */
/* Every text that is signed begins with its kind and version and has each member on a line of
 * its own, so that no two different requests give the same text, and no statement can be taken
 * for one of another kind. Parsing accepts exactly what formatting makes, in the same order.
 */
#include "lib/auth/protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#define CLAIM_HEAD        "kiln-claim 1\n"
#define SEALED_CLAIM_HEAD "kiln-claim 2\n" /* only for CLAIM_REQUEST */

enum member_type { MEMBER_TEXT, MEMBER_NUMBER, MEMBER_STATUS };

#define IN(purpose) (1u << (purpose))
#define IN_ALL      (~0u)

/* The members in the order in which they are written, the purposes that have
 * each member, and whether the member may be empty.
 */
static const struct member {
    const char *name;
    size_t offset;
    enum member_type type;
    unsigned stands_in;
    bool may_be_empty;
} members[] = {
    {"cluster", offsetof(struct protocol_claim, cluster), MEMBER_TEXT, IN_ALL, false},
    {"nonce", offsetof(struct protocol_claim, nonce), MEMBER_TEXT, IN_ALL, false},
    {"node", offsetof(struct protocol_claim, node), MEMBER_TEXT, IN(CLAIM_HELLO), true},
    {"node", offsetof(struct protocol_claim, node), MEMBER_TEXT,
     IN(CLAIM_STEP) | IN(CLAIM_EXEC_GRANT), false},
    {"pod", offsetof(struct protocol_claim, pod), MEMBER_TEXT,
     IN(CLAIM_STEP) | IN(CLAIM_EXEC_GRANT), false},
    {"proof", offsetof(struct protocol_claim, proof), MEMBER_TEXT, IN(CLAIM_HELLO), true},
    {"session", offsetof(struct protocol_claim, session), MEMBER_TEXT, IN(CLAIM_WELCOME), false},
    {"key", offsetof(struct protocol_claim, key), MEMBER_TEXT,
     IN(CLAIM_WELCOME) | IN(CLAIM_STEP) | IN(CLAIM_STEP_ANSWER) | IN(CLAIM_EXEC_GRANT), false},
    {"uid", offsetof(struct protocol_claim, uid), MEMBER_NUMBER, IN(CLAIM_EXEC_GRANT), false},
    {"by", offsetof(struct protocol_claim, by), MEMBER_TEXT, IN(CLAIM_EXEC_GRANT), false},
    {"issued", offsetof(struct protocol_claim, issued_ms), MEMBER_NUMBER, IN(CLAIM_EXEC_GRANT),
     false},
    {"lifetime", offsetof(struct protocol_claim, lifetime_s), MEMBER_NUMBER, IN(CLAIM_WELCOME),
     false},
    {"method", offsetof(struct protocol_claim, method), MEMBER_TEXT, IN(CLAIM_REQUEST), false},
    {"target", offsetof(struct protocol_claim, target), MEMBER_TEXT, IN(CLAIM_REQUEST), false},
    {"status", offsetof(struct protocol_claim, status), MEMBER_STATUS, IN(CLAIM_ANSWER), false},
    {"content-type", offsetof(struct protocol_claim, content_type), MEMBER_TEXT,
     IN(CLAIM_REQUEST) | IN(CLAIM_ANSWER), true},
    {"body", offsetof(struct protocol_claim, body), MEMBER_TEXT,
     IN(CLAIM_REQUEST) | IN(CLAIM_ANSWER), false},
};

/* The last member in version 2. */
static const struct member headers_member = {"headers", offsetof(struct protocol_claim, headers),
                                             MEMBER_TEXT, IN(CLAIM_REQUEST), false};

static const char *const purposes[] = {
    [CLAIM_HELLO] = "hello",
    [CLAIM_WELCOME] = "welcome",
    [CLAIM_REQUEST] = "request",
    [CLAIM_ANSWER] = "answer",
    [CLAIM_STEP] = "step",
    [CLAIM_STEP_ANSWER] = "step-answer",
    [CLAIM_EXEC_GRANT] = "exec-grant",
};

void
protocol_claim_fini(struct protocol_claim *c)
{
    if (c->memory != NULL)
        explicit_bzero(c->memory, strlen(c->memory));
    free(c->memory);
    *c = (struct protocol_claim){0};
}

static bool
has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == '\x7f')
            return true;
    return false;
}

static int
format_member(const struct protocol_claim *c, const struct member *m, struct strbuf *out)
{
    const char *at = (const char *)c + m->offset;
    const char *text;

    if (m->type == MEMBER_NUMBER) {
        strbuf_printf(out, "%s=%" PRId64 "\n", m->name, *(const int64_t *)(const void *)at);
        return 0;
    }
    if (m->type == MEMBER_STATUS) {
        strbuf_printf(out, "%s=%d\n", m->name, *(const int *)(const void *)at);
        return 0;
    }
    text = *(const char *const *)(const void *)at;
    if (text == NULL)
        text = "";
    if (has_control(text))
        return -EINVAL;
    strbuf_printf(out, "%s=%s\n", m->name, text);
    return 0;
}

int
protocol_claim_format(const struct protocol_claim *c, struct strbuf *out)
{
    size_t before = out->length;

    strbuf_printf(out, "%spurpose=%s\n", c->headers != NULL ? SEALED_CLAIM_HEAD : CLAIM_HEAD,
                  purposes[c->purpose]);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        int r = 0;

        if ((members[i].stands_in & IN(c->purpose)) != 0)
            r = format_member(c, &members[i], out);
        if (r < 0) {
            strbuf_truncate(out, before);
            return r;
        }
    }
    if (c->headers != NULL && format_member(c, &headers_member, out) < 0) {
        strbuf_truncate(out, before);
        return -EINVAL;
    }
    return 0;
}

static int
parse_number(const char *text, int64_t most, int64_t *ret_number)
{
    int64_t number = 0;

    if (*text == '\0')
        return -EINVAL;
    for (; *text != '\0'; text++) {
        int digit = *text - '0';

        if (digit < 0 || digit > 9 || number > (most - digit) / 10)
            return -EINVAL;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return 0;
}

static int
take_member(struct protocol_claim *c, const struct member *m, const char *value)
{
    char *at = (char *)c + m->offset;
    int64_t number = 0;

    if (m->type == MEMBER_TEXT) {
        *(const char **)(void *)at = value;
        return *value == '\0' && !m->may_be_empty ? -EINVAL : 0;
    }
    if (parse_number(value, m->type == MEMBER_STATUS ? 999 : INT64_MAX, &number) < 0)
        return -EINVAL;
    if (m->type == MEMBER_STATUS)
        *(int *)(void *)at = (int)number;
    else
        *(int64_t *)(void *)at = number;
    return 0;
}

/* The value of the line `name=value` at *text; *text is moved behind the line.
 * NULL if *text is at another line.
 */
static char *
next_line(char **text, const char *name)
{
    size_t length = strlen(name);
    char *value = *text + length + 1;
    char *end;

    if (strncmp(*text, name, length) != 0 || (*text)[length] != '=')
        return NULL;
    end = strchr(value, '\n');
    if (end == NULL)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return value;
}

static int
parse_members(char *text, struct protocol_claim *c, bool is_sealed, const char **ret_missing)
{
    char *headers;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const struct member *m = &members[i];
        char *value;

        if ((m->stands_in & IN(c->purpose)) == 0)
            continue;
        *ret_missing = m->name;
        value = next_line(&text, m->name);
        if (value == NULL || take_member(c, m, value) < 0)
            return -EPROTO;
    }
    if (is_sealed) {
        *ret_missing = headers_member.name;
        headers = next_line(&text, headers_member.name);
        if (headers == NULL || take_member(c, &headers_member, headers) < 0)
            return -EPROTO;
    }
    *ret_missing = "an end";
    return *text == '\0' ? 0 : -EPROTO;
}

int
protocol_claim_parse(const char *payload, size_t length, enum claim_purpose purpose,
                     struct protocol_claim *ret_claim, struct error *err)
{
    struct protocol_claim c = {.purpose = purpose};
    const char *missing = "a purpose";
    char *text, *found;
    int r = -EPROTO;
    bool is_sealed = purpose == CLAIM_REQUEST
                     && strncmp(payload, SEALED_CLAIM_HEAD, strlen(SEALED_CLAIM_HEAD)) == 0;

    if (strlen(payload) != length
        || (!is_sealed && strncmp(payload, CLAIM_HEAD, strlen(CLAIM_HEAD)) != 0))
        return error_set(err, -EPROTO,
                         "the credential does not use version %d of Kiln's "
                         "identity protocol; do both sides run the same "
                         "release?",
                         PROTOCOL_VERSION);
    c.memory = xstrdup(payload);
    text = c.memory + strlen(CLAIM_HEAD);
    found = next_line(&text, "purpose");
    if (found != NULL && strcmp(found, purposes[purpose]) != 0)
        r = error_set(err, -EPROTO,
                      "the credential was made for another purpose ('%s', not "
                      "'%s')",
                      found, purposes[purpose]);
    else if (found == NULL || parse_members(text, &c, is_sealed, &missing) < 0)
        r = error_set(err, -EPROTO, "the credential's claim is malformed: no valid '%s'", missing);
    else
        r = 0;
    if (r < 0)
        protocol_claim_fini(&c);
    else
        *ret_claim = c;
    return r;
}

void
protocol_nonce(char out[PROTOCOL_NONCE_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[(PROTOCOL_NONCE_SIZE - 1) / 2];

    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[PROTOCOL_NONCE_SIZE - 1] = '\0';
}

void
protocol_add_sealed(struct strbuf *out, const char *name, const char *value)
{
    static const char family[] = "impersonate-";
    size_t length;

    if (strcasecmp(name, "accept") != 0 && strcasecmp(name, "idempotency-key") != 0
        && strncasecmp(name, family, sizeof(family) - 1) != 0)
        return;
    for (; *name != '\0'; name++)
        strbuf_add_char(out, *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name);
    value += strspn(value, " \t");
    length = strlen(value);
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    strbuf_printf(out, ": %.*s\n", (int)length, value);
}

/* A statement is its kind, followed by lines. */
static void
mac_of(const struct digest *key, const char *const *lines, size_t count, struct digest *ret_mac)
{
    struct digest_part parts[2 * 8];

    for (size_t i = 0; i < count; i++) {
        const char *line = lines[i] != NULL ? lines[i] : "";

        parts[2 * i] = (struct digest_part){line, strlen(line)};
        parts[2 * i + 1] = (struct digest_part){"\n", 1};
    }
    digest_hmac(key->bytes, DIGEST_SIZE, parts, 2 * count, ret_mac);
}

void
protocol_request_mac(const struct digest *key, uint64_t seq, const char *method, const char *target,
                     const char *content_type, const struct digest *body, const char *sealed,
                     struct digest *ret_mac)
{
    char number[DECIMAL_SIZE], hex[DIGEST_HEX_SIZE];
    char headers_hex[DIGEST_HEX_SIZE] = "";
    struct digest headers;
    const char *lines[] = {
        sealed != NULL ? "kiln-mac 2 request" : "kiln-mac 1 request",
        decimal_of_unsigned(seq, number),
        method,
        target,
        content_type,
        hex,
        headers_hex,
    };

    digest_format(body, hex);
    if (sealed != NULL) {
        digest_of(sealed, strlen(sealed), &headers);
        digest_format(&headers, headers_hex);
    }
    mac_of(key, lines, ARRAY_SIZE(lines) - (sealed == NULL), ret_mac);
}

void
protocol_answer_mac(const struct digest *key, uint64_t seq, int status, const char *content_type,
                    const struct digest *body, struct digest *ret_mac)
{
    char number[DECIMAL_SIZE], code[DECIMAL_SIZE], hex[DIGEST_HEX_SIZE];
    const char *lines[] = {
        "kiln-mac 1 answer",
        decimal_of_unsigned(seq, number),
        decimal_of_unsigned((uint64_t)status, code),
        content_type,
        hex,
    };

    digest_format(body, hex);
    mac_of(key, lines, ARRAY_SIZE(lines), ret_mac);
}

void
protocol_frame_mac(const struct digest *key, uint64_t seq, uint64_t number,
                   const struct digest *frame, struct digest *ret_mac)
{
    char of[DECIMAL_SIZE], which[DECIMAL_SIZE], hex[DIGEST_HEX_SIZE];
    const char *lines[] = {
        "kiln-mac 1 frame",
        decimal_of_unsigned(seq, of),
        decimal_of_unsigned(number, which),
        hex,
    };

    digest_format(frame, hex);
    mac_of(key, lines, ARRAY_SIZE(lines), ret_mac);
}

void
protocol_end_mac(const struct digest *key, uint64_t seq, uint64_t n_frames, struct digest *ret_mac)
{
    char of[DECIMAL_SIZE], count[DECIMAL_SIZE];
    const char *lines[] = {
        "kiln-mac 1 end",
        decimal_of_unsigned(seq, of),
        decimal_of_unsigned(n_frames, count),
    };

    mac_of(key, lines, ARRAY_SIZE(lines), ret_mac);
}

void
protocol_format_authorization(struct strbuf *out, const char *session, uint64_t seq,
                              const struct digest *mac, bool is_sealed)
{
    char hex[DIGEST_HEX_SIZE];

    digest_format(mac, hex);
    strbuf_printf(out, "Kiln session=%s,seq=%" PRIu64 ",%s=%s", session, seq,
                  is_sealed ? "mac2" : "mac", hex);
}

int
protocol_parse_authorization(const char *text, struct protocol_authorization *ret_parsed)
{
    static const char head[] = "Kiln session=", seq_head[] = ",seq=", mac_head[] = ",mac=",
                      sealed_head[] = ",mac2=";
    struct protocol_authorization p;
    uint64_t seq = 0;
    size_t digits;

    if (strncmp(text, head, sizeof(head) - 1) != 0)
        return -EINVAL;
    p.session = text + sizeof(head) - 1;
    p.session_length = strcspn(p.session, ",");
    text = p.session + p.session_length;
    if (strncmp(text, seq_head, sizeof(seq_head) - 1) != 0)
        return -EINVAL;
    text += sizeof(seq_head) - 1;
    digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 19)
        return -EINVAL;
    for (; digits > 0; digits--)
        seq = seq * 10 + (uint64_t)(*text++ - '0');
    p.seq = seq;
    p.is_sealed = strncmp(text, sealed_head, sizeof(sealed_head) - 1) == 0;
    if (!p.is_sealed && strncmp(text, mac_head, sizeof(mac_head) - 1) != 0)
        return -EINVAL;
    text += p.is_sealed ? sizeof(sealed_head) - 1 : sizeof(mac_head) - 1;
    if (digest_parse(text, &p.mac) < 0)
        return -EINVAL;
    *ret_parsed = p;
    return 0;
}
