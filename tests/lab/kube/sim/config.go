// SPDX-License-Identifier: LGPL-2.1-or-later

// The settings of migrations: the KubeVirt object's, with KubeVirt's defaults, and per migration what the matching
// MigrationPolicy changes of them.

package sim

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	defaultParallelCluster  = 5
	defaultParallelOutbound = 2
)

type clusterConfig struct {
	parallelCluster, parallelOutbound int
	utilityTimeout                    int64
	cpuModel                          string
	nodeSelectors                     map[string]string
	updateMethods                     []any
	migrations                        map[string]any
}

// clusterConfig reads the KubeVirt object; there is normally exactly one.
func (s *Sim) clusterConfig() clusterConfig {
	c := clusterConfig{parallelCluster: defaultParallelCluster, parallelOutbound: defaultParallelOutbound,
		nodeSelectors: map[string]string{}, migrations: map[string]any{}}
	all := s.kubevirts.all()
	if len(all) == 0 {
		return c
	}
	kv := all[0]
	c.cpuModel = str(kv, "spec", "configuration", "cpuModel")
	c.updateMethods = list(kv, "spec", "workloadUpdateStrategy", "workloadUpdateMethods")
	for k, v := range child(kv, "spec", "configuration", "developerConfiguration", "nodeSelectors") {
		c.nodeSelectors[k] = fmt.Sprint(v)
	}
	if m := child(kv, "spec", "configuration", "migrations"); m != nil {
		c.migrations = m
		c.parallelCluster = int(number(m["parallelMigrationsPerCluster"], defaultParallelCluster))
		c.parallelOutbound = int(number(m["parallelOutboundMigrationsPerNode"], defaultParallelOutbound))
		c.utilityTimeout = number(m["utilityVolumesTimeout"], 0)
	}
	return c
}

// number reads an integer that may be written as a number or a string.
func number(v any, otherwise int64) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	case string:
		if i, err := strconv.ParseInt(n, 10, 64); err == nil {
			return i
		}
	}
	return otherwise
}

// migrationConfig gives the settings of one migration, as they are copied to migrationState, and the policy's name.
func (s *Sim) migrationConfig(vmi *object) (config map[string]any, policy string) {
	config = map[string]any{"allowAutoConverge": false, "allowPostCopy": false, "bandwidthPerMigration": "0",
		"completionTimeoutPerGiB": int64(150), "maxDowntimeMs": int64(900), "nodeDrainTaintKey": "kubevirt.io/drain",
		"parallelMigrationsPerCluster":      int64(defaultParallelCluster),
		"parallelOutboundMigrationsPerNode": int64(defaultParallelOutbound),
		"progressTimeout":                   int64(150), "unsafeMigrationOverride": false,
		"utilityVolumesTimeout": int64(150)}
	for k, v := range s.clusterConfig().migrations {
		if v != nil {
			config[k] = runtime.DeepCopyJSONValue(v)
		}
	}
	if config["allowWorkloadDisruption"] == nil {
		config["allowWorkloadDisruption"] = config["allowPostCopy"]
	}
	if p := s.matchingPolicy(vmi); p != nil {
		policy = p.GetName()
		applyPolicy(config, child(p, "spec"))
	}
	return config, policy
}

func applyPolicy(config, spec map[string]any) {
	for _, member := range []string{"allowAutoConverge", "bandwidthPerMigration", "completionTimeoutPerGiB",
		"maxDowntimeMs",
		"allowPostCopy", "allowWorkloadDisruption", "experimental"} {
		if v := spec[member]; v != nil {
			config[member] = runtime.DeepCopyJSONValue(v)
		}
	}
	if spec["allowPostCopy"] != nil && spec["allowWorkloadDisruption"] == nil {
		config["allowWorkloadDisruption"] = spec["allowPostCopy"]
	}
}

// matchingPolicy: the most labels matched win, then the most labels of the VMI, then the smallest name.
func (s *Sim) matchingPolicy(vmi *object) *object {
	var best *object
	bestAll, bestVMI := -1, -1
	namespace := s.namespaces.get(vmi.GetNamespace())
	for _, p := range s.policies.all() {
		machines, all, ok := policyScore(p, vmi, namespace)
		if !ok {
			continue
		}
		better := all > bestAll ||
			all == bestAll && (machines > bestVMI || machines == bestVMI && p.GetName() < best.GetName())
		if better {
			best, bestAll, bestVMI = p, all, machines
		}
	}
	return best
}

// policyScore counts the labels that a policy asks for; ok says whether all are there.
func policyScore(p, vmi, namespace *object) (machines, all int, ok bool) {
	if !has(p, "spec", "selectors") {
		return 0, 0, false
	}
	if child(vmi, "metadata", "labels") == nil {
		return 0, 0, true // KubeVirt compares nothing then
	}
	for k, v := range child(p, "spec", "selectors", "virtualMachineInstanceSelector") {
		if label(vmi, k) != v {
			return 0, 0, false
		}
		machines++
	}
	all = machines
	for k, v := range child(p, "spec", "selectors", "namespaceSelector") {
		if namespace == nil || label(namespace, k) != v {
			return 0, 0, false
		}
		all++
	}
	return machines, all, true
}
