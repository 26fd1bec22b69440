#include "controllers/volcano/commands.h"

namespace hekla::controllers {

CommandBus::CommandBus(Caches& caches)
    : caches_(caches),
      loop_(caches.set, {.name = "command-bus"},
            [this](const kube::Key& key, WallTime) { return reconcile(key); }) {
  caches_.commands.on_change([this](const auto& before, const auto& after) {
    if (!before && after) loop_.add(kube::Key{after->metadata.ns, after->metadata.name});
  });
}

void CommandBus::on_command(const std::string& target_kind, Handler handler) {
  handlers_[target_kind] = std::move(handler);
}

kube::Round CommandBus::reconcile(const kube::Key& key) {
  kube::Round round;
  auto command = caches_.commands.get(key);
  if (!command || command->metadata.deletionTimestamp) return round;
  auto handler = handlers_.find(command->target.kind);
  if (handler == handlers_.end()) return round;
  round.writes.push_back(remove(kube::resources::commands, key, command->metadata.uid));
  // Whoever finds the command gone leaves it to the one who removed it.
  round.settle = [command, act = handler->second](
                     const std::vector<kube::WriteResult>& results) -> Result<void> {
    if (results.front())
      act(*command);
    else if (results.front().error().code != Code::not_found)
      return std::unexpected(results.front().error());
    return {};
  };
  return round;
}

}  // namespace hekla::controllers
