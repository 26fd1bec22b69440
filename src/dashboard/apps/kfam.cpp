// KFAM, upstream's access management. Unlike there, reading needs an identity, and only the owner's
// and the visitor's own bindings are told.
#include <array>

#include "dashboard/apps/access.h"
#include "dashboard/resources.h"
#include "json/parse.h"

namespace hekla::dashboard {

namespace {

void hello(const AppCallPtr& call) { call->respond_text("Hello World!"); }

std::optional<Binding> body_binding(const AppCallPtr& call) {
  Result<json::Value> body = json::parse(call->request().body);
  Result<Binding> binding =
      body ? binding_from_json(*body) : Result<Binding>(std::unexpected(body.error()));
  if (binding) return std::move(*binding);
  call->respond_text(binding.error().message, 403);
  return std::nullopt;
}

void bindings(const AppCallPtr& call) {
  const net::Query& query = call->request().query;
  const std::string user(query.get("user")), role(query.get("role"));
  with_bindings(call, std::string(query.get("namespace")), [=](const std::vector<Binding>& all) {
    json::Array out;
    for (const Binding& one : all)
      if ((user.empty() || one.user == user) && (role.empty() || one.role == role))
        out.push_back(binding_json(one));
    call->respond(json::Object{{"bindings", std::move(out)}});
  });
}

void change(const AppCallPtr& call, bool add) {
  std::optional<Binding> binding = body_binding(call);
  if (!binding) return;
  with_namespace_ownership(call, binding->ns, [=](bool owner) {
    if (!owner)
      return call->respond_text("User " + call->user() + " is not the owner of " + binding->ns,
                                403);
    auto answered = [call](const ApiAnswer& answer) {
      answer.ok() ? call->respond_text("") : call->respond_text(answer.message(), 403);
    };
    add ? add_binding(call, *binding, answered) : remove_binding(call, *binding, answered);
  });
}
void add(const AppCallPtr& call) { change(call, true); }
void drop(const AppCallPtr& call) { change(call, false); }

// For oneself; for somebody else only an administrator.
void make_profile(const AppCallPtr& call) {
  Result<json::Value> body = json::parse(call->request().body);
  const std::string name = body ? json::text_at(*body, {"metadata", "name"}) : "";
  if (name.empty()) return call->respond_text("a Profile needs metadata.name", 403);
  const std::string owner = json::text_at(*body, {"spec", "owner", "name"});
  auto make = [call, name, body = *body] {
    create_profile(call, name, body, [call](const ApiAnswer& answer) {
      answer.ok() ? call->respond_text("") : call->respond_text(answer.message(), 403);
    });
  };
  if (owner.empty() || owner == call->user()) return make();
  with_cluster_admin(call, [call, make](bool admin) {
    admin ? make() : call->respond_text("only an administrator makes profiles for others", 403);
  });
}

void remove_profile(const AppCallPtr& call) {
  with_ownership(call, call->part(0), [call](bool owner) {
    if (!owner) return call->respond_text("Unauthorized", 401);
    call->ask_as_platform(delete_request(kProfiles, {"", call->part(0)}, "Background"),
                          [call](const ApiAnswer& answer) {
                            answer.ok() ? call->respond_text("")
                                        : call->respond_text(answer.message(), 403);
                          });
  });
}

// Of oneself; nobody learns who else administers.
void cluster_admin(const AppCallPtr& call) {
  const std::string user(call->request().query.get("user"));
  if (!user.empty() && user != call->user()) return call->respond(false);
  with_cluster_admin(call, [call](bool admin) { call->respond(admin); });
}

}  // namespace

std::span<const AppRoute> kfam_routes() {
  static constexpr std::array<AppRoute, 7> routes{{
      {"GET", "/", hello},
      {"GET", "/v1/bindings", bindings},
      {"POST", "/v1/bindings", add},
      {"DELETE", "/v1/bindings", drop},
      {"POST", "/v1/profiles", make_profile},
      {"DELETE", "/v1/profiles/*", remove_profile},
      {"GET", "/v1/role/clusteradmin", cluster_admin},
  }};
  return routes;
}

}  // namespace hekla::dashboard
