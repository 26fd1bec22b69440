// Hekla's Kubernetes API server, as main sees it: a handler for HTTP, clients for the components in
// this process, and the objects every cluster begins with. Other modules include this header alone;
// options of its parts, attach_header and pod_template_errors come with it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/auth.h"
#include "apiserver/auth/front_proxy.h"
#include "apiserver/gates/host_path.h"
#include "apiserver/gates/pod_security.h"
#include "apiserver/kinds/attach_header.h"
#include "apiserver/kinds/pod/pod_template.h"
#include "apiserver/request/audit.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/executor.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/rng.h"
#include "kube/admission.h"
#include "kube/authorizer.h"
#include "kube/client.h"
#include "kube/conversion.h"
#include "kube/pod_streams.h"
#include "net/client.h"
#include "net/http.h"
#include "net/own_ranges.h"
#include "store/store.h"

namespace hekla::apiserver {

class WebhookTransport;

struct Options {
  // Opened with attach_header as its attacher. It, the loop and everything else given
  // by pointer outlives the server.
  store::Store* store = nullptr;
  // The server's own loop: answers of writes, watches, retries.
  Executor* loop = nullptr;
  const Clock* clock = nullptr;
  Rng* rng = nullptr;
  Metrics* metrics = nullptr;               // may be null
  kube::PodStreams* pod_streams = nullptr;  // may come later: set_pod_streams
  // A node agent will come: what only it knows is served (metrics.k8s.io, logs.hekla.io).
  bool node_reports = false;
  std::vector<std::string> components;  // of the process: controller-manager, scheduler
  // Run after the server's own steps, in this order.
  std::vector<kube::AdmissionStep> admission;
  // An annotation that only a step of `admission` sets, on pods that no container is run for.
  std::string in_process_mark;
  // Whether those steps answer in the place of this Service's webhooks: these are called only where
  // they have endpoints. May be empty.
  std::function<bool(std::string_view ns, std::string_view service)> answered_here;
  std::vector<std::string> disabled_admission;  // names of steps not to run
  PodSecurityLevel pod_security_default = PodSecurityLevel::privileged;
  HostPathOptions host_paths;
  net::OwnRanges own_ranges;  // of pods and services: no webhook's URL leads there
  AuthOptions auth;
  FrontProxy front_proxy;
  std::string client_ca_pem;  // who signs the certificates of users, for other API servers
  // Tests have clients of their own for other API servers; empty: over HTTPS.
  std::function<Result<std::unique_ptr<net::Client>>(net::ClientOptions)> remote_clients;
  std::size_t max_requests = 0;  // answered at the same time; 0: the usual
  AuditOptions audit;
  // False: only what kube-apiserver makes, without the namespaces and accounts of Volcano and
  // Kubeflow.
  bool platform_objects = true;
  // Versions of built-in kinds that Kubernetes has given up are served as well
  // (kinds/beta_kinds.h).
  bool beta_kinds = false;
  // Installed by bootstrap(): CRDs as YAML, one or more documents each.
  std::vector<std::string_view> crd_yamls;
  // Lists of kinds that are served with any content as long as nobody installs a CRD for them:
  // YAML, {name, kind, scope, versions} each, the first version is stored.
  std::vector<std::string_view> open_kind_yamls;
  // Adds to the metadata of those CRDs; may be empty.
  std::function<void(json::Value& crd)> adorn_crd;
  // Made again when somebody deletes them, as those CRDs and the platform's namespaces are.
  std::vector<json::Value> returning_objects;
  // For those of them whose versions differ in more than their names.
  std::span<const kube::Conversion> conversions;
  std::string service_cidr = "10.96.0.0/16";
  // Where clients reach the server, for discovery and the service default/kubernetes.
  std::string advertise_address = "127.0.0.1";
  std::uint16_t advertise_port = 6443;
};

// handler() and client() may be used from any thread. The server must outlive the clients it made
// and the net::Server it serves.
class ApiServer {
 public:
  static Result<std::unique_ptr<ApiServer>> create(Options options);
  ~ApiServer();

  net::Handler handler();
  // For a component of this process: may do everything, writes under the identity's name.
  std::unique_ptr<kube::Client> client(Executor& executor, kube::Identity identity);
  kube::Discovery& discovery();
  // The decision that requests get, for other parts of this process. Any thread may ask; the answer
  // comes at once.
  kube::Authorizer& authorizer();
  // The owner of a bearer token that is meant for this server or one of `audiences`. Thread-safe.
  Result<kube::User> user_of_token(std::string_view token,
                                   const std::vector<std::string>& audiences) const;
  // For tests: reviews go there instead of over HTTPS.
  void set_webhook_transport(WebhookTransport* transport);
  void set_pod_streams(kube::PodStreams* streams);
  // For the agent: a token of the pod's service account (ns, name), bound to the pod. Empty
  // `audience`: this server's. Thread-safe.
  Result<std::string> pod_token(TokenSubject pod, const std::string& audience,
                                std::int64_t seconds) const;

  // Makes what every cluster has (namespaces, priority classes, the service kubernetes) and
  // installs the CRDs; what is there already stays, a CRD of another text is replaced. `done` runs
  // on the loop.
  void bootstrap(std::move_only_function<void(Result<void>)> done);

 private:
  struct Parts;
  explicit ApiServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla::apiserver
