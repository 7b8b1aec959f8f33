/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file kvmig.h
 * The whole public interface but libvirt.h, which programs that use libvirt themselves include in addition.
 */
#ifndef KVMIG_KVMIG_H
#define KVMIG_KVMIG_H

#include <kvmig/cluster.h>
#include <kvmig/context.h>
#include <kvmig/diagnose.h>
#include <kvmig/drain.h>
#include <kvmig/error.h>
#include <kvmig/event.h>
#include <kvmig/explain.h>
#include <kvmig/finding.h>
#include <kvmig/forecast.h>
#include <kvmig/interface.h>
#include <kvmig/kube.h>
#include <kvmig/location.h>
#include <kvmig/plan.h>
#include <kvmig/port.h>
#include <kvmig/probe.h>
#include <kvmig/session.h>
#include <kvmig/version.h>

#endif
