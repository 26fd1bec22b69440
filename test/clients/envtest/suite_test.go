// controller-runtime's envtest starts Hekla as its control plane, and client-go's informers and a controller-runtime
// manager work on it. KUBEBUILDER_ASSETS is a directory with the symbolic links kube-apiserver and etcd to hekla; see
// docs/envtest.md.
package envtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var (
	environment *envtest.Environment
	config      *rest.Config
	admin       client.Client
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	utilruntime.Must(AddToScheme(clientgoscheme.Scheme))
	os.Exit(run(m))
}

func run(m *testing.M) int {
	environment = &envtest.Environment{
		CRDDirectoryPaths:     []string{"crds"},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			MutatingWebhooks:   mutatingWebhooks(),
			ValidatingWebhooks: validatingWebhooks(),
		},
	}
	var err error
	if config, err = environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "envtest does not start:", err)
		return 1
	}
	code := 1
	if admin, err = client.New(config, client.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "envtest does not stop:", err)
		return 1
	}
	return code
}

// eventually polls until the condition answers nil, and fails the test with its last error otherwise.
func eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	last := error(nil)
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true,
		func(ctx context.Context) (bool, error) {
			last = condition(ctx)
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("%s: %v (%v)", what, last, err)
	}
}

// newNamespace is a namespace of the test's own.
func newNamespace(t *testing.T) string {
	t.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := admin.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return made.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

