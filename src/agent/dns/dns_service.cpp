#include "agent/dns/dns_service.h"

namespace hekla::agent {
namespace {

constexpr const char *kNamespace = "kube-system", *kName = "kube-dns";
constexpr std::uint32_t kTenth = 10;
constexpr int kPort = 53;

json::Object port(const char* name, const char* protocol) {
  return json::Object{{"name", name}, {"protocol", protocol}, {"port", kPort}};
}

json::Object metadata() {
  return json::Object{
      {"name", kName},
      {"namespace", kNamespace},
      {"labels", json::Object{{"k8s-app", "kube-dns"}, {"kubernetes.io/name", "CoreDNS"}}}};
}

kube::Write create(const kube::Resource& resource, json::Object object) {
  object["apiVersion"] = "v1";
  object["kind"] = resource.kind;
  object["metadata"] = metadata();
  kube::Write write;
  write.resource = resource;
  write.key = {kNamespace, kName};
  write.body = std::move(object);
  return write;
}

}  // namespace

std::vector<kube::Write> dns_service_writes(const Subnet& services, const std::string& address,
                                            bool known) {
  const json::Array ports{json::Value(port("dns", "UDP")), json::Value(port("dns-tcp", "TCP"))};
  json::Object spec{
      {"clusterIP", ipv4_text(services.base + kTenth)}, {"ports", ports}, {"type", "ClusterIP"}};
  json::Object subset{{"addresses", json::Array{json::Value(json::Object{{"ip", address}})}},
                      {"ports", ports}};
  const json::Object subsets{{"subsets", json::Array{json::Value(std::move(subset))}}};
  std::vector<kube::Write> writes;
  // A second one would be told that the address is taken.
  if (!known)
    writes.push_back(create(kube::resources::services, json::Object{{"spec", std::move(spec)}}));
  writes.push_back(create(kube::resources::endpoints, subsets));
  // The endpoints of an earlier start may lead elsewhere.
  kube::Write patch;
  patch.verb = kube::Write::Verb::patch;
  patch.resource = kube::resources::endpoints;
  patch.key = {kNamespace, kName};
  patch.body = subsets;
  writes.push_back(std::move(patch));
  return writes;
}

}  // namespace hekla::agent
