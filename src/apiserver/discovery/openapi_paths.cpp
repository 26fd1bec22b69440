#include "apiserver/discovery/openapi_paths.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "apiserver/object/subresources.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

struct Operation {
  std::string_view method;  // get, put, post, patch, delete
  std::string_view action;  // x-kubernetes-action
  std::string_view verb;    // beginning of the operation's id
};

std::string capitalized(std::string_view text) {
  std::string out(text);
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

// "batch.volcano.sh" is BatchVolcanoSh, "storage.k8s.io" Storage, "" Core.
std::string group_word(std::string_view group) {
  if (group.empty()) return "Core";
  if (group.ends_with(".k8s.io")) group.remove_suffix(7);
  std::string out;
  while (!group.empty()) {
    std::size_t dot = std::min(group.find('.'), group.size());
    out += capitalized(group.substr(0, dot));
    group.remove_prefix(std::min(dot + 1, group.size()));
  }
  return out;
}

json::Object parameter(OpenApiVersion version, std::string_view name, std::string_view type,
                       std::string_view in = "query") {
  json::Object out{{"name", name}, {"in", in}};
  if (in == "path") out.emplace("required", true);
  if (version == OpenApiVersion::v3) {
    out.emplace("schema", json::Object{{"type", type}, {"uniqueItems", true}});
  } else {
    out.emplace("type", type);
    out.emplace("uniqueItems", true);
  }
  return out;
}

class PathBuilder {
 public:
  PathBuilder(const Kind& kind, OpenApiVersion version, OpenApiSchemas& schemas,
              json::Object& paths)
      : kind_(kind), version_(version), schemas_(schemas), paths_(paths) {
    object_ = schemas.add_kind(kind);
    shown_ = kind.resource;
    const kube::Resource& r = kind.resource;
    base_ = r.group.empty() ? "/api/" + r.version : "/apis/" + r.group + "/" + r.version;
  }

  void build() {
    const kube::Resource& r = kind_.resource;
    if (r.namespaced && has("list"))
      add(base_ + "/" + r.plural, {{"get", "list", "list"}}, "ForAllNamespaces", false);
    std::string collection = base_ + (r.namespaced ? "/namespaces/{namespace}/" : "/") + r.plural;
    std::vector<Operation> operations;
    if (has("list")) operations.push_back({"get", "list", "list"});
    if (has("create")) operations.push_back({"post", "post", "create"});
    if (has("deletecollection"))
      operations.push_back({"delete", "deletecollection", "deleteCollection"});
    if (!operations.empty()) add(collection, operations, "", false);
    operations.clear();
    if (has("get")) operations.push_back({"get", "get", "read"});
    if (has("update")) operations.push_back({"put", "put", "replace"});
    if (has("patch")) operations.push_back({"patch", "patch", "patch"});
    if (has("delete")) operations.push_back({"delete", "delete", "delete"});
    if (!operations.empty()) add(collection + "/{name}", operations, "", true);
    for (const Subresource& sub : subresources_of(kind_))
      add_subresource(collection + "/{name}/" + sub.name, sub);
  }

 private:
  bool has(std::string_view verb) const {
    return std::find(kind_.verbs.begin(), kind_.verbs.end(), verb) != kind_.verbs.end();
  }

  // A subresource takes and shows a kind of its own, the object itself, or bytes.
  void add_subresource(const std::string& path, const Subresource& sub) {
    static constexpr Operation kOperations[]{{"get", "get", "read"},
                                             {"put", "put", "replace"},
                                             {"post", "post", "create"},
                                             {"delete", "delete", "delete"},
                                             {"patch", "patch", "patch"}};
    static const std::map<std::string_view, std::string_view> kVerbs{{"get", "get"},
                                                                     {"put", "update"},
                                                                     {"post", "create"},
                                                                     {"delete", "delete"},
                                                                     {"patch", "patch"}};
    const std::string object = object_;
    shown_ = {sub.group, sub.version, "", sub.kind, kind_.resource.namespaced};
    streams_ = sub.kind.ends_with("Options");
    if (sub.name == "log")
      object_.clear();
    else if (!streams_ && sub.kind != kind_.resource.kind)
      object_ = schemas_.add_sent(shown_);
    if (streams_ || sub.name == "log") query_ = stream_parameters(sub.name);
    std::vector<Operation> operations;
    for (const Operation& one : kOperations)
      if (std::find(sub.verbs.begin(), sub.verbs.end(), kVerbs.at(one.method)) != sub.verbs.end())
        operations.push_back(streams_ ? Operation{one.method, "connect", "connect"} : one);
    if (streams_ || sub.name == "log" || !object_.empty())
      add(path, operations, capitalized(sub.name), true);
    object_ = object;
    shown_ = kind_.resource;
    streams_ = false;
    query_.clear();
  }

  static std::vector<std::pair<std::string_view, std::string_view>> stream_parameters(
      std::string_view name) {
    if (name == "log")
      return {{"container", "string"},
              {"follow", "boolean"},
              {"insecureSkipTLSVerifyBackend", "boolean"},
              {"limitBytes", "integer"},
              {"previous", "boolean"},
              {"sinceSeconds", "integer"},
              {"stream", "string"},
              {"tailLines", "integer"},
              {"timestamps", "boolean"}};
    if (name == "portforward") return {{"ports", "integer"}};
    if (name == "proxy") return {{"path", "string"}};
    std::vector<std::pair<std::string_view, std::string_view>> all{{"container", "string"},
                                                                   {"stderr", "boolean"},
                                                                   {"stdin", "boolean"},
                                                                   {"stdout", "boolean"},
                                                                   {"tty", "boolean"}};
    if (name == "exec") all.insert(all.begin(), {"command", "string"});
    return all;
  }

  json::Object ref(std::string_view name) const {
    std::string prefix =
        version_ == OpenApiVersion::v3 ? "#/components/schemas/" : "#/definitions/";
    return {{"$ref", prefix + std::string(name)}};
  }

  json::Object response(const json::Object& schema) const {
    json::Object out{{"description", "OK"}};
    if (object_.empty() || streams_) {
      const std::string_view media = streams_ ? "*/*" : "text/plain";
      json::Object text{{"type", "string"}};
      if (version_ == OpenApiVersion::v2)
        out.emplace("schema", std::move(text));
      else
        out.emplace("content", json::Object{{media, json::Object{{"schema", std::move(text)}}}});
      return out;
    }
    if (version_ == OpenApiVersion::v2) {
      out.emplace("schema", schema);
      return out;
    }
    json::Object content;
    for (std::string_view media : {"application/json", "application/yaml"})
      content.emplace(media, json::Object{{"schema", schema}});
    out.emplace("content", std::move(content));
    return out;
  }

  // The body a request carries: in v3 a requestBody, in v2 one more parameter.
  void add_body(const Operation& operation, json::Object& out, json::Array& parameters) {
    json::Object schema;
    std::vector<std::string_view> media;
    if (streams_) return;
    if (operation.method == "delete") {
      schema = schemas_.reference(std::string(kMeta) + "DeleteOptions");
      media = {"*/*"};
    } else if (operation.method == "patch") {
      json::Object patch{{"type", "object"}};
      schema = schemas_.named(std::string(kMeta) + "Patch", std::move(patch));
      media = {"application/apply-patch+yaml", "application/json-patch+json",
               "application/merge-patch+json"};
      // kubectl sends a strategic patch wherever this is offered, and custom resources cannot take
      // one.
      if (!kind_.custom) media.push_back("application/strategic-merge-patch+json");
    } else if (operation.method == "post" || operation.method == "put") {
      schema = ref(object_);
      media = {"*/*"};
    } else {
      return;
    }
    if (version_ == OpenApiVersion::v3) {
      json::Object content;
      for (std::string_view one : media) content.emplace(one, json::Object{{"schema", schema}});
      json::Object body{{"content", std::move(content)}};
      if (operation.method != "delete") body.emplace("required", true);
      out.emplace("requestBody", std::move(body));
      return;
    }
    json::Object body{{"name", "body"}, {"in", "body"}, {"schema", schema}};
    if (operation.method != "delete") body.emplace("required", true);
    parameters.push_back(std::move(body));
    json::Array consumes;
    for (std::string_view one : media) consumes.emplace_back(one);
    out.emplace("consumes", std::move(consumes));
  }

  void add_parameters(const Operation& operation, json::Array& parameters) const {
    const auto query = [&](std::string_view name, std::string_view type) {
      parameters.push_back(parameter(version_, name, type));
    };
    for (const auto& [name, type] : query_) query(name, type);
    if (streams_) return;
    bool writes = operation.method != "get";
    bool lists = operation.action == "list" || operation.action == "deletecollection";
    if (lists) {
      query("continue", "string");
      query("fieldSelector", "string");
      query("labelSelector", "string");
      query("limit", "integer");
      query("resourceVersion", "string");
      query("resourceVersionMatch", "string");
      query("sendInitialEvents", "boolean");
      query("timeoutSeconds", "integer");
      if (operation.action == "list") {
        query("allowWatchBookmarks", "boolean");
        query("watch", "boolean");
      }
    }
    if (writes) query("dryRun", "string");
    if (operation.method == "delete") {
      query("gracePeriodSeconds", "integer");
      query("orphanDependents", "boolean");
      query("propagationPolicy", "string");
    } else if (writes) {
      query("fieldManager", "string");
      query("fieldValidation", "string");
      if (operation.method == "patch") query("force", "boolean");
    }
  }

  json::Object operation_object(const Operation& operation, std::string_view suffix) {
    const kube::Resource& r = kind_.resource;
    json::Object out;
    std::string scope = r.namespaced && suffix != "ForAllNamespaces" ? "Namespaced" : "";
    out.emplace("operationId", std::string(operation.verb) + group_word(r.group) +
                                   capitalized(r.version) +
                                   (streams_ ? capitalized(operation.method) : "") + scope +
                                   r.kind + std::string(suffix));
    out.emplace("tags", json::Array{json::Value(group_tag())});
    json::Array parameters;
    add_parameters(operation, parameters);
    add_body(operation, out, parameters);
    if (!parameters.empty()) out.emplace("parameters", std::move(parameters));
    if (version_ == OpenApiVersion::v2) {
      out.emplace("produces", json::Array{"application/json", "application/yaml"});
      out.emplace("schemes", json::Array{"https"});
    }
    bool collection = operation.action == "list";
    bool deletes = operation.method == "delete";
    json::Object schema = collection ? ref(schemas_.list_name(kind_))
                          : deletes  ? schemas_.reference(std::string(kMeta) + "Status")
                                     : ref(object_);
    json::Object responses{{"200", response(schema)}};
    if (!streams_ &&
        (operation.method == "post" || operation.method == "put" || operation.method == "patch"))
      responses.emplace("201", response(schema));
    if (!streams_ && (operation.method == "post" || operation.action == "delete"))
      responses.emplace("202", response(schema));
    responses.emplace("401", json::Object{{"description", "Unauthorized"}});
    out.emplace("responses", std::move(responses));
    out.emplace("x-kubernetes-action", operation.action);
    out.emplace("x-kubernetes-group-version-kind", group_version_kind(shown_, shown_.kind));
    return out;
  }

  std::string group_tag() const {
    std::string group = kind_.resource.group.empty() ? "core" : kind_.resource.group;
    if (group.ends_with(".k8s.io")) group.resize(group.size() - 7);
    std::replace(group.begin(), group.end(), '.', '_');
    return group + "_" + kind_.resource.version;
  }

  void add(const std::string& path, const std::vector<Operation>& operations,
           std::string_view suffix, bool named) {
    json::Object item;
    for (const Operation& operation : operations)
      item.emplace(operation.method, operation_object(operation, suffix));
    json::Array parameters;
    if (named) parameters.push_back(parameter(version_, "name", "string", "path"));
    if (path.find("{namespace}") != std::string::npos)
      parameters.push_back(parameter(version_, "namespace", "string", "path"));
    parameters.push_back(parameter(version_, "pretty", "string"));
    item.emplace("parameters", std::move(parameters));
    paths_.insert_or_assign(path, std::move(item));
  }

  const Kind& kind_;
  OpenApiVersion version_;
  OpenApiSchemas& schemas_;
  json::Object& paths_;
  std::string object_, base_;
  // Of the path at hand: a subresource may be of another kind, or be no object at all.
  kube::Resource shown_;
  bool streams_ = false;
  std::vector<std::pair<std::string_view, std::string_view>> query_;
};

}  // namespace

void add_paths(const Kind& kind, OpenApiVersion version, OpenApiSchemas& schemas,
               json::Object& paths) {
  PathBuilder(kind, version, schemas, paths).build();
}

}  // namespace hekla::apiserver
