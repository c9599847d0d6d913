/* SPDX-License-Identifier: Apache-2.0 */
/* review.h - questions about the caller: who am I, what may I do
 *
 * Request bodies that are answered but not stored.
 *
 * Thread:  any.
 */
#pragma once

#include "lib/json/record.h"

extern const struct record self_subject_access_review_record;
extern const struct record self_subject_rules_review_record;
extern const struct record self_subject_review_record;
