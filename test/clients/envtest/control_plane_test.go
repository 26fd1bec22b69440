package envtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func newPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}}}
}

func TestDisabledAdmissionPlugin(t *testing.T) {
	pod := newPod(newNamespace(t), "p")
	must(t, admin.Create(t.Context(), pod))
	if len(pod.Spec.Volumes) != 0 {
		t.Errorf("the ServiceAccount plugin is disabled, but the pod has %v", pod.Spec.Volumes)
	}
}

// A user of envtest's own making is bound by RBAC.
func TestUser(t *testing.T) {
	namespace := newNamespace(t)
	must(t, admin.Create(t.Context(), newPod(namespace, "p")))
	jane, err := environment.AddUser(envtest.User{Name: "jane"}, nil)
	must(t, err)
	reader, err := client.New(jane.Config(), client.Options{})
	must(t, err)
	pods := &corev1.PodList{}
	if err := reader.List(t.Context(), pods, client.InNamespace(namespace)); !apierrors.IsForbidden(err) {
		t.Fatalf("want Forbidden, got %v", err)
	}
	must(t, admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "jane"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "jane"}}}))
	if err := reader.List(t.Context(), pods, client.InNamespace(namespace)); err != nil || len(pods.Items) != 1 {
		t.Fatalf("want one pod, got %d and %v", len(pods.Items), err)
	}
}
