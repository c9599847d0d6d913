/* SPDX-License-Identifier: Apache-2.0 */
/* DefaultBinder - binds through the API, with the allocation
 *
 * Extension points:  bind
 */
#include "controller/scheduler/framework/framework.h"

static int
default_binder_make(struct handle *handle, const struct json *args, void **ret_self,
                    struct error *err)
{
    (void)args, (void)err;
    *ret_self = handle;
    return 0;
}

static enum verdict
default_binder_bind(void *self, struct assignment *a, uint32_t *ret_reason)
{
    struct handle *handle = self;

    (void)ret_reason;
    handle->bind(handle->owner, a);
    return VERDICT_WAIT;
}

const struct plugin default_binder_plugin = {
    .name = "DefaultBinder",
    .make = default_binder_make,
    .bind = default_binder_bind,
    .binds_groups = true,
};
