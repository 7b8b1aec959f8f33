// SPDX-License-Identifier: LGPL-2.1-or-later

// The node selector of launcher pods: what every launcher of a VMI asks for, and what the target of a migration asks
// for besides, so that the guest's CPU stays as it is.

package sim

import (
	"fmt"
	"strings"
)

const (
	hostModel            = "host-model"
	hostPassthrough      = "host-passthrough"
	prefixModel          = "cpu-model.node.kubevirt.io/"
	prefixModelMigration = "cpu-model-migration.node.kubevirt.io/"
	prefixHostModel      = "host-model-cpu.node.kubevirt.io/"
	prefixHostFeature    = "host-model-required-features.node.kubevirt.io/"
	prefixFeature        = "cpu-feature.node.kubevirt.io/"
	prefixVendor         = "cpu-vendor.node.kubevirt.io/"
	prefixMachine        = "machine-type.node.kubevirt.io/"
	prefixTSC            = "scheduling.node.kubevirt.io/tsc-frequency-"
)

// cpuModel is the model of the guest's CPU: its own, else the cluster's, else host-model.
func (s *Sim) cpuModel(vmi *object) string {
	if model := str(vmi, "spec", "domain", "cpu", "model"); model != "" {
		return model
	}
	if model := s.clusterConfig().cpuModel; model != "" {
		return model
	}
	return hostModel
}

// baseSelector is what every launcher pod of the VMI asks for.
func (s *Sim) baseSelector(vmi *object) map[string]string {
	out := map[string]string{"kubevirt.io/schedulable": "true"}
	if arch := str(vmi, "spec", "architecture"); arch != "" {
		out["kubernetes.io/arch"] = arch
	}
	for k, v := range s.clusterConfig().nodeSelectors {
		out[k] = v
	}
	for k, v := range child(vmi, "spec", "nodeSelector") {
		if text, ok := v.(string); ok {
			out[k] = text
		}
	}
	for _, name := range s.cpuLabels(vmi) {
		out[name] = "true"
	}
	return out
}

// cpuLabels are the labels that must be "true" because of the guest's CPU, machine and clock.
func (s *Sim) cpuLabels(vmi *object) []string {
	out := []string{}
	cpu := child(vmi, "spec", "domain", "cpu")
	if cpu["dedicatedCpuPlacement"] == true {
		out = append(out, "kubevirt.io/cpumanager")
	}
	if cpu["realtime"] != nil {
		out = append(out, "kubevirt.io/realtime")
	}
	if model := s.cpuModel(vmi); model != hostModel && model != hostPassthrough {
		out = append(out, prefixModel+model)
	}
	invtsc := false
	for _, f := range objects(vmi, "spec", "domain", "cpu", "features") {
		required := at(f, "policy") == "" || at(f, "policy") == "require"
		if required && at(cpu, "model") != "" {
			out = append(out, prefixFeature+at(f, "name"))
		}
		invtsc = invtsc || required && at(f, "name") == "invtsc"
	}
	machine := str(vmi, "status", "machine", "type")
	if machine == "" {
		machine = str(vmi, "spec", "domain", "machine", "type")
	}
	if machine != "" {
		out = append(out, prefixMachine+machine)
	}
	reenlightenment := below(child(vmi, "spec", "domain", "features", "hyperv"), "reenlightenment")
	if hz, ok := child(vmi, "status", "topologyHints")["tscFrequency"]; ok &&
		(invtsc || reenlightenment != nil && reenlightenment["enabled"] != false) {
		out = append(out, prefixTSC+fmt.Sprint(hz))
	}
	return out
}

// targetSelector is what the target of a migration asks for: the migration's own selector can only add to the VMI's.
func (s *Sim) targetSelector(l *look, source *object) (map[string]string, error) {
	out := map[string]string{}
	for k, v := range child(l.migration, "spec", "addedNodeSelector") {
		if text, ok := v.(string); ok {
			out[k] = text
		}
	}
	for k, v := range s.baseSelector(l.vmi) {
		out[k] = v
	}
	node := s.nodes.get(str(l.vmi, "status", "nodeName"))
	if s.cpuModel(l.vmi) == hostModel {
		added, err := hostModelLabels(source, node)
		if err != nil {
			return nil, err
		}
		for k, v := range added {
			out[k] = v
		}
	}
	addVendor(out, node)
	return out, nil
}

// hostModelLabels pins the CPU of a host-model guest: a guest that was migrated before keeps what its first migration
// found, else the source node's labels say it.
func hostModelLabels(source, node *object) (map[string]string, error) {
	out := map[string]string{}
	for k, v := range child(source, "spec", "nodeSelector") {
		if text, ok := v.(string); ok &&
			(strings.HasPrefix(k, prefixFeature) || strings.HasPrefix(k, prefixModelMigration)) {
			out[k] = text
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if node == nil {
		return nil, fmt.Errorf(
			"node %s, from which the guest is to leave, is not there; its labels are needed for host-model",
			str(source, "spec", "nodeName"),
		)
	}
	for k, v := range node.GetLabels() {
		if model, ok := strings.CutPrefix(k, prefixHostModel); ok {
			out[prefixModelMigration+model] = v
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("node %s has no label %s<model>, which a migration with host-model needs",
			node.GetName(), prefixHostModel)
	}
	for k, v := range node.GetLabels() {
		if feature, ok := strings.CutPrefix(k, prefixHostFeature); ok {
			out[prefixFeature+feature] = v
		}
	}
	return out, nil
}

func addVendor(selector map[string]string, node *object) {
	for k := range selector {
		if strings.HasPrefix(k, prefixVendor) {
			return
		}
	}
	if node == nil {
		return
	}
	for k, v := range node.GetLabels() {
		if strings.HasPrefix(k, prefixVendor) {
			selector[k] = v
			return
		}
	}
}
