// SPDX-License-Identifier: LGPL-2.1-or-later

// Installs the custom resource definitions and waits until they are served.

package api

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

const pollInterval = 20 * time.Millisecond

// installCRDs creates every *.yaml of the folder; a definition that exists already stays.
func installCRDs(ctx context.Context, c clientset.Interface, d dynamic.Interface, folder fs.FS) error {
	files, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return err
	}
	definitions := []*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range files {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		_, err = c.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, crd, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: %w", name, err)
		}
		definitions = append(definitions, crd)
	}
	for _, crd := range definitions {
		if err := waitServed(ctx, d, crd); err != nil {
			return fmt.Errorf("%s is not served: %w", crd.Name, err)
		}
	}
	return nil
}

func waitServed(ctx context.Context, d dynamic.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, v := range crd.Spec.Versions {
		r := schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: crd.Spec.Names.Plural}
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			_, err := d.Resource(r).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
