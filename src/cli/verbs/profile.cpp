// hekla profile: namespaces of people.
#include <poll.h>

#include <cstdio>
#include <memory>

#include "cli/verb.h"
#include "cli/workbench/workbench.h"

namespace hekla::cli {
namespace {

struct ProfileOptions {
  ClusterFlags cluster;
  std::string name;
  std::vector<std::string> owners, groups;
  std::vector<std::string> quota;
};

json::Object subject(const char* kind, const std::string& name) {
  return {{"kind", kind}, {"name", name}};
}

Result<json::Object> quota_of(const std::vector<std::string>& entries) {
  json::Object hard;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(Code::bad_request, "--quota " + entry + ": expected RESOURCE=AMOUNT");
    hard[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return hard;
}

// The controller says in the status whether the namespace could be had.
Result<void> await_verdict(ApiSession& session, const std::string& name) {
  constexpr int kAttempts = 150, kInterval = 200;  // milliseconds
  for (int i = 0; i < kAttempts; ++i) {
    const json::Value profile = TRY(get_one(session, kProfileKind, {"", name}));
    const json::Array* conditions = json::array_at(profile, {"status", "conditions"});
    if (conditions && !conditions->empty()) {
      if (json::string_at(conditions->back(), {"type"}) != "Failed") return {};
      return fail(Code::conflict,
                  "profile " + name + ": " + json::text_at(conditions->back(), {"message"}));
    }
    ::poll(nullptr, 0, kInterval);
  }
  return fail(Code::timeout, "profile " + name + " has no namespace yet");
}

Result<void> create(ApiSession& session, const ProfileOptions& options) {
  json::Array subjects;
  for (const std::string& owner : options.owners) subjects.push_back(subject("User", owner));
  for (const std::string& group : options.groups) subjects.push_back(subject("Group", group));
  if (subjects.empty())
    return fail(Code::bad_request, "whose is it? Name somebody with --owner or --group");
  json::Object spec{{"owner", subjects.front()}};
  subjects.erase(subjects.begin());
  if (!subjects.empty()) spec["owners"] = std::move(subjects);
  if (json::Object hard = TRY(quota_of(options.quota)); !hard.empty())
    spec["resourceQuotaSpec"] = json::Object{{"hard", std::move(hard)}};
  TRY(create_one(
      session, kProfileKind, "",
      json::Object{{"metadata", json::Object{{"name", options.name}}}, {"spec", std::move(spec)}}));
  TRY(await_verdict(session, options.name));
  std::printf("profile %s is made, with a namespace of that name\n", options.name.c_str());
  return {};
}

Result<void> list(ApiSession& session) {
  std::vector<std::vector<std::string>> rows{{"NAME", "OWNERS", "STATE", "AGE"}};
  for (const json::Value& one : TRY(list_objects(session, kProfileKind))) {
    std::string owners = json::text_at(one, {"spec", "owner", "name"});
    const json::Array* others = json::array_at(one, {"spec", "owners"});
    for (std::size_t i = 0; others && i < others->size(); ++i)
      owners += "," + json::text_at((*others)[i], {"name"});
    const json::Array* conditions = json::array_at(one, {"status", "conditions"});
    rows.push_back({json::text_at(one, {"metadata", "name"}), owners,
                    conditions && !conditions->empty() ? json::text_at(conditions->back(), {"type"})
                                                       : "Waiting",
                    age_of(one)});
  }
  std::fputs(columns(rows).c_str(), stdout);
  return {};
}

std::vector<Command> profile_commands(const Context&) {
  auto options = std::make_shared<ProfileOptions>();
  Command made{.name = "create",
               .summary = "give somebody a namespace",
               .flags = cluster_flags(options->cluster)};
  append(made.flags,
         {Flag("name", options->name, "of the profile and its namespace").must_be_given(),
          Flag("--owner", options->owners, "the address they log in with; repeatable"),
          Flag("--group", options->groups, "a group that owns it; repeatable"),
          Flag("--quota", options->quota, "RESOURCE=AMOUNT it may use, as cpu=8; repeatable")});
  made.run = on_cluster(options->cluster,
                        [options](ApiSession& session) { return create(session, *options); });
  Command shown{.name = "list",
                .summary = "show the profiles and whose they are",
                .flags = cluster_flags(options->cluster)};
  shown.run = on_cluster(options->cluster, [](ApiSession& session) { return list(session); });
  Command profiles{.name = "profile", .summary = "namespaces of people"};
  profiles.commands = {std::move(made), std::move(shown)};
  profiles.footer =
      "Examples:\n"
      "  hekla profile create research --owner ann@example.com --quota cpu=8\n"
      "Who logs in needs an account, too: hekla user add";
  return {std::move(profiles)};
}

}  // namespace

extern const Verb verb_profile;
const Verb verb_profile{"profile", profile_commands};

}  // namespace hekla::cli
