// centraldashboard's API: workgroups, contributors, activities, links.
#include <array>
#include <map>

#include "base/build_info.h"
#include "dashboard/apps/access.h"
#include "dashboard/resources.h"
#include "json/parse.h"

namespace hekla::dashboard {

namespace {

constexpr std::string_view kLinks = R"({
"menuLinks":[{"type":"item","link":"/jupyter/","text":"Notebooks","icon":"book"},
{"type":"item","link":"/tensorboards/","text":"TensorBoards","icon":"assessment"},
{"type":"item","link":"/volumes/","text":"Volumes","icon":"device:storage"}],
"externalLinks":[],"documentationItems":[],
"quickLinks":[{"text":"Create a new Notebook","desc":"Kubeflow Notebooks","link":"/jupyter/new"}]})";

void fail_with(const AppCallPtr& call, int status, const std::string& text) {
  call->respond(json::Object{{"error", text}}, status);
}

const char* role_word(const std::string& role) {
  return role == "admin" ? "owner" : role == "edit" ? "contributor" : "viewer";
}

bool has_own(const std::vector<Binding>& all, const std::string& user) {
  for (const Binding& one : all)
    if (one.user == user && one.role == "admin") return true;
  return false;
}

void exists(const AppCallPtr& call) {
  with_bindings(call, "", [call](const std::vector<Binding>& all) {
    call->respond(json::Object{{"hasAuth", true},
                               {"user", call->user().substr(0, call->user().find('@'))},
                               {"hasWorkgroup", has_own(all, call->user())},
                               {"registrationFlowAllowed", true}});
  });
}

void create(const AppCallPtr& call) {
  Result<json::Value> body = json::parse(call->request().body);
  std::string name = body ? json::text_at(*body, {"namespace"}) : "";
  if (name.empty()) name = call->user().substr(0, call->user().find('@'));
  create_profile(call, name, json::Object{}, [call, name](const ApiAnswer& answer) {
    if (!answer.ok()) return fail_with(call, answer.status, answer.message());
    call->respond(json::Object{{"message", "Created namespace " + name}});
  });
}

void env_info(const AppCallPtr& call) {
  with_cluster_admin(call, [call](bool admin) {
    with_bindings(call, "", [call, admin](const std::vector<Binding>& all) {
      json::Array namespaces;
      for (const Binding& one : all)
        if (one.user == call->user())
          namespaces.push_back(json::Object{
              {"user", one.user}, {"namespace", one.ns}, {"role", role_word(one.role)}});
      call->respond(
          json::Object{{"user", call->user()},
                       {"platform", json::Object{{"kubeflowVersion", build_info().version},
                                                 {"provider", "other://"},
                                                 {"providerName", "other"},
                                                 {"logoutUrl", "/oauth2/sign_out"}}},
                       {"namespaces", std::move(namespaces)},
                       {"isClusterAdmin", admin}});
    });
  });
}

void all_namespaces(const AppCallPtr& call) {
  with_bindings(call, "", [call](const std::vector<Binding>& all) {
    std::map<std::string, std::pair<std::string, std::string>> rows;
    for (const Binding& one : all) {
      auto& [owner, others] = rows[one.ns];
      std::string& into = one.role == "admin" ? owner : others;
      into += (into.empty() ? "" : ", ") + one.user;
    }
    json::Array out;
    for (const auto& [ns, people] : rows)
      out.push_back(
          json::Array{json::Value(ns), json::Value(people.first), json::Value(people.second)});
    call->respond(out);
  });
}

void respond_contributors(const AppCallPtr& call) {
  with_bindings(call, call->part(0), [call](const std::vector<Binding>& all) {
    json::Array out;
    for (const Binding& one : all)
      if (one.role == "edit") out.push_back(json::Value(one.user));
    call->respond(out);
  });
}

void change_contributor(const AppCallPtr& call, bool add) {
  Result<json::Value> body = json::parse(call->request().body);
  const std::string user = body ? json::text_at(*body, {"contributor"}) : "";
  if (user.empty()) return fail_with(call, 400, "Missing contributor field.");
  if (const std::size_t at = user.find('@');
      at == 0 || at == std::string::npos ||
      user.find_first_of(" \t\r\n<>\",;") != std::string::npos)
    return fail_with(call, 400, "Contributor doesn't look like a valid email address");
  with_namespace_ownership(call, call->part(0), [call, user, add](bool owner) {
    if (!owner) return fail_with(call, 403, "You are not the owner of " + call->part(0));
    const Binding binding{call->part(0), "", "User", user, "edit"};
    auto answered = [call](const ApiAnswer& answer) {
      if (!answer.ok()) return fail_with(call, answer.status, answer.message());
      respond_contributors(call);
    };
    add ? add_binding(call, binding, answered) : remove_binding(call, binding, answered);
  });
}
void add_contributor(const AppCallPtr& call) { change_contributor(call, true); }
void remove_contributor(const AppCallPtr& call) { change_contributor(call, false); }

// Every profile of the visitor's own.
void nuke_self(const AppCallPtr& call) {
  call->ask_as_platform(list_request(kProfiles, ""), [call](const ApiAnswer& answer) {
    for (const json::Value& profile : answer.items())
      if (json::string_at(profile, {"spec", "owner", "name"}) == call->user())
        call->ask_as_platform(
            delete_request(kProfiles, {"", json::text_at(profile, {"metadata", "name"})},
                           "Background"),
            [](const ApiAnswer&) {});
    call->respond(json::Object{{"message", "Removed namespaces of " + call->user()}});
  });
}

void namespaces(const AppCallPtr& call) {
  const ApiRequest request = list_request(kube::resources::namespaces, "");
  call->ask(request, [call](const ApiAnswer& answer) {
    if (!answer.ok()) return fail_with(call, answer.status, answer.message());
    call->respond(answer.items());
  });
}

void activities(const AppCallPtr& call) {
  call->ask(list_request(kube::resources::events, call->part(0)), [call](const ApiAnswer& answer) {
    if (!answer.ok()) return fail_with(call, answer.status, answer.message());
    call->respond(answer.items());
  });
}

void from_config(const AppCallPtr& call, const char* key, std::string_view otherwise) {
  call->ask_as_platform(get_request(kube::resources::config_maps, {"kubeflow", "dashboard-config"}),
                        [call, key, otherwise](const ApiAnswer& answer) {
                          const std::string text = json::text_at(answer.body, {"data", key});
                          Result<json::Value> own =
                              json::parse(text.empty() ? otherwise : std::string_view(text));
                          if (!own)
                            return fail_with(call, 500, "dashboard-config: " + own.error().message);
                          call->respond(*own);
                        });
}
void links(const AppCallPtr& call) { from_config(call, "links", kLinks); }
void settings(const AppCallPtr& call) { from_config(call, "settings", "{}"); }
void metrics(const AppCallPtr& call) { fail_with(call, 405, "Operation not supported"); }

}  // namespace

std::span<const AppRoute> central_routes() {
  static constexpr std::array<AppRoute, 14> routes{{
      {"GET", "/workgroup/exists", exists},
      {"POST", "/workgroup/create", create},
      {"GET", "/workgroup/env-info", env_info},
      {"GET", "/workgroup/get-all-namespaces", all_namespaces},
      {"GET", "/workgroup/get-contributors/*", respond_contributors},
      {"POST", "/workgroup/add-contributor/*", add_contributor},
      {"DELETE", "/workgroup/remove-contributor/*", remove_contributor},
      {"DELETE", "/workgroup/nuke-self", nuke_self},
      {"GET", "/namespaces", namespaces},
      {"GET", "/activities/*", activities},
      {"GET", "/dashboard-links", links},
      {"GET", "/dashboard-settings", settings},
      {"GET", "/metrics", metrics},
      {"GET", "/metrics/*", metrics},
  }};
  return routes;
}

}  // namespace hekla::dashboard
