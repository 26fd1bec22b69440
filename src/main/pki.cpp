#include "main/pki.h"

#include <unistd.h>

#include <filesystem>

#include "base/disk.h"
#include "base/log.h"
#include "main/server_names.h"

namespace hekla {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

Result<void> save(const std::string& dir, const std::string& name, const KeyPair& pair) {
  TRY(write_file_atomically(dir + "/" + name + ".key", pair.key_pem, 0600));
  TRY(write_file_atomically(dir + "/" + name + ".crt", pair.certificate_pem, 0644));
  return {};
}

// A pair that is there is used; half of one is a damaged directory and not silently replaced.
template <class Make>
Result<KeyPair> load_or_make(const std::string& dir, const std::string& name, Make make) {
  Result<std::string> certificate = read_file(dir + "/" + name + ".crt");
  Result<std::string> key = read_file(dir + "/" + name + ".key");
  if (certificate && key) return KeyPair{*certificate, *key};
  for (const auto* part : {&certificate, &key})
    if (!*part && part->error().code != Code::not_found) return std::unexpected(part->error());
  if (certificate && !key)
    return fail(Code::internal, dir + "/" + name + ".key is missing beside its certificate");
  KeyPair made = TRY(make());
  TRY(save(dir, name, made));
  return made;
}

Result<std::vector<std::string>> old_token_keys(const std::string& dir) {
  std::vector<std::string> keys;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename();
    const bool key = name.starts_with("service-account") && name != "service-account.key" &&
                     (name.ends_with(".key") || name.ends_with(".pub"));
    if (!key) continue;
    keys.push_back(TRY(read_file(entry.path())));
  }
  if (error) return fail(Code::internal, "read " + dir + ": " + error.message());
  return keys;
}

}  // namespace

Result<Pki> load_or_make_pki(const std::string& data_dir, const std::vector<std::string>& names,
                             const Clock& clock) {
  std::string dir = data_dir + "/pki";
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (!error) std::filesystem::permissions(dir, std::filesystem::perms::owner_all, error);
  if (error) return fail(Code::internal, "create " + dir + ": " + error.message());

  Pki pki;
  pki.ca = TRY(load_or_make(dir, "ca", [&] { return make_ca("hekla-ca", clock); }));
  pki.admin = TRY(load_or_make(dir, "admin", [&] {
    CertificateRequest request;
    request.common_name = "kubernetes-admin";
    request.organizations = {"system:masters"};
    request.for_client = true;
    return make_certificate(pki.ca, request, clock);
  }));
  pki.front_proxy_ca =
      TRY(load_or_make(dir, "front-proxy-ca", [&] { return make_ca("front-proxy-ca", clock); }));
  pki.front_proxy = TRY(load_or_make(dir, "front-proxy-client", [&] {
    CertificateRequest request;
    request.common_name = "front-proxy-client";
    request.for_client = true;
    return make_certificate(pki.front_proxy_ca, request, clock);
  }));
  CertificateRequest server;
  server.common_name = "kube-apiserver";
  server.for_server = true;
  server.dns_names = {"kubernetes",
                      "kubernetes.default",
                      "kubernetes.default.svc",
                      "kubernetes.default.svc.cluster.local",
                      "localhost",
                      host_name()};
  for (const std::string& name : names)
    (is_ip_address(name) ? server.ip_addresses : server.dns_names).push_back(name);
  pki.server = TRY(make_certificate(pki.ca, server, clock));
  TRY(save(dir, "server", pki.server));

  std::string token_path = dir + "/service-account.key";
  if (Result<std::string> key = read_file(token_path)) {
    pki.token_key = *key;
  } else {
    pki.token_key = TRY(make_signing_key());
    TRY(write_file_atomically(token_path, pki.token_key, 0600));
  }
  pki.old_token_keys = TRY(old_token_keys(dir));
  log_info("admission-init", "certificates are ready", {{"directory", dir}});
  return pki;
}

}  // namespace hekla
