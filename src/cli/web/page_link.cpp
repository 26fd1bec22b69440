#include "cli/web/page_link.h"

#include <cstdio>

#include "base/command.h"
#include "base/environment.h"
#include "cli/cluster.h"
#include "cli/verb.h"
#include "gateway/gateway.h"
#include "gateway/password.h"

namespace hekla::cli {
namespace {

const kube::Resource kProfiles{"kubeflow.org", "v1", "profiles", "Profile", false};

Result<std::string> first_owner(ApiSession& session) {
  std::string owner = json::text_at(TRY(first_profile(session)), {"spec", "owner", "name"});
  return owner.empty() ? std::string(gateway::kDefaultEmail) : owner;
}

}  // namespace

Result<json::Value> first_profile(ApiSession& session) {
  json::Value oldest;
  for (json::Value& profile : TRY(list_objects(session, kProfiles, true)))
    if (oldest.is_null() || json::string_at(profile, {"metadata", "creationTimestamp"}) <
                                json::string_at(oldest, {"metadata", "creationTimestamp"}))
      oldest = std::move(profile);
  return oldest;
}

Result<void> open_page(ApiSession& session, const PageLink& link) {
  Result<json::Value> where = session.call(
      "GET", ApiSession::path_of(kube::resources::config_maps, "hekla-system", "hekla-gateway"));
  const std::string url = where ? json::text_at(*where, {"data", "url"}) : "";
  if (url.empty())
    return fail(Code::not_found,
                "no dashboard is served here: hekla up does so unless --web-listen none is given");
  kube::User user;
  user.name = link.as.empty() ? TRY(first_owner(session)) : link.as;
  user.groups = {"system:authenticated"};
  const gateway::LoginLink login = gateway::make_login_link(user, real_clock().wall(), real_rng());
  TRY(session.call("POST", ApiSession::path_of(kube::resources::secrets, "hekla-system"),
                   json::serialize(login.secret)));
  const std::string address =
      url + "/hekla/login?code=" + login.code + "&rd=" + net::url_encode(link.path);
  std::printf("%s\n", address.c_str());
  std::fprintf(stderr, "logs in as %s; works once, for two minutes\n", user.name.c_str());
  std::fflush(stdout);
  const bool has_display =
      !environment_variable("DISPLAY").empty() || !environment_variable("WAYLAND_DISPLAY").empty();
  if (!link.print && has_display) {
    Result<CommandOutcome> opened =
        run_command({"xdg-open", address}, {}, std::chrono::seconds(10));
    if (!opened)
      complain("no browser could be opened (" + opened.error().message + "): open the link");
  }
  return {};
}

}  // namespace hekla::cli
