#include "dashboard/page/session_route.h"

#include <map>
#include <set>
#include <utility>

#include "base/build_info.h"
#include "dashboard/page/answer.h"
#include "dashboard/resources.h"
#include "dashboard/stream/scope.h"
#include "json/parse.h"

namespace hekla::dashboard {

namespace {

// Access to everything of everything: only administrators have it.
kube::Access anything() { return {.verb = "*", .resource = {"*", "*", "*", ""}, .key = {}}; }

json::Array served_resources(const std::vector<kube::ObjectPtr>& crds) {
  json::Array out;
  for (const kube::ObjectPtr& crd : crds) {
    Result<json::Value> value = json::parse(*crd->json);
    const json::Array* versions = value ? json::array_at(*value, {"spec", "versions"}) : nullptr;
    if (!versions) continue;
    for (const json::Value& version : *versions)
      if (json::bool_at(version, {"served"}))
        out.push_back(json::Value(json::text_at(*value, {"spec", "group"}) + "/" +
                                  json::text_at(version, {"name"}) + "/" +
                                  json::text_at(*value, {"spec", "names", "plural"})));
  }
  return out;
}

struct Inquiry : std::enable_shared_from_this<Inquiry> {
  kube::WebExchange exchange;
  DoorFacts facts;
  bool admin = false;
  std::set<std::string> seen;
  std::vector<kube::ObjectPtr> bindings, crds;
  std::size_t open = 4;

  void answered() {
    if (--open == 0) exchange.writer->respond(answer());
  }
  net::Response answer() const {
    const std::map<std::string, std::string> roles =
        roles_from_bindings(bindings, exchange.user.name);
    json::Array namespaces;
    for (const std::string& ns : seen) {
      auto role = roles.find(ns);
      namespaces.push_back(json::Object{{"namespace", ns},
                                        {"role", role != roles.end() ? role->second
                                                 : admin             ? "admin"
                                                                     : "contributor"}});
    }
    json::Array warnings;
    for (const std::string& warning : facts.warnings) warnings.push_back(json::Value(warning));
    net::Response out = json_response(json::Object{{"user", exchange.user.name},
                                                   {"clusterAdmin", admin},
                                                   {"namespaces", std::move(namespaces)},
                                                   {"version", build_info().version},
                                                   {"logoutUrl", facts.logout_url},
                                                   {"sharesOrigin", facts.shares_origin},
                                                   {"localVolumes", facts.local_volumes},
                                                   {"warnings", std::move(warnings)},
                                                   {"resources", served_resources(crds)}});
    return out;
  }
};

}  // namespace

std::map<std::string, std::string> roles_from_bindings(const std::vector<kube::ObjectPtr>& bindings,
                                                       const std::string& user) {
  std::map<std::string, std::string> out;
  for (const kube::ObjectPtr& binding : bindings) {
    Result<json::Value> value = json::parse(*binding->json);
    if (!value || json::string_at(*value, {"metadata", "annotations", "user"}) != user) continue;
    const std::string_view role = json::string_at(*value, {"metadata", "annotations", "role"});
    std::string& mine = out[binding->ns];
    if (role == "admin") mine = "owner";
    if (role == "edit" && mine != "owner") mine = "contributor";
    if (role == "view" && mine.empty()) mine = "viewer";
  }
  std::erase_if(out, [](const auto& one) { return one.second.empty(); });
  return out;
}

kube::WebHandler session_handler(Executor& loop, kube::Client& client, kube::Authorizer& authorizer,
                                 DoorFactsOf facts) {
  return [&loop, &client, &authorizer, facts = std::move(facts)](kube::WebExchange exchange) {
    auto inquiry = std::make_shared<Inquiry>();
    inquiry->facts = facts(exchange.origin, exchange.user);
    auto writer = exchange.writer;
    inquiry->exchange = std::move(exchange);
    on_loop(loop, writer, [inquiry, &client, &authorizer] {
      const kube::User& user = inquiry->exchange.user;
      authorizer.may(user, anything(), [inquiry](const Result<kube::Decision>& may) {
        inquiry->admin = may && may->allowed;
        inquiry->answered();
      });
      find_namespaces(client, authorizer, user, {"list", kube::resources::pods, {}},
                      [inquiry](Result<std::set<std::string>> seen) {
                        if (seen) inquiry->seen = std::move(*seen);
                        inquiry->answered();
                      });
      client.list(kRoleBindings, {}, [inquiry](Result<kube::List> listed) {
        if (listed) inquiry->bindings = std::move(listed->items);
        inquiry->answered();
      });
      client.list(kube::resources::custom_resource_definitions, {},
                  [inquiry](Result<kube::List> listed) {
                    if (listed) inquiry->crds = std::move(listed->items);
                    inquiry->answered();
                  });
    });
  };
}

}  // namespace hekla::dashboard
