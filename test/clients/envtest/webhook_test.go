package envtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// The webhooks are asked about objects that carry this label; the other tests' objects do without.
const webhookLabel = "webhook"

func rules() []admissionv1.RuleWithOperations {
	return []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
		Rule:       admissionv1.Rule{APIGroups: []string{widgetVersion.Group}, APIVersions: []string{"v1"}, Resources: []string{"widgets"}},
	}}
}

func clientConfig(path string) admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "webhooks", Path: &path}}
}

func mutatingWebhooks() []*admissionv1.MutatingWebhookConfiguration {
	none, reviews := admissionv1.SideEffectClassNone, []string{"v1"}
	return []*admissionv1.MutatingWebhookConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
		Webhooks: []admissionv1.MutatingWebhook{{Name: "default.test.hekla.io", SideEffects: &none, AdmissionReviewVersions: reviews,
			Rules: rules(), ClientConfig: clientConfig("/default"),
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{webhookLabel: "yes"}}}}}}
}

func validatingWebhooks() []*admissionv1.ValidatingWebhookConfiguration {
	none, reviews := admissionv1.SideEffectClassNone, []string{"v1"}
	return []*admissionv1.ValidatingWebhookConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
		Webhooks: []admissionv1.ValidatingWebhook{{Name: "validate.test.hekla.io", SideEffects: &none, AdmissionReviewVersions: reviews,
			Rules: rules(), ClientConfig: clientConfig("/validate"),
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{webhookLabel: "yes"}}}}}}
}

type defaulter struct{}

func (defaulter) Default(_ context.Context, widget *Widget) error {
	if widget.Spec.Color == "" {
		widget.Spec.Color = "green"
	}
	return nil
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, widget *Widget) (admission.Warnings, error) {
	if widget.Spec.Color == "red" {
		return nil, errors.New("red is out of stock")
	}
	return admission.Warnings{"made to order"}, nil
}

func (validator) ValidateUpdate(_ context.Context, before, after *Widget) (admission.Warnings, error) {
	if before.Spec.Color != after.Spec.Color {
		return nil, errors.New("a widget keeps its color")
	}
	return nil, nil
}

func (validator) ValidateDelete(_ context.Context, widget *Widget) (admission.Warnings, error) {
	if widget.Annotations["keep"] != "" {
		return nil, errors.New("this one stays")
	}
	return nil, nil
}

func TestWebhooks(t *testing.T) {
	namespace := newNamespace(t)
	options := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}, WebhookServer: webhook.NewServer(
		webhook.Options{Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir})})
	must(t, err)
	hooks := manager.GetWebhookServer()
	hooks.Register("/default", admission.WithDefaulter(manager.GetScheme(), defaulter{}))
	hooks.Register("/validate", admission.WithValidator(manager.GetScheme(), validator{}))
	go func() {
		if err := manager.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}()

	widget := newWidget(namespace, "w", 1)
	widget.Labels, widget.Spec.Color = map[string]string{webhookLabel: "yes"}, ""
	eventually(t, "the webhooks answer", func(ctx context.Context) error { return admin.Create(ctx, widget) })
	if widget.Spec.Color != "green" {
		t.Errorf("the defaulter left the color %q", widget.Spec.Color)
	}
	refused := func(what, text string, err error) {
		t.Helper()
		want := `admission webhook "validate.test.hekla.io" denied the request: ` + text
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", what, want, err)
		}
	}
	red := newWidget(namespace, "red", 1)
	red.Labels, red.Spec.Color = widget.Labels, "red"
	refused("create", "red is out of stock", admin.Create(t.Context(), red))
	widget.Spec.Color = "red"
	refused("update", "a widget keeps its color", admin.Update(t.Context(), widget))
	widget.Spec.Color, widget.Annotations = "green", map[string]string{"keep": "yes"}
	must(t, admin.Update(t.Context(), widget))
	refused("delete", "this one stays", admin.Delete(t.Context(), widget))
	widget.Annotations = nil
	must(t, admin.Update(t.Context(), widget))
	must(t, admin.Delete(t.Context(), widget))
}
