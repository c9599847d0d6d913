/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/node_verifier.h"

#include <string.h>

#include "controller/store/store.h"
#include "lib/auth/digest.h"

bool
node_verifier_find(struct store *store, const char *node, struct digest *ret_verifier)
{
    char name[5 + 253 + 1] = "node/";
    const char *hex;

    if (strlen(node) >= sizeof(name) - 5)
        return false;
    strcat(name, node);
    hex = store_find_secret(store, name);
    return hex != NULL && digest_parse(hex, ret_verifier) == 0;
}
