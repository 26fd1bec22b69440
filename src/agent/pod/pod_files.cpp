#include "agent/pod/pod_files.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace hekla::agent {
namespace {

constexpr std::size_t kHostnameLimit = 63, kKernelHostnameLimit = 64;

struct Resolver {
  std::vector<std::string> nameservers, searches, options;
};

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

Resolver parse_resolv_conf(const std::string& text) {
  Resolver out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, word;
    words >> kind;
    while (words >> word) {
      if (kind == "nameserver") out.nameservers.push_back(word);
      if (kind == "search" || kind == "domain") out.searches.push_back(word);
      if (kind == "options") out.options.push_back(word);
    }
  }
  return out;
}

void apply_dns_config(const json::Value& config, Resolver& out) {
  auto strings = [&](const char* member, std::vector<std::string>& list) {
    if (const json::Array* items = json::array_at(config, {member}))
      for (const json::Value& item : *items)
        if (item.is_string()) add_once(list, std::string(json::sv(item.get_string())));
  };
  strings("nameservers", out.nameservers);
  strings("searches", out.searches);
  const json::Array* options = json::array_at(config, {"options"});
  if (!options) return;
  for (const json::Value& option : *options) {
    std::string name(json::string_at(option, {"name"}));
    std::string value(json::string_at(option, {"value"}));
    // An option of the same name replaces the default one.
    std::erase_if(out.options, [&](const std::string& old) {
      return old == name || old.starts_with(name + ":");
    });
    out.options.push_back(value.empty() ? name : name + ":" + value);
  }
}

std::string format(const Resolver& resolver) {
  std::string out;
  auto line = [&](const char* kind, const std::vector<std::string>& words) {
    if (words.empty()) return;
    out += kind;
    for (const std::string& word : words) out += " " + word;
    out += "\n";
  };
  line("search", resolver.searches);
  for (const std::string& server : resolver.nameservers) out += "nameserver " + server + "\n";
  line("options", resolver.options);
  return out;
}

std::string resolv_conf(const model::Pod& pod, const PodFilesInput& input) {
  const std::string& policy = pod.spec.dnsPolicy;
  Resolver resolver;
  // Neither the cluster's names are answered on the host's network, nor do the addresses lead
  // anywhere from there.
  const bool cluster =
      policy.empty() || policy == "ClusterFirst" || policy == "ClusterFirstWithHostNet";
  if (cluster && !pod.spec.hostNetwork) {
    resolver.nameservers = {input.dns_address};
    resolver.searches = {pod.metadata.ns + ".svc." + input.cluster_domain,
                         "svc." + input.cluster_domain, input.cluster_domain};
    resolver.options = {"ndots:5"};
  } else if (policy != "None") {
    resolver = parse_resolv_conf(input.host_resolv_conf);
  }
  apply_dns_config(pod.spec.dnsConfig, resolver);
  return format(resolver);
}

std::string hosts(const model::Pod& pod, const PodFilesInput& input, const std::string& hostname) {
  std::string out;
  if (pod.spec.hostNetwork) {
    out = "# Kubernetes-managed hosts file (host network).\n" + input.host_hosts;
  } else {
    out =
        "# Kubernetes-managed hosts file.\n"
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n";
    if (!pod.spec.subdomain.empty())
      out += input.pod_ip + "\t" + hostname + "." + pod.spec.subdomain + "." + pod.metadata.ns +
             ".svc." + input.cluster_domain + "\t" + hostname + "\n";
    else
      out += input.pod_ip + "\t" + hostname + "\n";
  }
  if (pod.spec.hostAliases.empty()) return out;
  out += "\n# Entries added by HostAliases.\n";
  for (const json::Value& alias : pod.spec.hostAliases) {
    out += std::string(json::string_at(alias, {"ip"}));
    if (const json::Array* names = json::array_at(alias, {"hostnames"}))
      for (const json::Value& name : *names)
        if (name.is_string()) out += "\t" + std::string(json::sv(name.get_string()));
    out += "\n";
  }
  return out;
}

}  // namespace

std::string pod_hostname(const model::Pod& pod, const std::string& node_name) {
  if (pod.spec.hostNetwork) return node_name;
  if (!pod.spec.hostname.empty()) return pod.spec.hostname;
  std::string name = pod.metadata.name.substr(0, kHostnameLimit);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name;
}

Result<std::string> kernel_hostname(const model::Pod& pod, const std::string& node_name,
                                    const std::string& cluster_domain, bool fqdn) {
  std::string name = pod_hostname(pod, node_name);
  if (!fqdn || pod.spec.subdomain.empty() || pod.spec.hostNetwork) return name;
  name += "." + pod.spec.subdomain + "." + pod.metadata.ns + ".svc." + cluster_domain;
  if (name.size() > kKernelHostnameLimit)
    return fail(Code::invalid,
                "failed to construct FQDN from pod hostname and cluster domain, FQDN " + name +
                    " is too long (64 characters is the max, " + std::to_string(name.size()) +
                    " characters requested)");
  return name;
}

PodFiles pod_files(const model::Pod& pod, const PodFilesInput& input) {
  const std::string hostname = pod_hostname(pod, input.node_name);
  const std::string& kernel = input.kernel_hostname.empty() ? hostname : input.kernel_hostname;
  return PodFiles{hosts(pod, input, hostname), kernel + "\n", resolv_conf(pod, input)};
}

}  // namespace hekla::agent
