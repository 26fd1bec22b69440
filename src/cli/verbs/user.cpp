// hekla user: the accounts of the web login, in the ConfigMap auth/dex as dex keeps them, and
// kubeconfigs for others.
#include <cstdio>
#include <memory>

#include "base/disk.h"
#include "cli/cluster.h"
#include "cli/verb.h"
#include "cli/web/accounts.h"
#include "cli/web/user_kubeconfig.h"
#include "gateway/password.h"

namespace hekla::cli {
namespace {

struct UserOptions {
  ClusterFlags cluster;
  std::string email, name;
  std::vector<std::string> groups;
};

Result<void> save(ApiSession& session, const UserOptions& options, bool exists) {
  TRY(gateway::check_email(options.email));
  gateway::DexUser user;
  user.email = options.email;
  user.username =
      options.name.empty() ? options.email.substr(0, options.email.find('@')) : options.name;
  user.user_id = uuid(real_rng());
  user.groups = options.groups;
  user.hash = TRY(gateway::hash_password(TRY(ask_new_password(options.email)), real_rng()));
  TRY(set_account(session, std::move(user), exists));
  std::printf(exists ? "the password of %s is changed\n" : "user %s can log in\n",
              options.email.c_str());
  return {};
}

Result<void> list(ApiSession& session) {
  const gateway::DexConfig config = TRY(read_accounts(session));
  std::vector<std::vector<std::string>> rows{{"EMAIL", "NAME", "GROUPS", "NOTE"}};
  for (const gateway::DexUser& user : config.users) {
    std::string groups;
    for (const std::string& group : user.groups) groups += (groups.empty() ? "" : ",") + group;
    const std::string note = !gateway::is_bcrypt(user.hash) ? "has no password"
                             : gateway::verify_password(gateway::kDefaultPassword, user.hash)
                                 ? "has the public default password"
                                 : "";
    rows.push_back({user.email, user.username, groups, note});
  }
  std::fputs(columns(rows).c_str(), stdout);
  return {};
}

Command command(const std::shared_ptr<UserOptions>& options, const char* name, const char* summary,
                std::function<Result<void>(ApiSession&)> work) {
  Command made{.name = name, .summary = summary, .flags = cluster_flags(options->cluster)};
  if (std::string_view(name) != "list")
    made.flags.push_back(
        Flag("email", options->email, "the address they log in with").must_be_given());
  made.run = on_cluster(options->cluster, std::move(work));
  return made;
}

struct KubeconfigOptions {
  ClusterFlags cluster;
  UserGrant grant;
  std::string file;
};

Result<void> write_kubeconfig(ApiSession& session, const KubeconfigOptions& options) {
  const UserGrant& grant = options.grant;
  const UserKubeconfig made = TRY(grant_access(session, grant));
  const std::string file = options.file.empty() ? grant.name + ".kubeconfig" : options.file;
  if (file == "-")
    std::fputs(made.text.c_str(), stdout);
  else
    TRY(write_file_atomically(file, made.text, 0600));
  std::FILE* out = file == "-" ? stderr : stdout;
  if (made.new_namespace) std::fprintf(out, "namespace %s is created\n", grant.ns.c_str());
  std::fprintf(out, "%s may %s in namespace %s until %s%s\n", grant.name.c_str(),
               grant.role.c_str(), grant.ns.c_str(), made.until.c_str(),
               file == "-" ? "" : (", with " + file).c_str());
  std::fprintf(out, "hekla delete serviceaccount %s -n %s takes it back\n", grant.name.c_str(),
               grant.ns.c_str());
  if (made.local_only)
    std::fprintf(out,
                 "it works on this machine alone, for the API server listens at %s: start it with "
                 "hekla up --listen ADDR:PORT for others\n",
                 session.access().server.c_str());
  return {};
}

Command kubeconfig_command() {
  auto options = std::make_shared<KubeconfigOptions>();
  Command made{.name = "kubeconfig",
               .summary = "write a kubeconfig for somebody else, with a role in one namespace"};
  made.flags = {
      Flag("NAME", options->grant.name, "who gets it: a service account of this name")
          .must_be_given(),
      Flag("-n,--namespace", options->grant.ns, "where they may work; made if it is not there"),
      Flag("--role", options->grant.role, "what they may do there")
          .with(one_of({"view", "edit", "admin"})),
      Flag("--days", options->grant.days, "until the token ends").with(between(1, 36500)),
      Flag("--file", options->file,
           "where to write it, - for standard output (default: "
           "NAME.kubeconfig)")};
  append(made.flags, cluster_flags(options->cluster));
  made.run = on_cluster(options->cluster, [options](ApiSession& session) {
    return write_kubeconfig(session, *options);
  });
  made.footer =
      "Examples:\n"
      "  hekla user kubeconfig alice -n team-a\n"
      "  hekla user kubeconfig bob -n team-a --role view --file - > bob.yaml";
  return made;
}

std::vector<Command> user_commands(const Context&) {
  auto options = std::make_shared<UserOptions>();
  Command add = command(options, "add", "let somebody log in; asks for the password",
                        [options](ApiSession& session) { return save(session, *options, false); });
  add.flags.push_back(
      Flag("--name", options->name, "what they are called (default: the part before the @)"));
  add.flags.push_back(Flag("--group", options->groups, "a group they are in; repeatable"));
  Command users{.name = "user",
                .summary = "who may log in to the dashboard, and kubeconfigs for others"};
  users.commands = {
      std::move(add),
      command(options, "passwd", "change a password",
              [options](ApiSession& session) { return save(session, *options, true); }),
      command(options, "list", "show who may log in",
              [](ApiSession& session) { return list(session); }),
      command(options, "remove", "let somebody log in no longer, and end their sessions",
              [options](ApiSession& session) -> Result<void> {
                TRY(remove_account(session, options->email));
                std::printf("user %s is removed\n", options->email.c_str());
                return {};
              }),
      kubeconfig_command()};
  users.footer =
      "Examples:\n"
      "  hekla user add ann@example.com\n"
      "  hekla user kubeconfig alice -n team-a --role edit\n"
      "  echo \"$PASSWORD\" | hekla user passwd user@example.com\n"
      "What somebody may do is decided by their Profile and RBAC, not here.";
  return {std::move(users)};
}

}  // namespace

extern const Verb verb_user;
const Verb verb_user{"user", user_commands};

}  // namespace hekla::cli
