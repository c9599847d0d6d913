/* SPDX-License-Identifier: Apache-2.0 */
/* selector_records.c - label and node selectors as they stand in objects */
#include "lib/api/rows.h"
#include "lib/api/selector.h"

/* clang-format off */
static const struct field label_selector_requirement_fields[] = {
    STRING("key", selector_requirement, key, ALWAYS | REQUIRED),
    STRING("operator", selector_requirement, operator_, ALWAYS | REQUIRED),
    LIST(STRING, "values", selector_requirement, values, 0),
};
static RECORD(label_selector_requirement, selector_requirement,
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement");

static const struct field label_selector_fields[] = {
    MAP(STRING, "matchLabels", label_selector, match_labels, 0),
    OBJECTS("matchExpressions", label_selector, match_expressions,
        label_selector_requirement, 0),
};
RECORD(label_selector, label_selector,
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", ATOMIC);

static const struct field node_selector_requirement_fields[] = {
    STRING("key", selector_requirement, key, ALWAYS | REQUIRED),
    STRING("operator", selector_requirement, operator_, ALWAYS | REQUIRED,
        ONE_OF("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")),
    LIST(STRING, "values", selector_requirement, values, 0),
};
static RECORD(node_selector_requirement, selector_requirement,
       "io.k8s.api.core.v1.NodeSelectorRequirement");

static const struct field node_selector_term_fields[] = {
    OBJECTS("matchExpressions", node_selector_term, match_expressions,
        node_selector_requirement, 0),
    OBJECTS("matchFields", node_selector_term, match_fields,
        node_selector_requirement, 0),
};
RECORD(node_selector_term, node_selector_term,
       "io.k8s.api.core.v1.NodeSelectorTerm", ATOMIC);

static const struct field node_selector_fields[] = {
    OBJECTS("nodeSelectorTerms", node_selector, terms, node_selector_term,
        ALWAYS | REQUIRED),
};
RECORD(node_selector, node_selector, "io.k8s.api.core.v1.NodeSelector", ATOMIC);
/* clang-format on */
