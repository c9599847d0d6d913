/* SPDX-License-Identifier: Apache-2.0 */
/* pod_records.h - the field tables of the parts of a pod, under the names that
 * rows of other tables use
 *
 * Thread:  any; constants.
 */
#pragma once

#include "lib/json/record.h"

extern const struct record affinity_record;
extern const struct record container_record;
extern const struct record ephemeral_container_record;
extern const struct record execution_record;
extern const struct record lifecycle_record;
extern const struct record object_field_selector_record;
extern const struct record node_affinity_record;
extern const struct record observed_record;
extern const struct record placement_record;
extern const struct record pod_status_record;
extern const struct record pod_volume_record;
extern const struct record probe_record;
extern const struct record resource_field_selector_record;
extern const struct record resources_record;
extern const struct record scheduling_group_record;
extern const struct record security_context_container_record;
extern const struct record security_context_pod_record;
extern const struct record toleration_record;
extern const struct record topology_spread_record;
