// Credential plugins of a kubeconfig (users[].user.exec): a program that prints an ExecCredential.
// EKS, GKE and AKS hand out their tokens that way.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "net/client.h"

namespace hekla::kube {

struct ExecPlugin {
  std::string api_version;  // client.authentication.k8s.io/v1 or v1beta1
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE
  std::string install_hint;
  std::optional<json::Value> cluster;  // spec.cluster, for a plugin that wants to know it
};

// Checks the section; `directory` is where a relative command is looked for. Errors name the field.
Result<ExecPlugin> read_exec_plugin(const json::Value& exec, const std::string& directory);

// Credentials that a plugin printed, until it expires or the server refuses it. Thread-safe.
class ExecCredentials final : public net::CredentialSource {
 public:
  ExecCredentials(ExecPlugin plugin, const Clock& clock)
      : plugin_(std::move(plugin)), clock_(clock) {}
  // Runs the plugin unless what it said last is still good.
  Result<void> refresh();
  net::Credential current() override;
  void refused() override;

 private:
  Result<void> refresh_locked();

  const ExecPlugin plugin_;
  const Clock& clock_;
  std::mutex mutex_;
  std::optional<net::Credential> known_;
  std::optional<WallTime> expires_;
  MonoTime fetched_{};
};

}  // namespace hekla::kube
