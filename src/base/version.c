/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The version of the library that is loaded, as its headers had it when it was built. Any thread.
 */
#include <kvmig/version.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

uint32_t kvmig_version(void)
{
    return KVMIG_VERSION_NUMBER;
}

const char *kvmig_version_string(void)
{
    return TEXT(KVMIG_VERSION_MAJOR) "." TEXT(KVMIG_VERSION_MINOR) "." TEXT(KVMIG_VERSION_MICRO);
}
