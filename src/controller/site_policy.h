/* SPDX-License-Identifier: Apache-2.0 */
/* site_policy.h - the API's policy as the settings say it, names resolved
 *
 * Called by:  controller.c at the start, reload.c when settings changed.
 * Thread:     any; reading blocks.
 */
#pragma once

#include "lib/base/macro.h"

struct controller_settings;
struct error;
struct policy;

/* Blocks on NSS. -EINVAL names the setting; the policy is to be freed with
 * site_policy_fini in any case.
 */
int site_policy_read(const struct controller_settings *settings,
                     struct policy *ret_policy,
                     struct error *err);
void site_policy_fini(struct policy *policy);
