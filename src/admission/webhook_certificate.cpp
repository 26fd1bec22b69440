#include "admission/webhook_certificate.h"

#include <algorithm>
#include <utility>

#include "admission/conversion_review.h"
#include "base/bytes.h"
#include "base/certificate.h"
#include "base/log.h"
#include "json/parse.h"

namespace hekla::admission {
namespace {

constexpr Nanos kRetry = std::chrono::seconds(2);
constexpr Nanos kLookAgain = std::chrono::minutes(1);  // after the webhooks were registered
constexpr std::chrono::hours kCaMargin{24 * 365 * 2};

std::string field(const json::Value& secret, std::string_view name) {
  return base64_decode(json::string_at(secret, {"data", name})).value_or("");
}

CertificateData data_of(const json::Value& secret) {
  return {field(secret, "ca.crt"),
          field(secret, "ca.key"),
          {field(secret, "tls.crt"), field(secret, "tls.key")}};
}

json::Value secret_of(const CertificateData& data, const kube::Key& key, std::uint64_t revision) {
  json::Object metadata{{"name", key.name}, {"namespace", key.ns}};
  if (revision != 0) metadata["resourceVersion"] = std::to_string(revision);
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Secret"},
                      {"metadata", std::move(metadata)},
                      {"type", "kubernetes.io/tls"},
                      {"data", json::Object{{"ca.crt", base64_encode(data.ca_pem)},
                                            {"ca.key", base64_encode(data.ca_key_pem)},
                                            {"tls.crt", base64_encode(data.server.certificate_pem)},
                                            {"tls.key", base64_encode(data.server.key_pem)}}}};
}

// What is left of a certificate's time; nothing when it cannot be read.
Nanos time_left(const std::string& pem, const Clock& clock) {
  Result<WallTime> end = certificate_end(pem);
  return end ? *end - clock.wall() : Nanos(0);
}

std::string first_certificate(const std::string& bundle) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  std::size_t at = bundle.find(kEnd);
  return at == std::string::npos ? bundle : bundle.substr(0, at + kEnd.size());
}

}  // namespace

Result<CertificateData> current_certificate(const CertificateData& kept,
                                            const WebhookCertificateOptions& options,
                                            const Clock& clock) {
  CertificateData data = kept;
  bool new_ca = data.ca_key_pem.empty() || time_left(data.ca_pem, clock) < kCaMargin;
  if (!new_ca && time_left(data.server.certificate_pem, clock) > options.lifetime / 3) return data;
  if (new_ca) {
    KeyPair ca = TRY(make_ca("hekla-webhook-ca", clock));
    data.ca_pem = ca.certificate_pem + first_certificate(kept.ca_pem);
    data.ca_key_pem = ca.key_pem;
  }
  const std::string service = options.registration.service_name + "." + options.registration.ns;
  CertificateRequest request;
  request.common_name = service + ".svc";
  request.dns_names = {service + ".svc", service, service + ".svc.cluster.local", "localhost"};
  request.ip_addresses = options.ip_addresses;
  request.for_server = true;
  request.valid_for = options.lifetime;
  data.server =
      TRY(make_certificate({first_certificate(data.ca_pem), data.ca_key_pem}, request, clock));
  return data;
}

namespace {

const kube::Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole",
                                   false};

json::Value owner_reference(const kube::Object& role) {
  return json::Object{{"apiVersion", kClusterRoles.api_version()},
                      {"kind", kClusterRoles.kind},
                      {"name", role.name},
                      {"uid", role.uid}};
}

}  // namespace

struct WebhookCertificate::State : std::enable_shared_from_this<State> {
  kube::Client& client;
  WebhookCertificateOptions options;
  Serve serve;
  KeyPair served;
  std::string registered;  // the CA the webhooks were told

  State(kube::Client& c, WebhookCertificateOptions o, Serve s)
      : client(c), options(std::move(o)), serve(std::move(s)) {}

  void look() {
    if (options.given) return use(*options.given);
    client.get(kube::resources::secrets, options.secret,
               [weak = weak_from_this()](Result<kube::ObjectPtr> found) {
                 if (auto self = weak.lock()) self->looked(std::move(found));
               });
  }

  void looked(Result<kube::ObjectPtr> found) {
    if (!found && found.error().code != Code::not_found)
      return trouble("reading the certificate's secret failed", found.error());
    CertificateData kept;
    if (found)
      if (Result<json::Value> secret = json::parse(*(*found)->json)) kept = data_of(*secret);
    Result<CertificateData> data = current_certificate(kept, options, client.executor().clock());
    if (!data) return trouble("making a certificate failed", data.error());
    if (found && data->server.certificate_pem == kept.server.certificate_pem) return use(*data);
    kube::Write write;
    write.verb = found ? kube::Write::Verb::patch : kube::Write::Verb::create;
    write.resource = kube::resources::secrets;
    write.key = options.secret;
    write.body = secret_of(*data, options.secret, found ? (*found)->resource_version : 0);
    client.write(std::move(write), [weak = weak_from_this(), data = *data](kube::WriteResult done) {
      auto self = weak.lock();
      if (!self) return;
      // Another replica was faster: its certificate is as good.
      if (!done &&
          (done.error().code == Code::conflict || done.error().code == Code::already_exists))
        return self->look();
      if (!done) return self->trouble("keeping the certificate failed", done.error());
      self->use(data);
    });
  }

  void use(const CertificateData& data) {
    if (data.server.certificate_pem != served.certificate_pem) {
      if (Result<void> done = serve(data.server); !done)
        return trouble("serving failed", done.error());
      log_info("webhook", "serving a certificate",
               {{"secret", options.secret.ns + "/" + options.secret.name}});
    }
    served = data.server;
    if (options.owner.empty()) return register_webhooks(data.ca_pem, json::Array());
    client.get(kClusterRoles, {"", options.owner},
               [weak = weak_from_this(), ca = data.ca_pem](Result<kube::ObjectPtr> found) {
                 auto self = weak.lock();
                 if (!self) return;
                 if (!found)
                   return self->trouble("finding the webhooks' owner failed", found.error());
                 self->register_webhooks(ca, json::Array{owner_reference(**found)});
               });
  }

  void register_webhooks(const std::string& ca, const json::Array& owners) {
    Registration registration = options.registration;
    registration.ca_pem = ca;
    std::vector<kube::Write> writes;
    for (WebhookObject& object : webhook_configurations(options.steps, registration)) {
      kube::Write write;
      write.verb = kube::Write::Verb::patch;
      write.patch_type = kube::PatchType::apply;
      write.force = true;
      write.resource = object.resource;
      write.key = {"", std::string(json::string_at(object.body, {"metadata", "name"}))};
      if (!owners.empty()) json::at_path(object.body, {"metadata", "ownerReferences"}) = owners;
      write.body = std::move(object.body);
      writes.push_back(std::move(write));
    }
    client.batch(std::move(writes),
                 [weak = weak_from_this(), ca](const std::vector<kube::WriteResult>& results) {
                   auto self = weak.lock();
                   if (!self) return;
                   for (const kube::WriteResult& result : results)
                     if (!result)
                       return self->trouble("registering the webhooks failed", result.error());
                   self->settle(ca);
                 });
  }

  // Registrations that somebody removes come back: helm does so at the end of an upgrade from a
  // chart that had them as its own.
  void settle(const std::string& ca) {
    const bool known = std::exchange(registered, ca) == ca;
    if (!known) {
      log_info("webhook", "the webhooks are registered");
      register_conversions(ca);
    }
    again(known ? options.look_every : std::min(options.look_every, kLookAgain));
  }

  // CRDs of one version, and those that are not there, have nothing to convert.
  void register_conversions(const std::string& ca) {
    Registration registration = options.registration;
    registration.ca_pem = ca;
    for (const kube::Conversion& one : conversions_for(options.steps)) {
      const kube::Key key{"", std::string(one.crd)};
      client.get(kube::resources::custom_resource_definitions, key,
                 [weak = weak_from_this(), key, registration](Result<kube::ObjectPtr> found) {
                   auto self = weak.lock();
                   Result<json::Value> crd =
                       found ? json::parse(*(*found)->json) : std::unexpected(found.error());
                   if (!self || !crd || !has_versions(*crd)) return;
                   kube::Write write;
                   write.verb = kube::Write::Verb::patch;
                   write.resource = kube::resources::custom_resource_definitions;
                   write.key = key;
                   write.body = conversion_patch(registration);
                   self->client.write(std::move(write), [key](kube::WriteResult done) {
                     if (!done)
                       log_warn("webhook", "registering a conversion failed",
                                {{"crd", key.name}, {"error", done.error().message}});
                   });
                 });
    }
  }

  void trouble(const char* what, const Error& error) {
    log_warn("webhook", what, {{"error", error.message}});
    again(kRetry);
  }

  void again(Nanos delay) {
    client.executor().post_after(delay, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->look();
    });
  }
};

WebhookCertificate::WebhookCertificate(kube::Client& client, WebhookCertificateOptions options,
                                       Serve serve)
    : state_(std::make_shared<State>(client, std::move(options), std::move(serve))) {}

WebhookCertificate::~WebhookCertificate() = default;

void WebhookCertificate::start() { state_->look(); }

}  // namespace hekla::admission
