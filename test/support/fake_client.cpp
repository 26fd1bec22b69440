#include "support/fake_client.h"

#include <algorithm>

#include "json/patch.h"
#include "model/selector.h"
#include "model/time.h"

namespace hekla::test {
namespace {

bool has_status_subresource(const kube::Resource& resource) {
  return !(resource == kube::resources::pod_groups);
}

std::string text_at(const json::Value& value, std::string_view member) {
  return std::string(json::string_at(value, {"metadata", member}));
}

bool selected(const json::Value& value, const std::string& label_selector) {
  if (label_selector.empty()) return true;
  Result<model::Selector> selector = model::Selector::parse(label_selector);
  model::Labels labels;
  if (const json::Object* found = json::object_at(value, {"metadata", "labels"}))
    for (const auto& member : *found)
      if (member.value().is_string())
        labels[std::string(member.key())] = std::string(json::sv(member.value().get_string()));
  return selector && selector->matches(labels);
}

bool ends_at_once(const kube::Resource& resource, const json::Value& value,
                  const std::optional<std::int64_t>& grace) {
  if (!(resource == kube::resources::pods) || grace == 0) return true;
  std::string_view phase = json::string_at(value, {"status", "phase"});
  return json::string_at(value, {"spec", "nodeName"}).empty() || phase == "Succeeded" ||
         phase == "Failed";
}

// Strategic merge of the one list that controllers patch: conditions, by type.
void merge_list(const json::Value& old, json::Object& patch, std::string_view list,
                std::string_view by) {
  json::Value whole(patch);
  const json::Array* changed = json::array_at(whole, {"status", list});
  const json::Array* before = json::array_at(old, {"status", list});
  if (!changed || !before) return;
  json::Array merged = *before;
  for (const json::Value& one : *changed) {
    auto same = std::find_if(merged.begin(), merged.end(), [&](const json::Value& other) {
      return json::string_at(other, {by}) == json::string_at(one, {by});
    });
    if (json::string_at(one, {"$patch"}) == "delete") {
      if (same != merged.end()) merged.erase(same);
    } else if (same == merged.end())
      merged.push_back(one);
    else
      for (const auto& member : one.get_object()) same->get_object()[member.key()] = member.value();
  }
  patch["status"].get_object()[list] = std::move(merged);
}

class FakeWatch final : public kube::Watch {
 public:
  explicit FakeWatch(std::function<void()> end) : end_(std::move(end)) {}
  ~FakeWatch() override { end_(); }

 private:
  std::function<void()> end_;
};

}  // namespace

std::string FakeApi::table_name(const kube::Resource& resource) {
  return resource.group + "/" + resource.plural;
}

kube::ObjectPtr FakeApi::snapshot(const kube::Resource&, const Stored& stored) {
  auto object = std::make_shared<kube::Object>();
  object->ns = text_at(stored.value, "namespace");
  object->name = text_at(stored.value, "name");
  object->uid = text_at(stored.value, "uid");
  object->resource_version = stored.revision;
  object->json = std::make_shared<const std::string>(json::serialize(stored.value));
  return object;
}

void FakeApi::tell(const kube::Resource& resource, kube::WatchEvent event) {
  for (auto it = watchers_.begin(); it != watchers_.end();) {
    std::shared_ptr<Watcher> watcher = it->lock();
    if (!watcher) {
      it = watchers_.erase(it);
      continue;
    }
    ++it;
    if (table_name(watcher->resource) != table_name(resource)) continue;
    watcher->executor->post([watcher, event] {
      if (!watcher->ended) watcher->callbacks.on_events({event});
    });
  }
}

kube::WriteResult FakeApi::store(const kube::Resource& resource, json::Value value,
                                 kube::WatchEvent::Type type) {
  auto& [kept_resource, table] = tables_[table_name(resource)];
  kept_resource = resource;
  kube::Key key{text_at(value, "namespace"), text_at(value, "name")};
  ++revision_;
  json::at_path(value, {"metadata", "resourceVersion"}) = std::to_string(revision_);
  Stored& stored = table[key];
  stored = Stored{std::move(value), revision_};
  kube::ObjectPtr object = snapshot(resource, stored);
  tell(resource, kube::WatchEvent{type, object, revision_});
  return object;
}

kube::WriteResult FakeApi::create_object(const kube::Write& write) {
  json::Value value = write.body;
  json::at_path(value, {"apiVersion"}) = write.resource.api_version();
  json::at_path(value, {"kind"}) = write.resource.kind;
  if (text_at(value, "name").empty())
    json::at_path(value, {"metadata", "name"}) =
        text_at(value, "generateName") + std::to_string(revision_);
  if (write.resource.namespaced && text_at(value, "namespace").empty())
    json::at_path(value, {"metadata", "namespace"}) =
        write.key.ns.empty() ? "default" : write.key.ns;
  // Time stands still in a simulation, and events are named after it.
  while (write.resource == kube::resources::events &&
         find(write.resource, {text_at(value, "namespace"), text_at(value, "name")}))
    json::at_path(value, {"metadata", "name"}) = text_at(value, "name") + "+";
  std::string name = text_at(value, "name");
  kube::Key key{text_at(value, "namespace"), name};
  if (find(write.resource, key))
    return std::unexpected(Error{Code::already_exists,
                                 write.resource.plural + " \"" + name + "\" already exists",
                                 ErrorDetails{.name = name}});
  bool job = write.resource == kube::resources::vcjobs;
  std::string uid = "u-" + (job ? "" : write.resource.plural + "-") + name;
  int times = ++uids_[write.resource.plural + "/" + key.ns + "/" + name];
  if (times > 1) uid += "-" + std::to_string(times);
  json::at_path(value, {"metadata", "uid"}) = uid;
  json::at_path(value, {"metadata", "generation"}) = 1;
  json::at_path(value, {"metadata", "creationTimestamp"}) = model::format_rfc3339(clock_.wall());
  return store(write.resource, std::move(value), kube::WatchEvent::Type::added);
}

// Server-side apply takes away what its last body had and this one has not.
void FakeApi::take_back(const kube::Write& write, json::Value& object) {
  json::Value& before =
      applied_[table_name(write.resource) + "/" + write.key.ns + "/" + write.key.name];
  if (before.is_object()) json::apply_merge_patch(object, json::diff_merge(before, write.body));
  before = write.body;
}

kube::WriteResult FakeApi::patch_object(const kube::Write& write) {
  const json::Value* found = find(write.resource, write.key);
  if (!found) {
    if (write.patch_type == kube::PatchType::apply) {
      applied_[table_name(write.resource) + "/" + write.key.ns + "/" + write.key.name] = write.body;
      return create_object(write);
    }
    return fail(Code::not_found, write.resource.plural + " \"" + write.key.name + "\" not found");
  }
  std::string_view wanted = json::string_at(write.body, {"metadata", "resourceVersion"});
  if (!wanted.empty() && wanted != text_at(*found, "resourceVersion"))
    return fail(Code::conflict,
                "the object has been modified; please apply your changes to the latest "
                "version and try again");
  json::Value after = *found;
  json::Value patch = write.body;
  if (write.patch_type == kube::PatchType::apply) take_back(write, after);
  json::Object& members = patch.get_object();
  std::string_view uid = json::string_at(write.body, {"metadata", "uid"});
  if (!uid.empty() && uid != text_at(*found, "uid"))
    return fail(Code::conflict, "Precondition failed: UID in precondition differs");
  if (write.subresource == "finalize") {
    json::apply_merge_patch(after, patch);
    const json::Array* held = json::array_at(after, {"spec", "finalizers"});
    if ((!held || held->empty()) && !text_at(after, "deletionTimestamp").empty())
      return erase(write.resource, write.key);
  } else if (!write.subresource.empty() && write.subresource != "scale") {
    json::Object only;
    if (members.contains("status")) only["status"] = members["status"];
    if (write.resource == kube::resources::deployments && members.contains("metadata"))
      only["metadata"] = members["metadata"];  // their revision comes so
    if (write.patch_type == kube::PatchType::strategic) {
      merge_list(*found, only, "conditions", "type");
      merge_list(*found, only, "reservedFor", "uid");
      merge_list(*found, only, "resourceClaimStatuses", "name");
    }
    json::apply_merge_patch(after, only);
  } else {
    if (has_status_subresource(write.resource)) members.erase("status");
    json::apply_merge_patch(after, patch);
  }
  const json::Array* held = json::array_at(after, {"metadata", "finalizers"});
  if (!collects_garbage && !text_at(after, "deletionTimestamp").empty() &&
      (!held || held->empty()) &&
      json::int_at(after, {"metadata", "deletionGracePeriodSeconds"}) == 0 &&
      !json::array_at(after, {"spec", "finalizers"}))
    return erase(write.resource, write.key);
  if (json::equal(after, *found)) {
    auto& table = tables_[table_name(write.resource)].second;
    return snapshot(write.resource, table.at(write.key));
  }
  const json::Value* before_spec = json::find(*found, "spec");
  const json::Value* after_spec = json::find(after, "spec");
  if (before_spec && after_spec && !json::equal(*before_spec, *after_spec))
    json::at_path(after, {"metadata", "generation"}) =
        json::int_at(after, {"metadata", "generation"}) + 1;
  return store(write.resource, std::move(after), kube::WatchEvent::Type::modified);
}

kube::ObjectPtr FakeApi::erase(const kube::Resource& resource, const kube::Key& key) {
  Table& table = tables_[table_name(resource)].second;
  Stored last = table.at(key);
  table.erase(key);
  last.revision = ++revision_;
  json::at_path(last.value, {"metadata", "resourceVersion"}) = std::to_string(revision_);
  kube::ObjectPtr object = snapshot(resource, last);
  removals_.push_back({table_name(resource), object, revision_});
  tell(resource, kube::WatchEvent{kube::WatchEvent::Type::deleted, object, revision_});
  if (collects_garbage) remove_dependents(object->uid);
  return object;
}

void FakeApi::remove_dependents(const std::string& owner_uid) {
  std::vector<std::pair<kube::Resource, kube::Key>> dependents;
  for (const auto& [name, entry] : tables_)
    for (const auto& [key, stored] : entry.second) {
      const json::Array* owners = json::array_at(stored.value, {"metadata", "ownerReferences"});
      if (owners && !owners->empty() && json::string_at((*owners)[0], {"uid"}) == owner_uid)
        dependents.emplace_back(entry.first, key);
    }
  for (const auto& [resource, key] : dependents)
    if (find(resource, key)) erase(resource, key);
}

kube::WriteResult FakeApi::remove_object(const kube::Write& write) {
  const json::Value* found = find(write.resource, write.key);
  if (!found)
    return fail(Code::not_found, write.resource.plural + " \"" + write.key.name + "\" not found");
  if (!write.precondition_uid.empty() && write.precondition_uid != text_at(*found, "uid"))
    return fail(Code::conflict, "Precondition failed: UID in precondition differs");
  if (write.precondition_resource_version &&
      std::to_string(write.precondition_resource_version) != text_at(*found, "resourceVersion"))
    return fail(Code::conflict, "Precondition failed: ResourceVersion differs");
  if (!collects_garbage) return hold(write, *found);
  if (ends_at_once(write.resource, *found, write.grace_period_seconds))
    return erase(write.resource, write.key);
  if (!text_at(*found, "deletionTimestamp").empty())
    return snapshot(write.resource, tables_[table_name(write.resource)].second.at(write.key));
  json::Value after = *found;
  json::at_path(after, {"metadata", "deletionTimestamp"}) = model::format_rfc3339(clock_.wall());
  json::at_path(after, {"metadata", "deletionGracePeriodSeconds"}) = 30;
  return store(write.resource, std::move(after), kube::WatchEvent::Type::modified);
}

// Removal as a server does it: what has finalizers, of its own or of the policy, stays for now.
kube::WriteResult FakeApi::hold(const kube::Write& write, json::Value object) {
  json::Value& list = json::at_path(object, {"metadata", "finalizers"});
  if (!list.is_array()) list.emplace_array();
  json::Array& finalizers = list.get_array();
  auto add = [&](std::string_view name) {
    if (std::find(finalizers.begin(), finalizers.end(), json::Value(name)) == finalizers.end())
      finalizers.emplace_back(name);
  };
  if (write.propagation_policy == "Foreground") add("foregroundDeletion");
  if (write.propagation_policy == "Orphan") add("orphan");
  const json::Array* content = json::array_at(object, {"spec", "finalizers"});
  if (finalizers.empty() && (!content || content->empty())) return erase(write.resource, write.key);
  if (text_at(object, "deletionTimestamp").empty())
    json::at_path(object, {"metadata", "deletionTimestamp"}) = model::format_rfc3339(clock_.wall());
  if (content) json::at_path(object, {"status", "phase"}) = "Terminating";
  return store(write.resource, std::move(object), kube::WatchEvent::Type::modified);
}

kube::WriteResult FakeApi::write(const kube::Write& write) {
  switch (write.verb) {
    case kube::Write::Verb::create:
      return create_object(write);
    case kube::Write::Verb::patch:
      return patch_object(write);
    case kube::Write::Verb::remove:
      return remove_object(write);
    default:
      return fail(Code::method_not_allowed, "the fake API does not do that");
  }
}

kube::WriteResult FakeApi::create(const kube::Resource& resource, json::Value object) {
  kube::Write write;
  write.resource = resource;
  write.body = std::move(object);
  return this->write(write);
}

kube::WriteResult FakeApi::patch(const kube::Resource& resource, const kube::Key& key,
                                 json::Value merge, const std::string& subresource) {
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = resource;
  write.key = key;
  write.body = std::move(merge);
  write.subresource = subresource;
  return this->write(write);
}

kube::WriteResult FakeApi::remove(const kube::Resource& resource, const kube::Key& key) {
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = resource;
  write.key = key;
  return this->write(write);
}

void FakeApi::finish_termination(const kube::Key& pod) {
  if (find(kube::resources::pods, pod)) erase(kube::resources::pods, pod);
}

const json::Value* FakeApi::find(const kube::Resource& resource, const kube::Key& key) const {
  auto table = tables_.find(table_name(resource));
  if (table == tables_.end()) return nullptr;
  auto found = table->second.second.find(key);
  return found == table->second.second.end() ? nullptr : &found->second.value;
}

std::vector<const json::Value*> FakeApi::list(const kube::Resource& resource,
                                              const std::string& ns) const {
  std::vector<const json::Value*> found;
  auto table = tables_.find(table_name(resource));
  if (table == tables_.end()) return found;
  for (const auto& [key, stored] : table->second.second)
    if (ns.empty() || key.ns == ns) found.push_back(&stored.value);
  return found;
}

void FakeClient::get(const kube::Resource& resource, const kube::Key& key,
                     std::move_only_function<void(Result<kube::ObjectPtr>)> done) {
  Result<kube::ObjectPtr> result = fail(Code::not_found, resource.plural + " not found");
  if (api_.find(resource, key))
    result =
        FakeApi::snapshot(resource, api_.tables_[FakeApi::table_name(resource)].second.at(key));
  executor_.post([done = std::move(done), result]() mutable { done(std::move(result)); });
}

void FakeClient::list(const kube::Resource& resource, const kube::ListOptions& options,
                      std::move_only_function<void(Result<kube::List>)> done) {
  if (api_.unserved.contains(resource.plural)) {
    executor_.post([done = std::move(done)]() mutable {
      done(fail(Code::not_found, "the server could not find the requested resource"));
    });
    return;
  }
  kube::List list;
  list.resource_version = api_.revision_;
  for (const auto& [key, stored] : api_.tables_[FakeApi::table_name(resource)].second)
    if ((options.ns.empty() || options.ns == key.ns) &&
        selected(stored.value, options.label_selector))
      list.items.push_back(FakeApi::snapshot(resource, stored));
  executor_.post([done = std::move(done), list]() mutable { done(std::move(list)); });
}

std::unique_ptr<kube::Watch> FakeClient::watch(const kube::Resource& resource,
                                               const kube::WatchOptions& options,
                                               kube::WatchCallbacks callbacks) {
  auto watcher = std::make_shared<FakeApi::Watcher>(
      FakeApi::Watcher{resource, options, std::move(callbacks), &executor_});
  api_.watchers_.push_back(watcher);
  // What happened between the list and the watch.
  auto replay = [&](kube::WatchEvent event) {
    executor_.post([watcher, event = std::move(event)] {
      if (!watcher->ended) watcher->callbacks.on_events({event});
    });
  };
  std::string table = FakeApi::table_name(resource);
  for (const FakeApi::Removal& removal : api_.removals_)
    if (removal.revision > options.resource_version && removal.table == table)
      replay({kube::WatchEvent::Type::deleted, removal.object, removal.revision});
  for (const auto& [key, stored] : api_.tables_[table].second)
    if (stored.revision > options.resource_version)
      replay(
          {kube::WatchEvent::Type::modified, FakeApi::snapshot(resource, stored), stored.revision});
  return std::make_unique<FakeWatch>([watcher] { watcher->ended = true; });
}

void FakeClient::batch(std::vector<kube::Write> writes, kube::BatchDone done) {
  std::vector<kube::WriteResult> results;
  for (const kube::Write& write : writes) {
    std::optional<Error> refused = api_.on_write ? api_.on_write(write) : std::nullopt;
    if (refused)
      results.push_back(std::unexpected(*refused));
    else
      results.push_back(api_.write(write));
    api_.log_.push_back(write);
  }
  executor_.post([done = std::move(done), results = std::move(results)]() mutable {
    done(std::move(results));
  });
}

}  // namespace hekla::test
