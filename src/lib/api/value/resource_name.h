/* SPDX-License-Identifier: Apache-2.0 */
/* resource_name.h - what the name of a resource implies
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

/* Names that are known without a prefix: anywhere, in containers, in quotas. */
bool resource_name_is_standard(const char *name);
bool resource_name_is_for_containers(const char *name);
bool resource_name_is_for_quotas(const char *name);

/* Only whole numbers are allowed. */
bool resource_name_is_counted(const char *name);

/* A request may be below its limit. */
bool resource_name_may_overcommit(const char *name);
