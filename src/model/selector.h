// Label selectors in text form ("app in (a,b),!x") and in object form, and field selectors.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::model {

using Labels = std::map<std::string, std::string>;

class Selector {
 public:
  // kubectl's -l syntax; an empty text matches everything.
  static Result<Selector> parse(std::string_view text);
  // metav1.LabelSelector {matchLabels, matchExpressions}; an empty object matches everything.
  static Result<Selector> from_label_selector(const json::Value& value);
  static Selector of(const Labels& match_labels);

  bool matches(const Labels& labels) const;
  // `get` returns the value of a label or nullptr.
  bool matches(const std::function<const std::string*(std::string_view)>& get) const;
  bool empty() const { return requirements_.empty(); }
  std::string text() const;

  // in, not_in, exists, absent as in -l; greater, less (Gt, Lt) as in node affinity.
  enum class Op { in, not_in, exists, absent, greater, less };
  struct Requirement {
    std::string key;
    Op op = Op::in;
    std::vector<std::string> values;
  };
  const std::vector<Requirement>& requirements() const { return requirements_; }
  void add(Requirement requirement) { requirements_.push_back(std::move(requirement)); }

 private:
  std::vector<Requirement> requirements_;
};

// "status.phase=Running,metadata.name!=x"
struct FieldSelector {
  struct Term {
    std::string field, value;
    bool equal = true;
  };
  std::vector<Term> terms;
  static Result<FieldSelector> parse(std::string_view text);
};

}  // namespace hekla::model
