// controller-runtime's envtest starts Hekla as its control plane. KUBEBUILDER_ASSETS is a directory with the
// symbolic links kube-apiserver and etcd to hekla; see docs/envtest.md.
package envtest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestControlPlane(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}()
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}}}
	if err := admin.Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	if len(pod.Spec.Volumes) != 0 {
		t.Errorf("the ServiceAccount plugin is disabled, but the pod has %v", pod.Spec.Volumes)
	}

	// A user of envtest's own making is bound by RBAC.
	jane, err := environment.AddUser(envtest.User{Name: "jane"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(jane.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace("default")); !apierrors.IsForbidden(err) {
		t.Fatalf("want Forbidden, got %v", err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "jane"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}}
	if err := admin.Create(ctx, binding); err != nil {
		t.Fatal(err)
	}
	if err := reader.List(ctx, pods, client.InNamespace("default")); err != nil || len(pods.Items) != 1 {
		t.Fatalf("want one pod, got %d and %v", len(pods.Items), err)
	}
}
