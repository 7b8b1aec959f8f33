/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file version.h
 * The version of the library, at compile time and at run time, and the export marker.
 */
#ifndef KVMIG_VERSION_H
#define KVMIG_VERSION_H

#include <stdint.h>

#define KVMIG_VERSION_MAJOR 0
#define KVMIG_VERSION_MINOR 1
#define KVMIG_VERSION_MICRO 0

/** The version of these headers as one number: major * 1000000 + minor * 1000 + micro. */
#define KVMIG_VERSION_NUMBER (KVMIG_VERSION_MAJOR * 1000000 + KVMIG_VERSION_MINOR * 1000 + KVMIG_VERSION_MICRO)

/** Marks an exported function. Everything else in the library is hidden. */
#if defined(__GNUC__)
#define KVMIG_API __attribute__((visibility("default")))
#else
#define KVMIG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the library that is loaded, as KVMIG_VERSION_NUMBER counts.
 * Threads: any. Errors: none. Since: 0.1.0
 */
KVMIG_API uint32_t kvmig_version(void);

/**
 * The version of the library that is loaded, for people ("0.1.0"). Borrowed, static.
 * Threads: any. Errors: none. Since: 0.1.0
 */
KVMIG_API const char *kvmig_version_string(void);

#ifdef __cplusplus
}
#endif
#endif
