/* SPDX-License-Identifier: Apache-2.0 */
/* site_policy.h - makes the API's policy from the settings, with names resolved
 *
 * Called by:  controller.c at the start, reload.c when settings changed.
 * Thread:     any; reading blocks.
 */
#pragma once

#include "lib/base/macro.h"

struct controller_settings;
struct error;
struct policy;

/* Blocks on NSS. Returns -EINVAL with an error that names the setting. Free the
 * policy with site_policy_fini in any case.
 */
int site_policy_read(const struct controller_settings *settings, struct policy *ret_policy,
                     struct error *err);
void site_policy_fini(struct policy *policy);
