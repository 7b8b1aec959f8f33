// SPDX-License-Identifier: LGPL-2.1-or-later

// Decodes the files of a folder as a typed client of the API does: encoding/json into the types of k8s.io/api and kubevirt.io/api, all
// of it kept. Prints one line of JSON: seconds of CPU, the peak of resident memory in KiB, objects.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

type cluster struct {
	nodes     []corev1.NodeList
	pods      []corev1.PodList
	claims    []corev1.PersistentVolumeClaimList
	vmis      []kubevirtv1.VirtualMachineInstanceList
	vmims     []kubevirtv1.VirtualMachineInstanceMigrationList
	kubevirts []kubevirtv1.KubeVirtList
	n         int
}

func (c *cluster) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	switch name := filepath.Base(path); {
	case strings.HasPrefix(name, "nodes"):
		var list corev1.NodeList
		err = json.Unmarshal(text, &list)
		c.nodes = append(c.nodes, list)
		c.n += len(list.Items)
	case strings.HasPrefix(name, "pods"):
		var list corev1.PodList
		err = json.Unmarshal(text, &list)
		c.pods = append(c.pods, list)
		c.n += len(list.Items)
	case strings.HasPrefix(name, "pvcs"):
		var list corev1.PersistentVolumeClaimList
		err = json.Unmarshal(text, &list)
		c.claims = append(c.claims, list)
		c.n += len(list.Items)
	case strings.HasPrefix(name, "vmis"):
		var list kubevirtv1.VirtualMachineInstanceList
		err = json.Unmarshal(text, &list)
		c.vmis = append(c.vmis, list)
		c.n += len(list.Items)
	case strings.HasPrefix(name, "vmims"):
		var list kubevirtv1.VirtualMachineInstanceMigrationList
		err = json.Unmarshal(text, &list)
		c.vmims = append(c.vmims, list)
		c.n += len(list.Items)
	case strings.HasPrefix(name, "kubevirts"):
		var list kubevirtv1.KubeVirtList
		err = json.Unmarshal(text, &list)
		c.kubevirts = append(c.kubevirts, list)
		c.n += len(list.Items)
	}
	return err
}

func seconds(t syscall.Timeval) float64 {
	return float64(t.Sec) + float64(t.Usec)/1e6
}

func main() {
	runtime.GOMAXPROCS(1)
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.json"))
	var c cluster
	var usage syscall.Rusage
	for _, file := range files {
		if err == nil {
			err = c.read(file)
		}
	}
	if err == nil {
		err = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "decode:", err)
		os.Exit(1)
	}
	fmt.Printf("{\"cpu_s\":%.3f,\"peak_kib\":%d,\"objects\":%d}\n", seconds(usage.Utime)+seconds(usage.Stime), usage.Maxrss, c.n)
	runtime.KeepAlive(&c)
}
