#include "scheduler/cluster/companions.h"

#include <algorithm>

namespace hekla::scheduler {

namespace {

// A reader this far behind starts over.
constexpr std::size_t kLongestLog = 4096;

bool says_the_same(const Companion& a, const Companion& b) {
  return a.metadata.uid == b.metadata.uid && a.metadata.labels == b.metadata.labels &&
         a.metadata.annotations == b.metadata.annotations &&
         a.metadata.deletionTimestamp.at == b.metadata.deletionTimestamp.at &&
         json::equal(a.body, b.body);
}

}  // namespace

Result<Companion> Companion::from_node(const json::Node& node) {
  Companion out;
  json::Object body;
  if (!node.is_object()) return fail(Code::invalid, "expected an object");
  Result<void> done;
  node.for_each_member([&](std::string_view key, const json::Node& member) {
    if (key == "metadata") {
      Result<model::ObjectMeta> meta = model::ObjectMeta::from_node(member);
      if (meta)
        out.metadata = std::move(*meta);
      else
        done = std::unexpected(meta.error());
    } else if (Result<json::Value> value = member.to_value()) {
      body[key] = std::move(*value);
    } else {
      done = std::unexpected(value.error());
    }
    return done.has_value();
  });
  TRY(std::move(done));
  out.body = std::move(body);
  return out;
}

json::Value Companion::to_json() const {
  json::Value out = body;
  out.as_object()["metadata"] = metadata.to_json();
  return out;
}

std::optional<CompanionKind> companion_kind(std::string_view word) {
  auto found = std::find(kCompanionKinds.begin(), kCompanionKinds.end(), word);
  if (found == kCompanionKinds.end()) return std::nullopt;
  return static_cast<CompanionKind>(found - kCompanionKinds.begin());
}

void Companions::note(Kind& kind, std::string key) {
  if (kind.log.size() == kLongestLog) {
    kind.base += kind.log.size();
    kind.log.clear();
  }
  kind.log.push_back(std::move(key));
}

bool Companions::put(CompanionKind which, const Companion& object) {
  Kind& kind = kinds_[index(which)];
  std::string key = object.key();
  Ref& known = kind.objects[key];
  if (known && says_the_same(*known, object)) return false;
  known = std::make_shared<const Companion>(object);
  note(kind, std::move(key));
  return true;
}

bool Companions::remove(CompanionKind which, const Companion& object) {
  Kind& kind = kinds_[index(which)];
  std::string key = object.key();
  if (kind.objects.erase(key) == 0) return false;
  note(kind, std::move(key));
  return true;
}

const Companion* Companions::find(CompanionKind kind, std::string_view key) const {
  const Objects& objects = all(kind);
  auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second.get();
}

std::optional<std::span<const std::string>> Companions::changed_since(CompanionKind which,
                                                                      std::uint64_t version) const {
  const Kind& kind = kinds_[index(which)];
  if (version < kind.base) return std::nullopt;
  return std::span<const std::string>(kind.log).subspan(
      static_cast<std::size_t>(version - kind.base));
}

}  // namespace hekla::scheduler
