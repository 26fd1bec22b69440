#include "cli/kfctl/applications.h"

#include <array>

namespace hekla::cli {
namespace {

constexpr std::string_view kRoutes = "/apis/networking.istio.io/v1beta1/virtualservices?limit=1",
                           kCertificates = "/apis/cert-manager.io/v1/certificates?limit=1",
                           kProfiles = "/apis/kubeflow.org/v1/profiles?limit=1",
                           kPipelines = "/api/v1/namespaces/kubeflow/services/ml-pipeline";

constexpr std::array<KfApplication, 44> kApplications{{
    {"istio-crds", kRoutes},
    {"istio-install", kRoutes},
    {"cluster-local-gateway", kRoutes},
    {"kfserving-gateway", kRoutes},
    {"istio", kRoutes},
    {"add-anonymous-user-filter", kRoutes},
    {"application-crds", "/apis/app.k8s.io/v1beta1/applications?limit=1"},
    {"application", ""},
    {"cert-manager-crds", kCertificates},
    {"cert-manager-kube-system-resources", kCertificates},
    {"cert-manager", kCertificates},
    {"metacontroller", "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers?limit=1"},
    {"argo", "/apis/argoproj.io/v1alpha1/workflows?limit=1"},
    {"kubeflow-roles", kProfiles},
    {"centraldashboard", kProfiles},
    {"bootstrap", "/apis/kubeflow.org/v1alpha1/poddefaults?limit=1"},
    {"webhook", "/apis/kubeflow.org/v1alpha1/poddefaults?limit=1"},
    {"jupyter-web-app", "/apis/kubeflow.org/v1/notebooks?limit=1"},
    {"spark-operator", ""},
    {"metadata", ""},
    {"notebook-controller", "/apis/kubeflow.org/v1/notebooks?limit=1"},
    {"pytorch-job-crds", "/apis/kubeflow.org/v1/pytorchjobs?limit=1"},
    {"pytorch-operator", "/apis/kubeflow.org/v1/pytorchjobs?limit=1"},
    {"knative-crds", "/apis/serving.knative.dev/v1/services?limit=1"},
    {"knative-install", ""},
    {"kfserving-crds", "/apis/serving.kserve.io/v1beta1/inferenceservices?limit=1"},
    {"kfserving-install", ""},
    {"spartakus", ""},
    {"tensorboard", "/apis/tensorboard.kubeflow.org/v1alpha1/tensorboards?limit=1"},
    {"tf-job-crds", "/apis/kubeflow.org/v1/tfjobs?limit=1"},
    {"tf-job-operator", "/apis/kubeflow.org/v1/tfjobs?limit=1"},
    {"katib-crds", "/apis/kubeflow.org/v1beta1/experiments?limit=1"},
    {"katib-controller", ""},
    {"api-service", kPipelines},
    {"minio", "/api/v1/namespaces/kubeflow/services/minio-service"},
    {"mysql", kPipelines},
    {"persistent-agent", kPipelines},
    {"pipelines-runner", kPipelines},
    {"pipelines-ui", kPipelines},
    {"pipelines-viewer", "/apis/kubeflow.org/v1beta1/viewers?limit=1"},
    {"scheduledworkflow", kPipelines},
    {"pipeline-visualization-service", ""},
    {"profiles", kProfiles},
    {"seldon-core-operator", ""},
}};

}  // namespace

std::span<const KfApplication> kf_applications() { return kApplications; }

}  // namespace hekla::cli
