// The authorizer: questions are put together step by step, and answered by whoever runs the
// expression.
#include <algorithm>

#include "cel/functions.h"
#include "model/names.h"

namespace hekla::cel {
namespace {

// What Kubernetes charges for one: three of them are more than an expression may spend.
constexpr std::uint64_t kCheckCost = 350'000;

bool is_blank(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isspace(c) != 0; });
}

template <class To>
Value drafted(const AccessDraft& from, std::string AccessQuestion::* member,
              std::string_view text) {
  auto question = std::make_shared<AccessQuestion>(*from.question);
  (*question).*member = std::string(text);
  To to;
  to.authority = from.authority;
  to.question = std::move(question);
  return Value(std::move(to));
}

Result<Value> of_account(Arguments a, Budget&) {
  if (!model::dns1123_subdomain_errors(a[2].view()).empty())
    return cel_error("Invalid service account name");
  if (!model::dns1123_label_errors(a[1].view()).empty())
    return cel_error("Invalid service account namespace");
  Value named =
      drafted<Authorizer>(a[0].get<Authorizer>(), &AccessQuestion::account_name, a[2].view());
  return drafted<Authorizer>(named.get<Authorizer>(), &AccessQuestion::account_namespace,
                             a[1].view());
}
Result<Value> of_path(Arguments a, Budget&) {
  if (is_blank(a[1].view())) return cel_error("path must not be empty");
  return drafted<PathCheck>(a[0].get<Authorizer>(), &AccessQuestion::path, a[1].view());
}
Result<Value> of_group(Arguments a, Budget&) {
  return drafted<GroupCheck>(a[0].get<Authorizer>(), &AccessQuestion::group, a[1].view());
}
Result<Value> of_resource(Arguments a, Budget&) {
  if (is_blank(a[1].view())) return cel_error("resource must not be empty");
  return drafted<ResourceCheck>(a[0].get<GroupCheck>(), &AccessQuestion::resource, a[1].view());
}
template <std::string AccessQuestion::* member>
Result<Value> narrowed(Arguments a, Budget&) {
  return drafted<ResourceCheck>(a[0].get<ResourceCheck>(), member, a[1].view());
}
// RBAC grants a verb on a resource whatever the selector is.
Result<Value> selected(Arguments a, Budget&) { return a[0]; }

template <class Check>
Result<Value> check(Arguments a, Budget& budget) {
  if (!budget.spend(kCheckCost)) return out_of_budget();
  const auto& draft = a[0].get<Check>();
  AccessQuestion question = *draft.question;
  question.verb = a[1].view();
  return Value(Decision{std::make_shared<const AccessDecision>(draft.authority->decide(question))});
}

Result<Value> allowed(Arguments a, Budget&) {
  return Value(a[0].get<Decision>().decision->allowed);
}
Result<Value> reason(Arguments a, Budget&) {
  return Value::text(a[0].get<Decision>().decision->reason);
}
Result<Value> errored(Arguments a, Budget&) {
  return Value(!a[0].get<Decision>().decision->error.empty());
}
Result<Value> error(Arguments a, Budget&) {
  return Value::text(a[0].get<Decision>().decision->error);
}

constexpr FunctionEntry kAccess[] = {
    {"path", true, "(authorizer,string) path_check", of_path},
    {"group", true, "(authorizer,string) group_check", of_group},
    {"serviceAccount", true, "(authorizer,string,string) authorizer", of_account},
    {"resource", true, "(group_check,string) resource_check", of_resource},
    {"subresource", true, "(resource_check,string) resource_check",
     narrowed<&AccessQuestion::subresource>},
    {"namespace", true, "(resource_check,string) resource_check", narrowed<&AccessQuestion::ns>},
    {"name", true, "(resource_check,string) resource_check", narrowed<&AccessQuestion::name>},
    {"fieldSelector", true, "(resource_check,string) resource_check", selected},
    {"labelSelector", true, "(resource_check,string) resource_check", selected},
    {"check", true, "(path_check,string) decision", check<PathCheck>},
    {"check", true, "(resource_check,string) decision", check<ResourceCheck>},
    {"allowed", true, "(decision) bool", allowed},
    {"reason", true, "(decision) string", reason},
    {"errored", true, "(decision) bool", errored},
    {"error", true, "(decision) string", error},
};

}  // namespace

std::span<const FunctionEntry> access_functions() { return kAccess; }

}  // namespace hekla::cel
