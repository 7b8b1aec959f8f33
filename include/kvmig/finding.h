/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file finding.h
 * What the planner and the explanations find: a code, how bad it is, on which object, on what
 * evidence, and what to do. Codes are stable names ("CPU_FEATURE_MISSING"); docs/findings.md lists them.
 */
#ifndef KVMIG_FINDING_H
#define KVMIG_FINDING_H

#include <kvmig/version.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How bad a finding is. Append-only. Since: 0.1.0 */
enum kvmig_severity {
    KVMIG_SEVERITY_INFO = 1, /**< worth knowing */
    KVMIG_SEVERITY_WARN = 2, /**< a risk; the migration may start */
    KVMIG_SEVERITY_ERROR = 3, /**< something went wrong (diagnosis only) */
    KVMIG_SEVERITY_BLOCKER = 4, /**< the migration must not start (plan only) */
};

/** One finding; opaque, immutable, borrowed from the list or the event that holds it. Since: 0.1.0 */
struct kvmig_finding;
/** An opaque, immutable list of findings, worst first; borrowed from the plan that holds it. Since: 0.1.0 */
struct kvmig_findings;

/** How many findings; 0 for NULL. Threads: any. Since: 0.1.0 */
KVMIG_API size_t kvmig_findings_count(const struct kvmig_findings *findings);
/** The finding at an index; NULL past the end. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const struct kvmig_finding *kvmig_findings_get(const struct kvmig_findings *findings, size_t index);

/** The stable code. Borrowed; never NULL. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_finding_code(const struct kvmig_finding *finding);
/** An enum kvmig_severity. Threads: any. Since: 0.1.0 */
KVMIG_API int32_t kvmig_finding_severity(const struct kvmig_finding *finding);
/** The object as kind/name, for example "disk/vda". Borrowed; never NULL. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_finding_object(const struct kvmig_finding *finding);
/** The host that it concerns; NULL if it concerns all. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_finding_host(const struct kvmig_finding *finding);
/** One sentence for people. Borrowed; never NULL. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_finding_message(const struct kvmig_finding *finding);
/** The evidence as JSON text (object, array or scalar); NULL if none. Borrowed. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_finding_detail(const struct kvmig_finding *finding);
/** What to do. Borrowed; "" if there is no advice. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_finding_hint(const struct kvmig_finding *finding);

/** "info", "warn", "error", "blocker"; NULL if unknown. Static. Threads: any. Since: 0.1.0 */
KVMIG_API const char *kvmig_severity_name(int32_t severity);

#ifdef __cplusplus
}
#endif
#endif
