package envtest

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// requests records what a client asks for: WatchList must be what the informers use, and no list beside it.
type requests struct {
	mutex   sync.Mutex
	lists   []string
	streams int
}

func (r *requests) RoundTrip(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	r.mutex.Lock()
	if query.Get("watch") == "" && request.Method == http.MethodGet {
		r.lists = append(r.lists, request.URL.String())
	} else if query.Get("sendInitialEvents") == "true" {
		r.streams++
	}
	r.mutex.Unlock()
	return inner.RoundTrip(request)
}

type roundTripper struct {
	inner http.RoundTripper
	seen  *requests
}

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	return r.seen.RoundTrip(r.inner, request)
}

func recorded(seen *requests) *rest.Config {
	made := rest.CopyConfig(config)
	made.Wrap(func(inner http.RoundTripper) http.RoundTripper { return roundTripper{inner, seen} })
	return made
}

func (r *requests) check(t *testing.T, streams int) {
	t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.lists) != 0 || r.streams != streams {
		t.Errorf("want %d streams and no list, got %d streams and the lists %v", streams, r.streams, r.lists)
	}
}

// log collects what an informer tells its handlers, in order.
type log struct {
	mutex sync.Mutex
	lines []string
}

func (l *log) add(format string, arguments ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, arguments...))
}

func (l *log) reads(want ...string) func(context.Context) error {
	return func(context.Context) error {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		if !reflect.DeepEqual(l.lines, want) {
			return fmt.Errorf("want %q, got %q", want, l.lines)
		}
		return nil
	}
}

func (l *log) handler() cache.ResourceEventHandlerDetailedFuncs {
	name := func(object any) string {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			return err.Error()
		}
		return accessor.GetName() + ":" + accessor.GetLabels()["step"]
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { l.add("add %s %v", name(object), initial) },
		UpdateFunc: func(old, object any) { l.add("update %s to %s", name(old), name(object)) },
		DeleteFunc: func(object any) { l.add("delete %s", name(object)) },
	}
}

func newConfigMap(namespace, name, step string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		Labels: map[string]string{"step": step}}, Data: map[string]string{"step": step}}
}

// What happens to two objects after an informer has been told of the first.
func live(t *testing.T, namespace string, events *log) {
	t.Helper()
	eventually(t, "initial events", events.reads("add a:0 true"))
	must(t, admin.Create(t.Context(), newConfigMap(namespace, "b", "0")))
	eventually(t, "a creation", events.reads("add a:0 true", "add b:0 false"))
	must(t, admin.Update(t.Context(), newConfigMap(namespace, "b", "1")))
	must(t, admin.Delete(t.Context(), newConfigMap(namespace, "b", "")))
	eventually(t, "an update and a deletion", events.reads(
		"add a:0 true", "add b:0 false", "update b:0 to b:1", "delete b:1"))
}

func TestTypedInformer(t *testing.T) {
	namespace, seen, events := newNamespace(t), &requests{}, &log{}
	must(t, admin.Create(t.Context(), newConfigMap(namespace, "a", "0")))
	factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(recorded(seen)), 0,
		informers.WithNamespace(namespace))
	maps := factory.Core().V1().ConfigMaps()
	must(t, maps.Informer().AddIndexers(cache.Indexers{"step": func(object any) ([]string, error) {
		return []string{object.(*corev1.ConfigMap).Data["step"]}, nil
	}}))
	registration, err := maps.Informer().AddEventHandler(events.handler())
	must(t, err)
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), registration.HasSynced) {
		t.Fatal("never synced")
	}
	live(t, namespace, events)
	listed, err := maps.Lister().ConfigMaps(namespace).List(labels.SelectorFromSet(labels.Set{"step": "0"}))
	if err != nil || len(listed) != 1 || listed[0].Name != "a" {
		t.Errorf("want the config map a, got %v and %v", listed, err)
	}
	indexed, err := maps.Informer().GetIndexer().ByIndex("step", "0")
	if err != nil || len(indexed) != 1 {
		t.Errorf("want one indexed object, got %v and %v", indexed, err)
	}
	seen.check(t, 1)
}

func TestDynamicAndMetadataInformers(t *testing.T) {
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	factories := map[string]func(*rest.Config, string) cache.SharedIndexInformer{
		"dynamic": func(config *rest.Config, namespace string) cache.SharedIndexInformer {
			return dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0, namespace, nil).
				ForResource(resource).Informer()
		},
		"metadata": func(config *rest.Config, namespace string) cache.SharedIndexInformer {
			return metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(config), 0, namespace, nil).
				ForResource(resource).Informer()
		},
	}
	for name, make := range factories {
		t.Run(name, func(t *testing.T) {
			namespace, seen, events := newNamespace(t), &requests{}, &log{}
			must(t, admin.Create(t.Context(), newConfigMap(namespace, "a", "0")))
			informer := make(recorded(seen), namespace)
			_, err := informer.AddEventHandler(events.handler())
			must(t, err)
			go informer.Run(t.Context().Done())
			live(t, namespace, events)
			if name == "metadata" {
				_, partial := informer.GetStore().List()[0].(*metav1.PartialObjectMetadata)
				if !partial {
					t.Errorf("the store has %T", informer.GetStore().List()[0])
				}
			}
			seen.check(t, 1)
		})
	}
}

// A selector makes objects that no longer match look deleted, in the state in which they last did.
func TestFilteredInformer(t *testing.T) {
	namespace, events := newNamespace(t), &log{}
	must(t, admin.Create(t.Context(), newConfigMap(namespace, "a", "0")))
	factory := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(config), 0,
		informers.WithNamespace(namespace), informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = "step in (0, 1)"
			options.FieldSelector = "metadata.name!=other"
		}))
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err := informer.AddEventHandler(events.handler())
	must(t, err)
	factory.Start(t.Context().Done())
	eventually(t, "initial events", events.reads("add a:0 true"))
	must(t, admin.Create(t.Context(), newConfigMap(namespace, "other", "0")))
	must(t, admin.Update(t.Context(), newConfigMap(namespace, "a", "1")))
	must(t, admin.Update(t.Context(), newConfigMap(namespace, "a", "2")))
	must(t, admin.Update(t.Context(), newConfigMap(namespace, "a", "0")))
	eventually(t, "leaving and coming back", events.reads(
		"add a:0 true", "update a:0 to a:1", "delete a:1", "add a:0 false"))
}

// Protobuf is what typed clients send and ask for; a transform sees decoded objects.
func TestManyObjects(t *testing.T) {
	const count = 500
	namespace := newNamespace(t)
	clients := kubernetes.NewForConfigOrDie(func() *rest.Config {
		made := rest.CopyConfig(config)
		made.QPS, made.Burst = -1, -1
		return made
	}())
	for i := range count {
		_, err := clients.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%03d", i)},
			Data:       map[string][]byte{"k": {0, 255, byte(i)}}}, metav1.CreateOptions{})
		must(t, err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	secrets := factory.Core().V1().Secrets()
	must(t, secrets.Informer().SetTransform(func(object any) (any, error) {
		object.(*corev1.Secret).ManagedFields = nil
		return object, nil
	}))
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	all, err := secrets.Lister().List(labels.Everything())
	if err != nil || len(all) != count {
		t.Fatalf("want %d secrets, got %d and %v", count, len(all), err)
	}
	one, err := secrets.Lister().Secrets(namespace).Get("s-300")
	must(t, err)
	if !reflect.DeepEqual(one.Data["k"], []byte{0, 255, 300 % 256}) || one.Type != corev1.SecretTypeOpaque ||
		one.ManagedFields != nil || one.CreationTimestamp.IsZero() {
		t.Errorf("s-300 arrived as %+v", one)
	}
	page, err := clients.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{Limit: 120})
	must(t, err)
	if len(page.Items) != 120 || page.RemainingItemCount == nil || *page.RemainingItemCount != count-120 {
		t.Errorf("a page has %d items and %v remaining", len(page.Items), page.RemainingItemCount)
	}
}

