// hekla etcd: answers /health where a test environment insists on starting an etcd beside the API
// server. Hekla's own store needs none, and this one stores nothing.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/verb.h"

namespace hekla::cli {
namespace {

void declare(CLI::App& app, Context& context) {
  auto url = std::make_shared<std::string>("http://127.0.0.1:2379");
  auto unused = std::make_shared<std::string>();
  auto unsafe = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "etcd", "answer health checks in place of an etcd, which hekla apiserver does not need");
  command->add_option("--listen-client-urls", *url, "http://ADDR:PORT to answer at")
      ->capture_default_str();
  for (const char* flag : {"--advertise-client-urls", "--listen-peer-urls", "--data-dir"})
    command->add_option(flag, *unused, "accepted and not used");
  command->add_flag("--unsafe-no-fsync", *unsafe, "accepted and not used");
  command->callback([&context, url, unused, unsafe] { context.exit_code = context.etcd(*url); });
}

}  // namespace

extern const Verb verb_etcd;
const Verb verb_etcd{"etcd", declare};

}  // namespace hekla::cli
