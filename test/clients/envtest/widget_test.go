package envtest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Widget is the custom resource of crds/widgets.yaml: so many config maps, its parts.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec,omitempty"`
	Status            WidgetStatus `json:"status,omitempty"`
}

type WidgetSpec struct {
	Parts *int32 `json:"parts,omitempty"`
	Color string `json:"color,omitempty"`
}

type WidgetStatus struct {
	Ready              int32              `json:"ready,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

var widgetVersion = schema.GroupVersion{Group: "test.hekla.io", Version: "v1"}

func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(widgetVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, widgetVersion)
	return nil
}

func (w *Widget) DeepCopyObject() runtime.Object {
	made := *w
	made.ObjectMeta = *w.ObjectMeta.DeepCopy()
	if w.Spec.Parts != nil {
		parts := *w.Spec.Parts
		made.Spec.Parts = &parts
	}
	made.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &made
}

func (w *WidgetList) DeepCopyObject() runtime.Object {
	made := *w
	made.Items = nil
	for i := range w.Items {
		made.Items = append(made.Items, *w.Items[i].DeepCopyObject().(*Widget))
	}
	return &made
}
