package envtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "test.hekla.io/parts"

// parts makes a config map for each part of a widget, as its controller.
type parts struct {
	client.Client
	events record.EventRecorder
	worker string
}

func (p *parts) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	widget := &Widget{}
	if err := p.Get(ctx, request.NamespacedName, widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owned := &corev1.ConfigMapList{}
	if err := p.List(ctx, owned, client.InNamespace(widget.Namespace), client.MatchingFields{"owner": widget.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if !widget.DeletionTimestamp.IsZero() {
		for i := range owned.Items {
			if err := p.Delete(ctx, &owned.Items[i]); client.IgnoreNotFound(err) != nil {
				return ctrl.Result{}, err
			}
		}
		if len(owned.Items) == 0 && controllerutil.RemoveFinalizer(widget, finalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(p.Update(ctx, widget))
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(widget, finalizer) {
		return ctrl.Result{}, p.Update(ctx, widget)
	}
	for i := range *widget.Spec.Parts {
		part := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: widget.Namespace, Name: fmt.Sprintf("%s-%d", widget.Name, i)}}
		done, err := controllerutil.CreateOrUpdate(ctx, p.Client, part, func() error {
			part.Data = map[string]string{"color": widget.Spec.Color, "worker": p.worker}
			return controllerutil.SetControllerReference(widget, part, p.Scheme())
		})
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
		if done == controllerutil.OperationResultCreated {
			p.events.Eventf(widget, corev1.EventTypeNormal, "Made", "made %s", part.Name)
		}
	}
	for i := range owned.Items {
		var number int32
		if _, err := fmt.Sscanf(owned.Items[i].Name, widget.Name+"-%d", &number); err == nil && number >= *widget.Spec.Parts {
			if err := p.Delete(ctx, &owned.Items[i]); client.IgnoreNotFound(err) != nil {
				return ctrl.Result{}, err
			}
		}
	}
	return ctrl.Result{}, p.report(ctx, widget, int32(len(owned.Items)))
}

func (p *parts) report(ctx context.Context, widget *Widget, ready int32) error {
	before := widget.DeepCopyObject().(*Widget)
	widget.Status.Ready, widget.Status.ObservedGeneration = ready, widget.Generation
	status := metav1.ConditionFalse
	if ready == *widget.Spec.Parts {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&widget.Status.Conditions, metav1.Condition{Type: "Complete", Status: status, Reason: "Counted",
		Message: fmt.Sprintf("%d of %d", ready, *widget.Spec.Parts), ObservedGeneration: widget.Generation})
	return client.IgnoreNotFound(p.Status().Patch(ctx, widget, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// startManager runs a manager with the reconciler until the returned function is called, which waits for its end.
func startManager(t *testing.T, namespace, worker string, elect bool) (ctrl.Manager, func()) {
	t.Helper()
	second, skip := 2*time.Second, true
	retry, renew := 200*time.Millisecond, time.Second
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:            cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:          server.Options{BindAddress: "0"},
		LeaderElection:   elect,
		LeaderElectionID: "parts", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &second, RenewDeadline: &renew, RetryPeriod: &retry,
		Controller: controllerconfig.Controller{SkipNameValidation: &skip},
	})
	must(t, err)
	must(t, manager.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, "owner", func(object client.Object) []string {
		if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "Widget" {
			return []string{owner.Name}
		}
		return nil
	}))
	must(t, ctrl.NewControllerManagedBy(manager).For(&Widget{}).Owns(&corev1.ConfigMap{}).Complete(
		&parts{manager.GetClient(), manager.GetEventRecorderFor("parts"), worker}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the manager %s ended with %v", worker, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("the manager %s does not end", worker)
		}
	}
	t.Cleanup(stop)
	return manager, stop
}

func newWidget(namespace, name string, parts int32) *Widget {
	return &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: WidgetSpec{Parts: &parts, Color: "green"}}
}

// complete answers nil once the widget's status tells of so many parts and the controller has seen this generation.
func complete(reader client.Reader, widget *Widget, ready int32) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := reader.Get(ctx, client.ObjectKeyFromObject(widget), widget); err != nil {
			return err
		}
		if widget.Status.Ready != ready || widget.Status.ObservedGeneration != widget.Generation ||
			!meta.IsStatusConditionTrue(widget.Status.Conditions, "Complete") {
			return fmt.Errorf("generation %d, status %+v", widget.Generation, widget.Status)
		}
		return nil
	}
}

func TestReconciler(t *testing.T) {
	namespace := newNamespace(t)
	manager, _ := startManager(t, namespace, "only", false)
	widget := newWidget(namespace, "w", 2)
	must(t, admin.Create(t.Context(), widget))
	eventually(t, "two parts", complete(admin, widget, 2))
	if widget.Generation != 1 || !controllerutil.ContainsFinalizer(widget, finalizer) {
		t.Errorf("generation %d, finalizers %v", widget.Generation, widget.Finalizers)
	}
	eventually(t, "the manager's cache", complete(manager.GetClient(), &Widget{ObjectMeta: widget.ObjectMeta}, 2))

	part := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: "w-1"}
	must(t, admin.Get(t.Context(), key, part))
	owner := metav1.GetControllerOf(part)
	if owner == nil || owner.UID != widget.UID || owner.APIVersion != "test.hekla.io/v1" || owner.BlockOwnerDeletion == nil ||
		!*owner.BlockOwnerDeletion {
		t.Errorf("the part's controller is %+v", owner)
	}
	first := part.UID
	must(t, admin.Delete(t.Context(), part))
	eventually(t, "a deleted part is made again", func(ctx context.Context) error {
		if err := admin.Get(ctx, key, part); err != nil {
			return err
		}
		if part.UID == first {
			return errors.New("still the old one")
		}
		return nil
	})

	widget.Spec.Parts, widget.Spec.Color = nil, "red"
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"parts":4,"color":"red"}}`))
	must(t, admin.Patch(t.Context(), widget, patch))
	eventually(t, "four parts", complete(admin, widget, 4))
	if widget.Generation != 2 {
		t.Errorf("generation %d after one change of the spec", widget.Generation)
	}
	eventually(t, "red parts", func(ctx context.Context) error {
		if err := admin.Get(ctx, key, part); err != nil || part.Data["color"] != "red" {
			return fmt.Errorf("%v, %v", part.Data, err)
		}
		return nil
	})
	eventually(t, "events", func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := admin.List(ctx, events, client.InNamespace(namespace), client.MatchingFields{
			"involvedObject.name": "w", "involvedObject.kind": "Widget", "reason": "Made"}); err != nil {
			return err
		}
		total := int32(0)
		for _, event := range events.Items {
			total += max(event.Count, 1)
		}
		if total < 5 {
			return fmt.Errorf("%d events", total)
		}
		return nil
	})

	must(t, admin.Delete(t.Context(), widget))
	eventually(t, "the widget and its parts are gone", func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(widget), widget); !apierrors.IsNotFound(err) {
			return fmt.Errorf("finalizers %v, %v", widget.Finalizers, err)
		}
		left := &corev1.ConfigMapList{}
		if err := admin.List(ctx, left, client.InNamespace(namespace)); err != nil || len(left.Items) != 0 {
			return fmt.Errorf("%d config maps, %v", len(left.Items), err)
		}
		return nil
	})
}

// What the server must refuse or keep apart for a controller to be right.
func TestWrites(t *testing.T) {
	namespace := newNamespace(t)
	widget := newWidget(namespace, "w", 1)
	must(t, admin.Create(t.Context(), widget))

	stale := widget.DeepCopyObject().(*Widget)
	widget.Labels = map[string]string{"a": "b"}
	must(t, admin.Update(t.Context(), widget))
	if widget.Generation != 1 {
		t.Errorf("a label changed the generation to %d", widget.Generation)
	}
	if err := admin.Update(t.Context(), stale); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict, got %v", err)
	}

	widget.Status.Ready = 7
	must(t, admin.Update(t.Context(), widget))
	if widget.Status.Ready != 0 {
		t.Error("an update of the object changed its status")
	}
	five := int32(5)
	widget.Status.Ready, widget.Spec.Parts = 7, &five
	must(t, admin.Status().Update(t.Context(), widget))
	if widget.Status.Ready != 7 || *widget.Spec.Parts != 1 || widget.Generation != 1 {
		t.Errorf("after a status update: %+v %+v", widget.Spec, widget.Status)
	}

	for text, change := range map[string]func(*Widget){
		"at most four red parts": func(w *Widget) { w.Spec.Color, w.Spec.Parts = "red", &five },
		`Unsupported value: "blue": supported values: "red", "green"`: func(w *Widget) { w.Spec.Color = "blue" },
	} {
		bad := widget.DeepCopyObject().(*Widget)
		change(bad)
		if err := admin.Update(t.Context(), bad); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), text) {
			t.Errorf("want Invalid with %q, got %v", text, err)
		}
	}
	defaulted := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "d-"}}
	must(t, admin.Create(t.Context(), defaulted, client.DryRunAll))
	if defaulted.Spec.Parts == nil || *defaulted.Spec.Parts != 1 || defaulted.Name == "" {
		t.Errorf("a dry run answers %+v", defaulted)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(defaulted), defaulted); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run was stored: %v", err)
	}
	if err := admin.Delete(t.Context(), widget, client.Preconditions{UID: &stale.UID, ResourceVersion: &stale.ResourceVersion}); !apierrors.IsConflict(err) {
		t.Errorf("want a conflict from the precondition, got %v", err)
	}
	must(t, admin.DeleteAllOf(t.Context(), &Widget{}, client.InNamespace(namespace), client.MatchingLabels{"a": "b"}))
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); !apierrors.IsNotFound(err) {
		t.Errorf("want NotFound, got %v", err)
	}
}

// Two appliers share an object field by field.
func TestServerSideApply(t *testing.T) {
	namespace := newNamespace(t)
	apply := func(owner, key, value string, options ...client.PatchOption) error {
		made := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shared"}, Data: map[string]string{key: value}}
		return admin.Patch(t.Context(), made, client.Apply, append(options, client.FieldOwner(owner))...) //nolint:staticcheck
	}
	must(t, apply("one", "a", "1"))
	must(t, apply("two", "b", "2"))
	if err := apply("two", "a", "2"); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "one": .data.a`) {
		t.Errorf("want a conflict with one, got %v", err)
	}
	must(t, apply("two", "a", "3", client.ForceOwnership))
	shared := &corev1.ConfigMap{}
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shared"}, shared))
	if len(shared.Data) != 1 || shared.Data["a"] != "3" { // b went with its only owner
		t.Errorf("want a alone, got %v", shared.Data)
	}
}

func TestLeaderElection(t *testing.T) {
	namespace := newNamespace(t)
	holder := func(worker string) func(context.Context) error {
		return func(ctx context.Context) error {
			part := &corev1.ConfigMap{}
			if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "w-0"}, part); err != nil {
				return err
			}
			if part.Data["worker"] != worker {
				return fmt.Errorf("made by %s", part.Data["worker"])
			}
			return nil
		}
	}
	first, stopFirst := startManager(t, namespace, "first", true)
	<-first.Elected()
	second, _ := startManager(t, namespace, "second", true)
	widget := newWidget(namespace, "w", 1)
	must(t, admin.Create(t.Context(), widget))
	eventually(t, "the leader works", complete(admin, widget, 1))
	must(t, holder("first")(t.Context()))
	select {
	case <-second.Elected():
		t.Fatal("two leaders")
	default:
	}
	lease := &coordinationv1.Lease{}
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "parts"}, lease))
	before := *lease.Spec.HolderIdentity
	stopFirst()
	select {
	case <-second.Elected():
	case <-time.After(20 * time.Second):
		t.Fatal("no new leader")
	}
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))
	if *lease.Spec.HolderIdentity == before || *lease.Spec.LeaseTransitions < 1 {
		t.Errorf("the lease has %v", lease.Spec)
	}
	must(t, admin.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(namespace)))
	eventually(t, "the next leader works", holder("second"))
}
