// Label and field selectors of a request, evaluated on object headers wherever the header knows
// enough.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/object/registry.h"
#include "base/result.h"
#include "model/selector.h"
#include "store/store.h"

namespace hekla::apiserver {

class ObjectFilter {
 public:
  // 400 for a selector that cannot be read or names a field the kind does not select by.
  static Result<ObjectFilter> parse(const Kind& kind, std::string_view label_selector,
                                    std::string_view field_selector);

  bool matches(const ServedKind& served, const store::Item& item) const;
  // Whether fields are asked for that a webhook may first have to bring: what is stored in another
  // version cannot be judged by them.
  bool waits_for_conversion(const Kind& kind) const;
  // The part that can be judged before that.
  ObjectFilter before_conversion(const Kind& kind) const;
  bool everything() const { return labels_.empty() && fields_.terms.empty(); }
  // The one name a metadata.name= term allows.
  std::optional<std::string> exact_name() const;
  // Narrows to one object, for a watch by URL.
  void require_name(std::string name);

 private:
  model::Selector labels_;
  model::FieldSelector fields_;
};

}  // namespace hekla::apiserver
