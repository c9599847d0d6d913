/* SPDX-License-Identifier: Apache-2.0 */
/* namespace_hooks.c - a namespace is also found by its name as an account */
#include "controller/apiserver/access/account_names.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "lib/api/object/kind.h"

const struct kind_hooks namespace_hooks = {
    .kind = &namespace_kind,
    .resolve_name = account_names_resolve,
};
