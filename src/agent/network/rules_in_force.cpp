#include "agent/network/rules_in_force.h"

#include "base/check.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kRulesRetry{5};

}  // namespace

RulesInForce::RulesInForce(Executor& executor, Options options)
    : executor_(executor), options_(std::move(options)), in_force_(options_.initially) {}

void RulesInForce::changed() {
  if (in_flight_ || std::exchange(pending_, true)) return;
  executor_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) publish();
  });
}

void RulesInForce::when_in_force(Done<void> done) {
  waiting_.push_back(std::move(done));
  changed();
}

void RulesInForce::publish() {
  CHECK(!in_flight_, "rules are set one after the other");
  pending_ = false;
  std::optional<std::string> rules = options_.make();
  if (!rules) return;
  pledged_ = std::exchange(waiting_, {});
  if (*rules == in_force_) return tell({});
  in_flight_ = true;
  options_.set(*rules, [this, rules = *rules,
                        alive = std::weak_ptr<bool>(alive_)](const Result<void>& result) {
    if (alive.lock()) was_set(rules, result);
  });
}

void RulesInForce::tell(const Result<void>& result) {
  for (Done<void>& done : std::exchange(pledged_, {})) done(result);
}

void RulesInForce::was_set(const std::string& rules, const Result<void>& result) {
  CHECK(in_flight_, "rules that were set were being set");
  in_flight_ = false;
  if (result) {
    in_force_ = rules;
    failing_ = false;
    changed();  // what came in between
    return tell(result);
  }
  if (!std::exchange(failing_, true))
    log_error("agent", options_.when_failing, {{"error", result.error().message}});
  executor_.post_after(kRulesRetry, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) changed();
  });
  tell(result);
}

}  // namespace hekla::agent
