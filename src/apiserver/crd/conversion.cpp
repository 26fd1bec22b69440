#include "apiserver/crd/conversion.h"

#include <algorithm>

#include "apiserver/gates/chain.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/field_error.h"
#include "base/check.h"
#include "json/parse.h"
#include "model/names.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kMaxRemembered = 10'000;
constexpr std::chrono::seconds kConversionTimeout{30};

// `conversion webhook for x.io/v1, Kind=Host ...`: named after what was sent.
Error conversion_error(const json::Value& sent, const std::string& what) {
  return {Code::internal,
          "conversion webhook for " + std::string(json::string_at(sent, {"apiVersion"})) +
              ", Kind=" + std::string(json::string_at(sent, {"kind"})) + " " + what};
}

Result<WebhookCall> make_call(const WebhookConversion& webhook, const kube::AdmissionReader& reader,
                              const json::Array& objects, const std::string& api_version,
                              Rng& rng) {
  if (webhook.review_version.empty())
    return fail(Code::internal, "no supported conversion review versions");
  WebhookCall call;
  call.uid = uuid(rng);
  call.read = webhook.review_version == "v1" ? read_conversion : read_conversion_v1beta1;
  Result<void> addressed = address_call(webhook.client_config, kConversionTimeout, reader, call);
  if (!addressed)
    return std::unexpected(conversion_error(
        objects.front(),
        "failed: Post " + go_quote(call.shown_url) + ": " + addressed.error().message));
  json::Object request{{"uid", call.uid}, {"desiredAPIVersion", api_version}, {"objects", objects}};
  call.body =
      json::serialize(json::Object{{"kind", "ConversionReview"},
                                   {"apiVersion", "apiextensions.k8s.io/" + webhook.review_version},
                                   {"request", std::move(request)}});
  return call;
}

Result<void> check_labels(const json::Object& labels) {
  std::string errors;
  auto complain = [&](std::string_view value, const std::vector<std::string>& reasons) {
    for (const std::string& why : reasons)
      errors += (errors.empty() ? "" : ", ") +
                ("metadata.labels: " + invalid_value("", json::Value(value), why).message);
  };
  for (const auto& label : labels) {
    complain(label.key(), model::qualified_name_errors(label.key()));
    const std::string_view value = json::sv(label.value().get_string());
    complain(value, model::label_value_errors(value));
  }
  if (errors.empty()) return {};
  return fail(Code::internal,
              errors.find("metadata.labels", 1) == std::string::npos ? errors : "[" + errors + "]");
}

// The members of metadata that a webhook may have changed: labels and annotations. Everything else
// stays as it was.
Result<json::Value> restored_metadata(const json::Value& before, const json::Value& after) {
  json::Value metadata = before.at("metadata");
  for (std::string_view member : {"labels", "annotations"}) {
    const json::Value* changed = json::find(after, member);
    if (!changed || changed->is_null()) {
      metadata.get_object().erase(member);
      continue;
    }
    const std::string path = "metadata." + std::string(member);
    if (!changed->is_object())
      return fail(Code::internal, "invalid " + path + " in converted object: not a map");
    for (const auto& entry : changed->get_object())
      if (!entry.value().is_string())
        return fail(Code::internal, path + "[" + std::string(entry.key()) +
                                        "] must be a string in converted object");
    if (member == "labels") TRY(check_labels(changed->get_object()));
    metadata.get_object()[member] = *changed;
  }
  return metadata;
}

Result<json::Value> accepted(const json::Value& before, json::Value after, const Kind& to) {
  const std::string version = to.resource.api_version();
  auto text = [&](const json::Value& object, std::string_view member) {
    return std::string(json::string_at(object, {member}));
  };
  if (!after.is_object())
    return std::unexpected(conversion_error(before, "returned an object that is none"));
  for (const auto& [member, name, expected] :
       {std::tuple{"apiVersion", "groupVersion", version}, {"kind", "kind", text(before, "kind")}})
    if (text(after, member) != expected)
      return std::unexpected(conversion_error(
          before, std::string("returned invalid object at index 0: invalid ") + name +
                      " (expected " + expected + ", received " + text(after, member) + ")"));
  for (const auto& [member, name] :
       {std::pair{"name", "name"}, {"namespace", "namespace"}, {"uid", "UID"}}) {
    const std::string_view is = meta_string(before, member), got = meta_string(after, member);
    if (is != got)
      return std::unexpected(
          conversion_error(before, std::string("returned invalid object: must have the same ") +
                                       name + ": " + std::string(is) + " != " + std::string(got)));
  }
  const json::Value* metadata = json::find(after, "metadata");
  Result<json::Value> restored = metadata && metadata->is_object()
                                     ? restored_metadata(before, *metadata)
                                     : fail(Code::internal, "missing metadata in converted object");
  if (!restored)
    return std::unexpected(
        conversion_error(before, "returned invalid metadata: " + restored.error().message));
  after.get_object()["metadata"] = std::move(*restored);
  if (to.schema) prune(*to.schema, after);
  return after;
}

Result<std::vector<json::Value>> accepted_all(const json::Array& before,
                                              const Result<json::Value>& response, const Kind& to) {
  if (!response)
    return std::unexpected(conversion_error(before.front(), "failed: " + response.error().message));
  const json::Array* after = json::array_at(*response, {"convertedObjects"});
  const std::size_t count = after ? after->size() : 0;
  if (count != before.size())
    return std::unexpected(conversion_error(before.front(), "returned " + std::to_string(count) +
                                                                " objects, expected " +
                                                                std::to_string(before.size())));
  std::vector<json::Value> out;
  for (std::size_t i = 0; i < before.size(); ++i)
    out.push_back(TRY(accepted(before[i], (*after)[i], to)));
  return out;
}

// The object in the served version, as an item of the same revision.
store::ItemPtr converted_item(const ServedKind& served, const store::Item& from,
                              json::Value object) {
  CHECK(object.is_object() && from.modified > 0, "a stored object was converted to an object");
  const ServedKind as_served{served.kind, served.kind, served.bucket, served.terminating};
  auto item =
      std::make_shared<store::Item>(*unsaved_item(as_served, std::move(object), from.modified));
  item->created = from.created;
  return item;
}

Result<json::Value> converted_objects(const json::Value& review) {
  const json::Value* answer = json::find(review, "response");
  if (!answer || !answer->is_object()) return fail(Code::internal, "no response provided");
  const std::string status(json::string_at(*answer, {"result", "status"}));
  if (status == "Success") return *answer;
  std::string why(json::string_at(*answer, {"result", "message"}));
  if (why.empty()) why = "response.result.status was '" + status + "', not 'Success'";
  return fail(Code::internal, std::move(why));
}

}  // namespace

Result<json::Value> read_conversion(const WebhookCall& call, Result<net::Response> response) {
  json::Value review = TRY(parse_answer(call, std::move(response)));
  auto text = [&](std::string_view member) {
    return std::string(json::string_at(review, {member}));
  };
  if (text("kind") != "ConversionReview" || text("apiVersion") != "apiextensions.k8s.io/v1")
    return fail(
        Code::internal,
        "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got " +
            text("apiVersion") + ", Kind=" + text("kind"));
  const std::string uid(json::string_at(review, {"response", "uid"}));
  if (json::object_at(review, {"response"}) && uid != call.uid)
    return fail(Code::internal,
                "expected response.uid=" + go_quote(call.uid) + ", got " + go_quote(uid));
  return converted_objects(review);
}

// Its servers were never held to name the review they answer.
Result<json::Value> read_conversion_v1beta1(const WebhookCall& call,
                                            Result<net::Response> response) {
  return converted_objects(TRY(parse_answer(call, std::move(response))));
}

std::shared_ptr<const WebhookConversion> conversion_of_crd(const json::Value& crd) {
  const json::Value* client =
      json::find_path(crd, {"spec", "conversion", "webhook", "clientConfig"});
  if (json::string_at(crd, {"spec", "conversion", "strategy"}) != "Webhook" || !client)
    return nullptr;
  auto found = std::make_shared<WebhookConversion>();
  found->client_config = *client;
  if (const json::Array* versions =
          json::array_at(crd, {"spec", "conversion", "webhook", "conversionReviewVersions"}))
    for (const json::Value& one : *versions)
      if (found->review_version.empty() && one.is_string() && (one == "v1" || one == "v1beta1"))
        found->review_version = json::sv(one.get_string());
  return found;
}

std::string_view stored_version(const store::Item& item) {
  constexpr std::size_t kAt = std::string_view("{\"apiVersion\":\"").size();
  std::string_view rest = std::string_view(item.value).substr(kAt);
  return rest.substr(0, rest.find('"'));
}

Conversions::WebhookPtr Conversions::webhook_of(const Kind& kind) const {
  const ServedPtr now = registry_.catalog()->find(kind.resource);
  return now ? now->kind->storage.conversion : kind.storage.conversion;
}

bool Conversions::none_needed(const ServedKind& served,
                              const std::vector<store::ItemPtr>& items) const {
  if (!served.kind->custom) return true;
  const std::string version = served.kind->resource.api_version();
  if (std::all_of(items.begin(), items.end(),
                  [&](const store::ItemPtr& item) { return stored_version(*item) == version; }))
    return true;
  return !webhook_of(*served.kind);
}

// A review under way, and what becomes of its answer.
struct Conversions::Asked {
  ServedPtr served;
  WebhookPtr webhook;
  std::vector<store::ItemPtr> items;
  std::vector<std::size_t> places;  // in `items`, of what was sent
  json::Array objects;
  WebhookCall call;
  Done done;
};

void Conversions::convert(ServedPtr served, std::vector<store::ItemPtr> items,
                          Executor& continuation, Done done) {
  if (none_needed(*served, items)) return done(std::move(items));
  auto asked = std::make_shared<Asked>();
  asked->webhook = webhook_of(*served->kind);
  if (!asked->webhook) return done(std::move(items));  // gone since
  const std::string version = served->kind->resource.api_version();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (stored_version(*items[i]) == version) continue;
    if (store::ItemPtr there = known(items[i], version, asked->webhook)) {
      items[i] = std::move(there);
      continue;
    }
    asked->places.push_back(i);
    asked->objects.push_back(json::parse(items[i]->value).value());
  }
  if (asked->places.empty()) return done(std::move(items));
  Result<WebhookCall> call =
      make_call(*asked->webhook, SnapshotReader(store_.snapshot(), *registry_.catalog()),
                asked->objects, version, rng_);
  if (!call) return done(std::unexpected(call.error()));
  asked->served = std::move(served);
  asked->items = std::move(items);
  asked->call = *call;
  asked->done = std::move(done);
  transport_.load()->send(
      std::move(*call), [this, asked, &continuation](Result<net::Response> response) {
        continuation.post([this, asked, response = std::move(response)]() mutable {
          answered(*asked, std::move(response));
        });
      });
}

void Conversions::answered(Asked& asked, Result<net::Response> response) {
  const Kind& kind = *asked.served->kind;
  Result<std::vector<json::Value>> after =
      accepted_all(asked.objects, asked.call.read(asked.call, std::move(response)), kind);
  if (!after) return asked.done(std::unexpected(after.error()));
  for (std::size_t i = 0; i < asked.places.size(); ++i) {
    store::ItemPtr& item = asked.items[asked.places[i]];
    store::ItemPtr made = converted_item(*asked.served, *item, std::move((*after)[i]));
    remember(item, kind.resource.api_version(), asked.webhook, made);
    item = std::move(made);
  }
  asked.done(std::move(asked.items));
}

Result<json::Value> Conversions::convert(WriteScope& scope, json::Value object, const Kind& to) {
  const std::string version = to.resource.api_version();
  const WebhookPtr& webhook = scope.kind().storage.conversion;
  if (!webhook || json::string_at(object, {"apiVersion"}) == version) return object;
  const std::string key = "conversion to " + version + "\n" + json::serialize(object);
  json::Array objects;
  objects.push_back(std::move(object));
  auto known = scope.memo->answers.find(key);
  if (known == scope.memo->answers.end()) {
    WebhookCall call = TRY(
        make_call(*webhook, SnapshotReader(scope.snapshot, scope.catalog), objects, version, rng_));
    call.key = key;
    scope.memo->wanted.push_back(std::move(call));
    return fail(Code::unavailable, "waiting for a conversion webhook");
  }
  std::vector<json::Value> after = TRY(accepted_all(objects, known->second, to));
  return std::move(after.front());
}

store::ItemPtr Conversions::known(const store::ItemPtr& item, const std::string& api_version,
                                  const WebhookPtr& webhook) {
  std::lock_guard lock(mutex_);
  auto found = converted_.find({item.get(), api_version});
  return found == converted_.end() || found->second.by != webhook ? nullptr : found->second.to;
}

void Conversions::remember(const store::ItemPtr& item, const std::string& api_version,
                           const WebhookPtr& webhook, store::ItemPtr converted) {
  std::lock_guard lock(mutex_);
  if (converted_.size() >= kMaxRemembered) converted_.clear();
  converted_[{item.get(), api_version}] = {item, std::move(converted), webhook};
}

}  // namespace hekla::apiserver
