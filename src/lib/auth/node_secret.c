/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/node_secret.h"

#include <string.h>

#include "lib/base/random.h"

_Static_assert(sizeof(struct node_secret) == DIGEST_SIZE, "one textual form");

void
node_secret_issue(struct node_secret *ret_secret)
{
    random_bytes(ret_secret->bytes, sizeof(ret_secret->bytes));
}

int
node_secret_parse(const char *hex, struct node_secret *ret_secret)
{
    struct digest d;
    int r = digest_parse(hex, &d);

    if (r == 0)
        memcpy(ret_secret->bytes, d.bytes, DIGEST_SIZE);
    return r;
}

void
node_secret_format(const struct node_secret *s, char out[DIGEST_HEX_SIZE])
{
    struct digest d;

    memcpy(d.bytes, s->bytes, DIGEST_SIZE);
    digest_format(&d, out);
}

/* Each digest begins with its purpose and version, so that none can be taken for another.
 * A proof also has the cluster and the node in it, so it is of no use elsewhere.
 */
void
node_secret_verifier(const struct node_secret *s, struct digest *ret_verifier)
{
    static const char label[] = "kiln-node-verifier 1\n";
    struct digest_part parts[] = {
        {label, sizeof(label) - 1},
        {s->bytes, sizeof(s->bytes)},
    };

    digest_parts(parts, 2, ret_verifier);
}

void
node_secret_proof(const struct digest *verifier, const char *cluster, const char *node_name,
                  const char *nonce, struct digest *ret_proof)
{
    static const char label[] = "kiln-node-proof 1";
    struct digest_part parts[] = {
        {label, sizeof(label) - 1},     {"\n", 1}, {cluster, strlen(cluster)}, {"\n", 1},
        {node_name, strlen(node_name)}, {"\n", 1}, {nonce, strlen(nonce)},     {"\n", 1},
    };

    digest_hmac(verifier->bytes, DIGEST_SIZE, parts, sizeof(parts) / sizeof(parts[0]), ret_proof);
}
