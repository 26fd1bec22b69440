// When a job's pods decide about the job: which failures end it, which successes are enough.
#include <charconv>
#include <optional>

#include "apiserver/kinds/rules/batch_rules.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {
namespace {

constexpr std::size_t kMaxRules = 20, kMaxExitCodes = 255, kMaxConditions = 20,
                      kMaxIndexText = 64 * 1024;

void check_exit_codes(const Field& codes, const std::set<std::string>& containers, Rules& rules) {
  if (codes["operator"].text().empty())
    rules.required(codes["operator"], R"(valid values: ["In" "NotIn"])");
  else
    rules.one_of(codes["operator"], {"In", "NotIn"});
  const Field container = codes["containerName"], values = codes["values"];
  if (container.present() && !containers.contains(std::string(container.text())))
    rules.invalid(container,
                  "must be one of the container or initContainer names in the pod template");
  if (values.items().empty())
    rules.invalid(values, "at least one value is required");
  else if (values.items().size() > kMaxExitCodes)
    rules.causes.push_back(too_many(values.path(), values.items().size(), kMaxExitCodes));
  std::set<std::int64_t> seen;
  bool ordered = true;
  for (std::size_t i = 0; i < values.items().size(); ++i) {
    const std::int64_t code = values.at(i).number();
    if (code == 0 && codes["operator"].text() == "In")
      rules.invalid(values.at(i), "must not be 0 for the In operator");
    if (!seen.insert(code).second) rules.duplicate(values.at(i));
    ordered = ordered && (i == 0 || values.at(i - 1).number() <= code);
  }
  if (!ordered) rules.invalid(values, "must be ordered");
}

void check_conditions(const Field& conditions, Rules& rules) {
  if (conditions.items().size() > kMaxConditions)
    rules.causes.push_back(too_many(conditions.path(), conditions.items().size(), kMaxConditions));
  for (std::size_t i = 0; i < conditions.items().size(); ++i) {
    rules.qualified_name(conditions.at(i)["type"]);
    if (conditions.at(i)["status"].text().empty())
      rules.required(conditions.at(i)["status"], R"(valid values: ["False" "True" "Unknown"])");
    else
      rules.one_of(conditions.at(i)["status"], {"False", "True", "Unknown"});
  }
}

void check_failure_rule(const Field& rule, bool per_index, const std::set<std::string>& containers,
                        Rules& rules) {
  if (rule["action"].text().empty())
    rules.required(rule["action"], R"(valid values: ["Count" "FailIndex" "FailJob" "Ignore"])");
  else if (rule["action"].text() == "FailIndex" && !per_index)
    rules.invalid(rule["action"], "requires the backoffLimitPerIndex to be set");
  else
    rules.one_of(rule["action"], {"Count", "FailIndex", "FailJob", "Ignore"});
  const bool codes = rule["onExitCodes"].present(),
             conditions = !rule["onPodConditions"].items().empty();
  if (codes) check_exit_codes(rule["onExitCodes"], containers, rules);
  check_conditions(rule["onPodConditions"], rules);
  if (codes == conditions)
    rules.causes.push_back(
        {"FieldValueInvalid",
         codes ? "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"
               : "Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
         rule.path()});
}

struct Indexes {
  std::int64_t count = 0;
  std::string wrong;
};

// "0-2,5" of a job with so many completions.
Indexes read_indexes(std::string_view text, std::int64_t completions) {
  Indexes found;
  std::optional<std::int64_t> last;
  const auto read = [&](std::string_view part) -> std::int64_t {
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (error != std::errc() || end != part.data() + part.size())
      found.wrong = "cannot convert string to integer for index: " + go_quote(part);
    else if (index >= completions)
      found.wrong = "too large index: " + go_quote(part);
    return index;
  };
  const auto decreasing = [](std::int64_t before, std::int64_t now) {
    return "non-increasing order, previous: " + std::to_string(before) +
           ", current: " + std::to_string(now);
  };
  while (!text.empty() || last) {
    const std::string_view part = text.substr(0, text.find(','));
    const std::size_t dash = part.find('-');
    if (dash != std::string_view::npos && part.find('-', dash + 1) != std::string_view::npos)
      found.wrong = "the fragment " + go_quote(part) +
                    " violates the requirement that an index interval can have at most two parts "
                    "separated by '-'";
    const std::int64_t from = found.wrong.empty() ? read(part.substr(0, dash)) : 0;
    std::int64_t to = from;
    if (found.wrong.empty() && dash != std::string_view::npos) {
      to = read(part.substr(dash + 1));
      if (found.wrong.empty() && from >= to) found.wrong = decreasing(from, to);
    }
    if (found.wrong.empty() && last && *last >= from) found.wrong = decreasing(*last, from);
    if (!found.wrong.empty()) return {0, found.wrong};
    found.count += to - from + 1;
    last = to;
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
  }
  return found;
}

void check_success_rule(const Field& rule, std::int64_t completions, Rules& rules) {
  const Field count = rule["succeededCount"], indexes = rule["succeededIndexes"];
  if (!count.present() && !indexes.present())
    rules.required(rule, "at least one of succeededCount or succeededIndexes must be specified");
  Indexes found;
  if (indexes.present()) {
    if (indexes.text().size() > kMaxIndexText)
      rules.causes.push_back(too_long(indexes.path(), kMaxIndexText));
    found = read_indexes(indexes.text(), completions);
    if (!found.wrong.empty())
      rules.invalid(indexes, "error parsing succeededIndexes: " + found.wrong);
  }
  if (!count.present()) return;
  rules.not_negative(count);
  if (count.number() > completions)
    rules.invalid(count, "must be less than or equal to " + std::to_string(completions) +
                             " (the number of specified completions)");
  if (indexes.present() && count.number() > found.count)
    rules.invalid(count, "must be less than or equal to " + std::to_string(found.count) +
                             " (the number of indexes in the specified succeededIndexes field)");
}

}  // namespace

void validate_failure_policy(const Field& spec, Rules& rules) {
  const Field list = spec["podFailurePolicy"]["rules"];
  if (list.items().size() > kMaxRules)
    rules.causes.push_back(too_many(list.path(), list.items().size(), kMaxRules));
  std::set<std::string> containers;
  for (std::string_view kind : {"containers", "initContainers"}) {
    const Field all = spec["template"]["spec"][kind];
    for (std::size_t i = 0; i < all.items().size(); ++i)
      containers.emplace(all.at(i)["name"].text());
  }
  for (std::size_t i = 0; i < list.items().size(); ++i)
    check_failure_rule(list.at(i), spec["backoffLimitPerIndex"].present(), containers, rules);
}

void validate_success_policy(const Field& spec, Rules& rules) {
  const Field list = spec["successPolicy"]["rules"];
  if (list.items().empty())
    rules.required(list,
                   "at least one rules must be specified when the successPolicy is specified");
  if (list.items().size() > kMaxRules)
    rules.causes.push_back(too_many(list.path(), list.items().size(), kMaxRules));
  for (std::size_t i = 0; i < list.items().size(); ++i)
    check_success_rule(list.at(i), spec["completions"].number(), rules);
}

}  // namespace hekla::apiserver
