#include "apiserver/gates/webhook_configurations.h"

#include "apiserver/auth/policy_expression.h"
#include "apiserver/object/storage.h"

namespace hekla::apiserver {
namespace {

PolicyExpression read_condition(std::string text) {
  auto program = compile_admission_expression(text, {}, ExpressionResult::boolean);
  return {std::move(text), std::move(program)};
}

Webhook read_webhook(const json::Value& spec, std::string id) {
  Webhook webhook{spec,
                  std::move(id),
                  std::string(json::string_at(spec, {"name"})),
                  json::string_at(spec, {"failurePolicy"}) == "Ignore",
                  {}};
  if (const json::Array* conditions = json::array_at(spec, {"matchConditions"}))
    for (const json::Value& condition : *conditions)
      webhook.conditions.push_back(read_condition(json::text_at(condition, {"expression"})));
  return webhook;
}

}  // namespace

WebhookList WebhookConfigurations::at(const store::Snapshot& snapshot, const Catalog& catalog,
                                      bool mutating) {
  ServedPtr served =
      catalog.find("admissionregistration.k8s.io", "v1",
                   mutating ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations");
  std::vector<store::ItemPtr> items;
  if (served)
    snapshot.scan(served->bucket, "", "", [&](const store::ItemPtr& item) {
      items.push_back(item);
      return true;
    });
  std::lock_guard lock(mutex_);
  Known& known = known_[mutating ? 0 : 1];
  if (known.items == items) return known.webhooks;
  auto webhooks = std::make_shared<std::vector<Webhook>>();
  for (const store::ItemPtr& item : items) {
    const json::Value configuration = decode_object(*served, *item);
    if (const json::Array* specs = json::array_at(configuration, {"webhooks"}))
      for (const json::Value& spec : *specs)
        webhooks->push_back(read_webhook(spec, (mutating ? "mutating/" : "validating/") +
                                                   item->key + "/" +
                                                   std::to_string(webhooks->size())));
  }
  known = {std::move(items), std::move(webhooks)};
  return known.webhooks;
}

}  // namespace hekla::apiserver
