/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One name for each CPU feature. libvirt, QEMU and Linux spell some features differently, and a few were renamed over
 * the years, so that a definition written on one host may name a feature in another way than the host that it is
 * compared with. The canonical name is the one that libvirt uses today. Pure; any thread; decides nothing about
 * features.
 */
#include "libvirt/libvirt_internal.h"

struct alias {
    const char *name; /* '-' stands for '_' as well, and small letters for capitals */
    const char *canonical;
};

static const struct alias aliases[] = {
    /* Released by distributions before the kernel had settled on a name. */
    { "arch-facilities", "arch-capabilities" },

    /* QEMU takes '_' for '-' in every feature name; these are the ones that libvirt writes with '_'.
     * Source: libvirt's cpu_map/x86_features.xml, aliases of source 'qemu'; kvm_*: its qemu_capabilities.c. */
    { "cmp-legacy", "cmp_legacy" },
    { "ds-cpl", "ds_cpl" },
    { "fxsr-opt", "fxsr_opt" },
    { "kvm-pv-eoi", "kvm_pv_eoi" },
    { "kvm-pv-unhalt", "kvm_pv_unhalt" },
    { "lahf-lm", "lahf_lm" },
    { "mbm-local", "mbm_local" },
    { "mbm-total", "mbm_total" },
    { "nodeid-msr", "nodeid_msr" },
    { "perfctr-core", "perfctr_core" },
    { "perfctr-nb", "perfctr_nb" },
    { "tsc-adjust", "tsc_adjust" },

    /* Other names of QEMU. Source: the same map. */
    { "ffxsr", "fxsr_opt" },
    { "i64", "lm" },
    { "pclmulqdq", "pclmuldq" },
    { "sse3", "pni" },
    { "sse4-1", "sse4.1" },
    { "sse4-2", "sse4.2" },
    { "vmx-invept-single-context-noglobals", "vmx-invvpid-single-context-noglobals" },
    { "xd", "nx" },

    /* Linux' names in /proc/cpuinfo. Source: aliases of source 'linux' in the same map; cpufeatures.h of Linux. */
    { "cqm", "cmt" },
    { "cqm-mbm-local", "mbm_local" },
    { "cqm-mbm-total", "mbm_total" },
    { "tsc-deadline-timer", "tsc-deadline" },

    /* The same name, often met with '_'. */
    { "arch-capabilities", "arch-capabilities" },
    { "md-clear", "md-clear" },
    { "nrip-save", "nrip-save" },
    { "pause-filter", "pause-filter" },
    { "sha-ni", "sha-ni" },
    { "spec-ctrl", "spec-ctrl" },
    { "svm-lock", "svm-lock" },
    { "tsc-deadline", "tsc-deadline" },
    { "tsc-scale", "tsc-scale" },
    { "vmcb-clean", "vmcb-clean" },
};

static bool same_spelling(const char *name, const char *alias)
{
    for (; *name != '\0' && *alias != '\0'; name++, alias++) {
        char c = *name;
        if (c == '_')
            c = '-';
        else if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != *alias)
            return false;
    }
    return *name == *alias;
}

/* Static text for a feature that is in the table, else the argument itself. */
const char *kvmig__cpu_feature_canonical(const char *name)
{
    for (size_t i = 0; name && i < KVMIG__N_ELEMENTS(aliases); i++)
        if (same_spelling(name, aliases[i].name))
            return aliases[i].canonical;
    return name;
}
