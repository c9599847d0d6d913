/* SPDX-License-Identifier: Apache-2.0 */
/* partition_hooks.c - what a Partition must be
 *
 * One may be the default: a job that names none has to get the same one always.
 * admission_partition.c has what a Partition allows its jobs.
 */
#include <string.h>

#include "controller/apiserver/access/name_check.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/partition.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static bool
is_another(const struct object *object, void *context)
{
    const char **name = context;

    if (strcmp(object->meta->name, *name) == 0)
        return true;
    *name = object->meta->name;
    return false;
}

static bool
admit_default(struct request *q, struct json *tree)
{
    const char *own = json_path_text(tree, "metadata.name");
    const char *name = own != NULL ? own : "";

    if (!json_is_true(json_get_path(tree, "spec.isDefault")))
        return true;
    own = name;
    store_visit_index(q->server->store, &partition_kind, PARTITION_BY_DEFAULT, STORE_PENDING,
                      "default", is_another, &name);
    return strcmp(own, name) == 0
           || admission_refuse(q, tree, "Partition",
                               arena_printf(q->arena,
                                            "partition '%s' is already the default; "
                                            "first set its spec.isDefault to false",
                                            name));
}

static bool
admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit_default(q, tree)
           && name_check_add_lists(q, tree, old_object, "allowedUsers", "allowedGroups",
                                   "allowedAccounts");
}

const struct kind_hooks partition_hooks = {
    .kind = &partition_kind,
    .admit = admit,
};
