// hekla etcd: answers /health where a test environment insists on starting an etcd beside the API
// server. Hekla's own store needs none, and this one stores nothing.
#include <memory>

#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct EtcdOptions {
  std::string url = "http://127.0.0.1:2379", unused;
  bool unsafe = false;
};

std::vector<Command> etcd_commands(const Context& context) {
  auto options = std::make_shared<EtcdOptions>();
  Command command{
      .name = "etcd",
      .summary = "answer health checks in place of an etcd, which hekla apiserver does not need",
      .flags = {Flag("--listen-client-urls", options->url, "http://ADDR:PORT to answer at")},
      .run = [&context, options] { return context.etcd(options->url); },
  };
  for (const char* flag : {"--advertise-client-urls", "--listen-peer-urls", "--data-dir"})
    command.flags.emplace_back(flag, options->unused, "accepted and not used");
  command.flags.emplace_back("--unsafe-no-fsync", options->unsafe, "accepted and not used");
  return {std::move(command)};
}

}  // namespace

extern const Verb verb_etcd;
const Verb verb_etcd{"etcd", etcd_commands};

}  // namespace hekla::cli
