#include "apiserver/api_server.h"

#include "apiserver/auth/local_authorizer.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/connect/proxy.h"
#include "apiserver/crd/conversion.h"
#include "apiserver/crd/crds.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/published_schema.h"
#include "apiserver/gates/builtin_steps.h"
#include "apiserver/gates/certificates.h"
#include "apiserver/gates/chain.h"
#include "apiserver/gates/limit_ranges.h"
#include "apiserver/gates/pod_security_step.h"
#include "apiserver/gates/policies.h"
#include "apiserver/gates/service_account.h"
#include "apiserver/gates/storage_classes.h"
#include "apiserver/gates/webhook_configurations.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/kinds/beta_kinds.h"
#include "apiserver/object/object_header.h"
#include "apiserver/read/reads.h"
#include "apiserver/request/flow_limits.h"
#include "apiserver/request/http_watch.h"
#include "apiserver/server/aggregator.h"
#include "apiserver/server/api_service_rule.h"
#include "apiserver/server/backup.h"
#include "apiserver/server/bootstrap.h"
#include "apiserver/server/crd_cleanup.h"
#include "apiserver/server/dispatch.h"
#include "apiserver/server/flow_schema_rule.h"
#include "apiserver/server/local_client.h"
#include "apiserver/server/policy_types.h"
#include "apiserver/server/server_address.h"
#include "apiserver/write/service_addresses.h"
#include "apiserver/write/writes.h"
#include "base/check.h"
#include "base/log.h"

namespace hekla::apiserver {

namespace {

bool is_disabled(const std::vector<std::string>& disabled, std::string_view step) {
  return std::find(disabled.begin(), disabled.end(), step) != disabled.end();
}

AdmissionChain make_chain(const RequestAuthorizer& authorizer, const Tokens& tokens,
                          const Crds& crds, Options& options) {
  std::vector<kube::AdmissionStep> steps = builtin_admission();
  steps.push_back(platform_crd_admission(crds.platform()));
  for (kube::AdmissionStep& step : service_account_admission(tokens, *options.rng))
    steps.push_back(std::move(step));
  for (kube::AdmissionStep& step : storage_admission()) steps.push_back(std::move(step));
  for (kube::AdmissionStep& step : rbac_admission(authorizer)) steps.push_back(std::move(step));
  for (kube::AdmissionStep& step : certificate_admission(authorizer))
    steps.push_back(std::move(step));
  steps.push_back(pod_security_admission(options.pod_security_default, options.in_process_mark));
  if (!options.host_paths.hidden.empty()) steps.push_back(host_path_admission(options.host_paths));
  for (kube::AdmissionStep& step : options.admission) steps.push_back(std::move(step));
  // After everything that may still change what a pod asks for.
  for (kube::AdmissionStep& step : limit_admission()) steps.push_back(std::move(step));
  std::erase_if(steps, [&](const kube::AdmissionStep& step) {
    return is_disabled(options.disabled_admission, step.name);
  });
  return AdmissionChain(std::move(steps));
}

std::unique_ptr<RequestAuthorizer> make_authorizer(const Options& options,
                                                   const Registry& registry) {
  if (options.auth.allow_everything) return std::make_unique<OpenAuthorizer>();
  return std::make_unique<RbacAuthorizer>(*options.store, registry);
}

}  // namespace

struct ApiServer::Parts {
  Options options;
  std::unique_ptr<ServiceAddresses> addresses;
  ConnectionExecutors executors;
  Registry registry;
  std::unique_ptr<RequestAuthorizer> authorizer;
  LocalAuthorizer local_authorizer;
  Tokens tokens;
  Crds crds;
  AdmissionChain admission;
  Serving serving;
  std::unique_ptr<WebhookTransport> webhooks =
      make_webhook_transport(sockets_of(serving.pod_streams), options.own_ranges);
  WebhookConfigurations webhook_configurations;
  AdmissionPolicies admission_policies;
  Conversions conversions;
  Writes writes;
  Authenticator authenticator;
  DiscoveryHandler discovery;
  PublishedSchema schema;
  HttpWatches watches;
  CrdCleanup cleanup;
  Backups backups;
  SelfReconciler flows, api_services, server_address, policies, returning;
  Aggregator aggregator;
  std::vector<json::Value> platform_crds;  // until bootstrap() installs them

  Parts(Options given, std::unique_ptr<ServiceAddresses> ranges)
      : options(std::move(given)),
        addresses(std::move(ranges)),
        executors(*options.loop),
        registry(*options.store, options.beta_kinds ? kinds_with_betas() : builtin_kinds(),
                 options.node_reports),
        authorizer(make_authorizer(options, registry)),
        local_authorizer(*authorizer),
        tokens(options.auth, *options.clock, *options.rng),
        crds(*options.store, registry),
        admission(make_chain(*authorizer, tokens, crds, options)),
        conversions(*options.store, registry, webhooks.get(), *options.rng),
        writes(
            *options.store, registry,
            WriteServices{options.clock, options.rng, &admission, addresses.get(), webhooks.get(),
                          &webhook_configurations, &admission_policies, &conversions,
                          !is_disabled(options.disabled_admission, "ResourceQuota"),
                          authorizer.get(), &crds.platform(), &options.answered_here},
            &crds),
        authenticator(tokens, *options.store, registry),
        discovery(registry,
                  options.advertise_address + ":" + std::to_string(options.advertise_port)),
        schema(registry),
        watches(*options.store, registry, executors, *options.rng),
        cleanup(*options.store, registry, crds, writes, *options.loop),
        backups(*options.store, crds),
        flows(*options.store, registry, writes, *options.loop, flow_schema_rule()),
        api_services(*options.store, registry, writes, *options.loop, api_service_rule()),
        server_address(*options.store, registry, writes, *options.loop,
                       server_address_rule(bootstrap_options())),
        policies(*options.store, registry, writes, *options.loop, policy_types_rule()),
        returning(*options.store, registry, writes, *options.loop,
                  returning_rule(crds.platform(), returning_objects(), options.adorn_crd)),
        aggregator(*options.store, registry, writes, *options.loop, aggregator_options()) {
    serving.store = options.store;
    serving.registry = &registry;
    serving.writes = &writes;
    serving.watches = &watches;
    serving.authenticator = &authenticator;
    serving.authorizer = authorizer.get();
    serving.tokens = &tokens;
    serving.discovery = &discovery;
    serving.schema = &schema;
    serving.backups = &backups;
    serving.conversions = &conversions;
    serving.components = options.components;
    FlowOptions flow;
    if (options.max_requests > 0) flow.requests = flow.requests_per_flow = options.max_requests;
    serving.limits = std::make_shared<FlowLimits>(flow, *options.clock);
    serving.executors = &executors;
    serving.loop = options.loop;
    serving.clock = options.clock;
    serving.rng = options.rng;
    serving.metrics = options.metrics;
    serving.pod_streams = options.pod_streams;
    serving.proxies = std::make_shared<ProxyClients>(options.own_ranges);
    crds.on_terminating([this] { cleanup.kick(); });
  }

  // Whether the process does what is a controller manager's business elsewhere.
  bool manages_controllers() const {
    return std::find(options.components.begin(), options.components.end(), "controller-manager") !=
           options.components.end();
  }
  std::vector<json::Value> returning_objects() const {
    std::vector<json::Value> objects = options.returning_objects;
    if (!options.platform_objects) return objects;
    for (json::Value& object : platform_objects()) objects.push_back(std::move(object));
    for (json::Value& role : platform_roles()) objects.push_back(std::move(role));
    return objects;
  }
  BootstrapOptions bootstrap_options() const {
    return {options.service_cidr, addresses->first(), options.advertise_address,
            options.advertise_port, options.platform_objects};
  }
  AggregatorOptions aggregator_options() const {
    AggregatorOptions how{options.front_proxy, options.client_ca_pem,
                          sockets_of(serving.pod_streams), options.own_ranges};
    if (options.remote_clients) how.make_client = options.remote_clients;
    return how;
  }
};

ApiServer::ApiServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::create(Options options) {
  CHECK(options.store && options.loop && options.clock && options.rng, "an option is missing");
  std::unique_ptr<ServiceAddresses> addresses = TRY(ServiceAddresses::make(options.service_cidr));
  auto parts = std::make_unique<Parts>(std::move(options), std::move(addresses));
  parts->platform_crds = TRY(parse_crds(parts->options.crd_yamls));
  if (parts->options.adorn_crd)
    for (json::Value& crd : parts->platform_crds) parts->options.adorn_crd(crd);
  PlatformCrds platform =
      TRY(PlatformCrds::of(parts->options.crd_yamls, parts->options.conversions));
  TRY(platform.add_open(parts->options.open_kind_yamls));
  parts->crds.set_platform(std::move(platform));
  parts->crds.refresh();
  if (!parts->options.audit.log_path.empty())
    parts->serving.audit = TRY(AuditLog::open(parts->options.audit, *parts->options.clock));
  struct Maker : ApiServer {
    explicit Maker(std::unique_ptr<Parts> p) : ApiServer(std::move(p)) {}
  };
  return std::make_unique<Maker>(std::move(parts));
}

net::Handler ApiServer::handler() {
  return [serving = &parts_->serving](net::Request request,
                                      std::shared_ptr<net::ResponseWriter> writer) {
    handle_request(*serving, std::move(request), std::move(writer));
  };
}

std::unique_ptr<kube::Client> ApiServer::client(Executor& executor, kube::Identity identity) {
  return std::make_unique<LocalClient>(*parts_->options.store, parts_->registry, parts_->writes,
                                       parts_->serving.pod_streams, executor, std::move(identity));
}

kube::Discovery& ApiServer::discovery() { return parts_->registry; }

kube::Authorizer& ApiServer::authorizer() { return parts_->local_authorizer; }

Result<kube::User> ApiServer::user_of_token(std::string_view token,
                                            const std::vector<std::string>& audiences) const {
  Result<kube::User> user = parts_->authenticator.authenticate_token(token);
  if (!user && !audiences.empty())
    return parts_->authenticator.authenticate_token(token, audiences);
  return user;
}

void ApiServer::set_webhook_transport(WebhookTransport* transport) {
  parts_->writes.set_webhook_transport(transport);
  parts_->conversions.set_transport(transport);
}

void ApiServer::set_pod_streams(kube::PodStreams* streams) {
  parts_->serving.pod_streams = streams;
}

Result<std::string> ApiServer::pod_token(TokenSubject pod, const std::string& audience,
                                         std::int64_t seconds) const {
  const CatalogPtr catalog = parts_->registry.catalog();
  ServedPtr accounts = catalog->find("", "v1", "serviceaccounts");
  store::ItemPtr account = TRY(get_object(*parts_->options.store, *accounts, {pod.ns, pod.name}));
  pod.uid = header_of(*account).uid;
  add_node(*parts_->options.store, *catalog, pod);
  std::vector<std::string> audiences;
  if (!audience.empty()) audiences.push_back(audience);
  return parts_->tokens.issue(pod, audiences, seconds);
}

void ApiServer::bootstrap(std::move_only_function<void(Result<void>)> done) {
  install_objects(*parts_->options.store, parts_->registry, parts_->writes, *parts_->options.loop,
                  bootstrap_objects(parts_->bootstrap_options()), std::move(parts_->platform_crds),
                  [this, done = std::move(done)](Result<void> result) mutable {
                    parts_->flows.start();
                    parts_->api_services.start();
                    parts_->server_address.start();
                    if (parts_->manages_controllers()) parts_->policies.start();
                    parts_->aggregator.start();
                    parts_->returning.start();
                    done(std::move(result));
                  });
}

}  // namespace hekla::apiserver
