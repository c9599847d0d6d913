/* SPDX-License-Identifier: Apache-2.0 */
/* resource_name.h - what the name of a resource says about it
 *
 * "cpu" and "memory" are native, "example.com/gpu" is extended.
 *
 * Thread: any.
 * Source: k8s.io/kubernetes/pkg/apis/core/helper.
 */
#pragma once

#include <stdbool.h>

bool resource_name_is_native(const char *name);
bool resource_name_is_extended(const char *name);
bool resource_name_is_hugepages(const char *name);

/* Known without a prefix: anywhere, in containers, in quotas. */
bool resource_name_is_standard(const char *name);
bool resource_name_is_for_containers(const char *name);
bool resource_name_is_for_quotas(const char *name);

/* Comes in whole pieces. */
bool resource_name_is_counted(const char *name);

/* A request may be less than its limit. */
bool resource_name_may_overcommit(const char *name);
