// hekla dashboard: the page in a browser, logged in, for whoever holds the kubeconfig.
#include <memory>

#include "cli/cluster.h"
#include "cli/verb.h"
#include "cli/web/page_link.h"

namespace hekla::cli {
namespace {

struct DashboardOptions {
  ClusterFlags cluster;
  PageLink link;
};

std::vector<Command> dashboard_commands(const Context&) {
  auto options = std::make_shared<DashboardOptions>();
  Command made{.name = "dashboard",
               .summary = "open the dashboard in a browser, logged in",
               .flags = cluster_flags(options->cluster)};
  made.flags.push_back(Flag("--as", options->link.as,
                            "whom to log in as (default: the owner of the first Profile)"));
  made.flags.push_back(Flag("--path", options->link.path, "the page to open"));
  made.flags.push_back(Flag("--print", options->link.print, "only print the link"));
  made.run = on_cluster(options->cluster, [options](ApiSession& session) {
    return open_page(session, options->link);
  });
  return {std::move(made)};
}

}  // namespace

extern const Verb verb_dashboard;
const Verb verb_dashboard{"dashboard", dashboard_commands};

}  // namespace hekla::cli
