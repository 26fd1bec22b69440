#include "controllers/certificates/unobeyed.h"

#include <array>
#include <string_view>

#include "framework/condition.h"

namespace hekla::controllers::certificates {
namespace {

using framework::AnyObject;
using framework::Outcome;
using framework::View;

struct Unobeyed {
  std::string_view group, version, plural, kind;
  std::string_view condition, reason, message;
};

constexpr std::string_view kIstio = "networking.istio.io";
constexpr std::string_view kMesh =
    "there is no mesh in Hekla: the object is stored and changes nothing";
constexpr std::string_view kRequests = "Hekla signs for Certificate objects, not for requests";
constexpr std::string_view kKnative =
    "Knative's own services do not run in Hekla; a Deployment and a Service do";

constexpr std::array<Unobeyed, 10> kUnobeyed{{
    {"cert-manager.io", "v1", "certificaterequests", "CertificateRequest", "Ready", "NotSupported",
     kRequests},
    {kIstio, "v1beta1", "destinationrules", "DestinationRule", "Reconciled", "NotApplied", kMesh},
    {kIstio, "v1alpha3", "envoyfilters", "EnvoyFilter", "Reconciled", "NotApplied", kMesh},
    {kIstio, "v1beta1", "serviceentries", "ServiceEntry", "Reconciled", "NotApplied", kMesh},
    {kIstio, "v1beta1", "sidecars", "Sidecar", "Reconciled", "NotApplied", kMesh},
    {"security.istio.io", "v1beta1", "peerauthentications", "PeerAuthentication", "Reconciled",
     "NotApplied", kMesh},
    {"telemetry.istio.io", "v1alpha1", "telemetries", "Telemetry", "Reconciled", "NotApplied",
     kMesh},
    {"extensions.istio.io", "v1alpha1", "wasmplugins", "WasmPlugin", "Reconciled", "NotApplied",
     kMesh},
    {"serving.knative.dev", "v1", "services", "Service", "Ready", "NotSupported", kKnative},
    {"serving.knative.dev", "v1", "configurations", "Configuration", "Ready", "NotSupported",
     kKnative},
}};

Result<Outcome> say_so(const Unobeyed& kind, const AnyObject& object, const View& view) {
  framework::Conditions conditions(object.status, framework::kPlainConditions, view.now());
  conditions.set(
      {std::string(kind.condition), "False", std::string(kind.reason), std::string(kind.message)});
  json::Object status = object.status.is_object() ? object.status.get_object() : json::Object();
  status["conditions"] = conditions.list();
  Outcome outcome;
  outcome.status = std::move(status);
  return outcome;
}

}  // namespace

std::vector<framework::KindDescription> unobeyed_descriptions() {
  std::vector<framework::KindDescription> all;
  for (const Unobeyed& one : kUnobeyed) {
    framework::KindDescription kind;
    kind.name = "stored-" + std::string(one.plural);
    kind.resource = {std::string(one.group), std::string(one.version), std::string(one.plural),
                     std::string(one.kind)};
    kind.optional = true;
    kind.reconcile = [&one](const AnyObject& object, const View& view) {
      return say_so(one, object, view);
    };
    all.push_back(std::move(kind));
  }
  return all;
}

}  // namespace hekla::controllers::certificates
