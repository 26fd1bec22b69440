#include "pipelines/driver/resource_step.h"

#include <charconv>

#include "base/crypto.h"
#include "framework/writes.h"
#include "json/jsonpath.h"
#include "json/parse.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::driver {
namespace {

constexpr Nanos kLookAgain = std::chrono::seconds(1);
constexpr const char* kMark = "hekla.io/pipeline-step";

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return made;
}

std::string trimmed(std::string text) {
  while (text.ends_with(' ')) text.pop_back();
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// One requirement: "path sign value", or a path alone that must be there.
Result<bool> requirement_holds(const std::string& text, const json::Value& object) {
  std::string sign;
  std::size_t at = std::string::npos;
  for (const char* one : {"==", "!=", "=", ">", "<"})
    if (const std::size_t found = text.find(one); sign.empty() && found != std::string::npos) {
      sign = one;
      at = found;
    }
  const std::string path = trimmed(text.substr(0, at));
  const json::JsonPath steps = TRY(json::JsonPath::parse("." + path));
  const json::Value* value = steps.find_first(object);
  if (sign.empty()) return value != nullptr;
  const std::string wanted = trimmed(text.substr(at + sign.size()));
  const std::string got = value ? ir::text_of(*value) : "";
  if (sign == "!=") return value == nullptr || got != wanted;
  if (value == nullptr) return false;
  if (sign == "=" || sign == "==") return got == wanted;
  const std::optional<double> a = number_in(got), b = number_in(wanted);
  if (!a || !b) return fail(Code::bad_request, "condition \"" + text + "\" compares no numbers");
  return sign == ">" ? *a > *b : *a < *b;
}

std::string jsonpath_text(const std::string& path, const json::Value& object) {
  if (path == "{}" || path.empty()) return json::serialize(object);
  const Result<json::JsonPath> steps = json::JsonPath::parse(path);
  std::string made;
  if (steps)
    for (const json::Value* one : steps->find(object))
      made += (made.empty() ? "" : " ") + ir::text_of(*one);
  return made;
}

// A job on its way through look-up, authorization, write and conditions.
class Work : public std::enable_shared_from_this<Work> {
 public:
  Work(ResourceOptions options, ResourceJob job) : options_(options), job_(std::move(job)) {}

  void begin() {
    Result<void> ready = prepare();
    if (!ready) return end(ready.error().message);
    authorize(verbs());
  }

 private:
  Result<void> prepare() {
    std::vector<json::YamlDocument> documents =
        TRY(json::parse_yaml(job_.step.manifest, nullptr, json::YamlBooleans::words));
    if (documents.size() != 1 || !documents[0].value.is_object())
      return fail(Code::bad_request, "the manifest must be one object");
    object_ = std::move(documents[0].value);
    const std::string kind = json::text_at(object_, {"kind"}),
                      version = json::text_at(object_, {"apiVersion"});
    bool found = false;
    for (const kube::Resource& one : options_.discovery->resources()) {
      const bool same_kind = lower(one.kind) == lower(kind) || one.plural == lower(kind);
      const std::size_t slash = version.find('/');
      const std::string group = slash == std::string::npos ? "" : version.substr(0, slash);
      if (found || !same_kind || (!version.empty() && one.group != group)) continue;
      found = true;
      resource_ = one;
      if (!version.empty())
        resource_.version = slash == std::string::npos ? version : version.substr(slash + 1);
    }
    if (!found)
      return fail(Code::bad_request,
                  "no matches for kind \"" + kind + "\" in version \"" + version + "\"");
    key_.name = json::text_at(object_, {"metadata", "name"});
    if (resource_.namespaced) {
      key_.ns = json::text_at(object_, {"metadata", "namespace"});
      if (key_.ns.empty()) key_.ns = job_.ns;
    }
    // The same name when this is done again after a crash.
    const std::string prefix = json::text_at(object_, {"metadata", "generateName"});
    if (key_.name.empty() && !prefix.empty() && job_.step.action == "create") {
      key_.name = prefix + sha256_hex(job_.mark).substr(0, 5);
      json::at_path(object_, {"metadata", "name"}) = json::Value(key_.name);
    }
    if (key_.name.empty()) return fail(Code::bad_request, "the manifest's object has no name");
    return {};
  }

  std::vector<std::string> verbs() const {
    if (job_.step.action == "apply") return {"get", "create", "patch"};
    if (job_.step.action == "get") return {"get"};
    return {"get", job_.step.action};
  }

  void authorize(std::vector<std::string> verbs) {
    if (verbs.empty() || options_.authorizer == nullptr) return write();
    kube::User user;
    user.name = "system:serviceaccount:" + job_.ns + ":" + job_.service_account;
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + job_.ns,
                   "system:authenticated"};
    const std::string verb = verbs.back();
    verbs.pop_back();
    options_.authorizer->may(
        user, {.verb = verb, .resource = resource_, .key = key_},
        [self = shared_from_this(), verbs, verb, name = user.name](Result<kube::Decision> may) {
          if (!may) return self->end(may.error().message);
          if (may->allowed) return self->authorize(verbs);
          self->end(name + " may not " + verb + " " + self->resource_.plural +
                    (self->resource_.group.empty() ? "" : "." + self->resource_.group) +
                    " in namespace \"" + self->key_.ns + "\"");
        });
  }

  void write() {
    const std::string& action = job_.step.action;
    if (action == "get") return look();
    kube::Write write;
    if (action == "create") {
      json::at_path(object_, {"metadata", "annotations", kMark}) = json::Value(job_.mark);
      write = framework::create(resource_, key_.ns, object_);
    } else if (action == "apply") {
      write = framework::apply_patch(resource_, key_.ns, object_);
    } else if (action == "patch") {
      write = framework::merge_patch(resource_, key_, object_);
      if (job_.step.merge.empty() || job_.step.merge == "strategic")
        write.patch_type = kube::PatchType::strategic;
    } else {
      write = framework::remove(resource_, key_);
    }
    options_.client->write(std::move(write), [self = shared_from_this()](kube::WriteResult result) {
      self->written(std::move(result));
    });
  }

  void written(kube::WriteResult result) {
    const std::string& action = job_.step.action;
    if (action == "delete") {
      const bool missing = !result && result.error().code == Code::not_found;
      return result || (missing && job_.step.may_be_missing) ? end({})
                                                             : end(result.error().message);
    }
    if (!result && result.error().code == Code::already_exists && action == "create") {
      // Perhaps this very attempt has made it, before a crash.
      repeated_ = result.error().message;
      return look();
    }
    if (!result) return end(result.error().message);
    judge(**result);
  }

  void look() {
    if (!job_.wanted()) return;
    options_.client->get(resource_, key_,
                         [self = shared_from_this()](Result<kube::ObjectPtr> found) {
                           if (!found) return self->end(found.error().message);
                           self->judge(**found);
                         });
  }

  void judge(const kube::Object& object) {
    Result<json::Value> value = json::parse(*object.json);
    if (!value) return end(value.error().message);
    if (!repeated_.empty() &&
        json::string_at(*value, {"metadata", "annotations", kMark}) != job_.mark)
      return end(repeated_);
    repeated_.clear();
    if (!job_.step.failure.empty()) {
      Result<bool> failed = condition_holds(job_.step.failure, *value);
      if (!failed) return end(failed.error().message);
      if (*failed) return end("failureCondition '" + job_.step.failure + "' evaluated true");
    }
    Result<bool> ready =
        job_.step.success.empty() ? Result<bool>(true) : condition_holds(job_.step.success, *value);
    if (!ready) return end(ready.error().message);
    if (!*ready) {
      options_.client->executor().post_after(kLookAgain,
                                             [self = shared_from_this()] { self->look(); });
      return;
    }
    json::Object outputs;
    for (const auto& [name, path] : job_.step.outputs)
      outputs.emplace(name, jsonpath_text(path, *value));
    job_.end.outputs = {{"parameterValues", std::move(outputs)}, {"artifacts", json::Object{}}};
    end({});
  }

  void end(std::string error) {
    if (!job_.wanted()) return;
    job_.end.succeeded = error.empty();
    job_.end.error = std::move(error);
    if (job_.end.succeeded && job_.end.outputs.empty())
      job_.end.outputs = {{"parameterValues", json::Object{}}, {"artifacts", json::Object{}}};
    job_.done(std::move(job_.end));
  }

  const ResourceOptions options_;
  ResourceJob job_;
  json::Value object_;
  kube::Resource resource_;
  kube::Key key_;
  std::string repeated_;
};

}  // namespace

Result<bool> condition_holds(const std::string& condition, const json::Value& object) {
  std::string rest = condition;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string one = trimmed(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    if (one.empty()) continue;
    const bool holds = TRY(requirement_holds(one, object));
    if (!holds) return false;
  }
  return true;
}

void ResourceSteps::start(ResourceJob job) const {
  std::make_shared<Work>(options_, std::move(job))->begin();
}

}  // namespace hekla::pipelines::driver
