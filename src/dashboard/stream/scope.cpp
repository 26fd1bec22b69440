#include "dashboard/stream/scope.h"

#include <utility>

namespace hekla::dashboard {

namespace {

Error forbidden(const kube::User& user, const kube::Resource& resource, const std::string& ns) {
  std::string where = ns.empty() ? " at the cluster scope" : " in the namespace \"" + ns + "\"";
  return {Code::forbidden, resource.plural + (resource.group.empty() ? "" : "." + resource.group) +
                               " is forbidden: User \"" + user.name + "\" cannot list resource \"" +
                               resource.plural + "\" in API group \"" + resource.group + "\"" +
                               where};
}

// Questions about each namespace, answered one after the other or at once.
struct Survey {
  std::set<std::string> allowed;
  std::size_t open = 0;
  std::optional<Error> error;
  std::move_only_function<void(Result<std::set<std::string>>)> done;

  void answered() {
    if (--open > 0) return;
    if (error && allowed.empty()) return done(std::unexpected(std::move(*error)));
    done(std::move(allowed));
  }
};

}  // namespace

void find_namespaces(kube::Client& client, kube::Authorizer& authorizer, const kube::User& user,
                     const kube::Access& access,
                     std::move_only_function<void(Result<std::set<std::string>>)> done) {
  auto survey = std::make_shared<Survey>();
  survey->done = std::move(done);
  client.list(kube::resources::namespaces, {},
              [survey, &authorizer, user, access](const Result<kube::List>& namespaces) {
                if (!namespaces) return survey->done(std::unexpected(namespaces.error()));
                survey->open = namespaces->items.size() + 1;
                for (const kube::ObjectPtr& object : namespaces->items) {
                  kube::Access here = access;
                  here.key.ns = object->name;
                  authorizer.may(user, here,
                                 [survey, ns = object->name](const Result<kube::Decision>& may) {
                                   if (!may) survey->error = may.error();
                                   if (may && may->allowed) survey->allowed.insert(ns);
                                   survey->answered();
                                 });
                }
                survey->answered();
              });
}

void find_scope(kube::Client& client, kube::Authorizer& authorizer, const kube::User& user,
                const kube::Resource& resource, const std::string& ns,
                std::move_only_function<void(Result<SeenScope>)> done) {
  const kube::Access list{.verb = "list", .resource = resource, .key = {ns, ""}};
  authorizer.may(
      user, list,
      [=, &client, &authorizer, done = std::move(done)](const Result<kube::Decision>& may) mutable {
        if (!may) return done(std::unexpected(may.error()));
        if (may->allowed) return done(SeenScope{ns});
        if (!ns.empty()) return done(std::unexpected(forbidden(user, resource, ns)));
        find_namespaces(client, authorizer, user, list,
                        [user, resource,
                         done = std::move(done)](Result<std::set<std::string>> allowed) mutable {
                          if (!allowed) return done(std::unexpected(allowed.error()));
                          if (allowed->empty())
                            return done(std::unexpected(forbidden(user, resource, "")));
                          done(SeenScope{"", std::move(*allowed)});
                        });
      });
}

}  // namespace hekla::dashboard
