#include "apiserver/read/filter.h"

#include <algorithm>

#include "apiserver/object/object_header.h"
#include "apiserver/object/storage.h"

namespace hekla::apiserver {

Result<ObjectFilter> ObjectFilter::parse(const Kind& kind, std::string_view label_selector,
                                         std::string_view field_selector) {
  ObjectFilter filter;
  Result<model::Selector> labels = model::Selector::parse(label_selector);
  if (!labels) return fail(Code::bad_request, labels.error().message);
  Result<model::FieldSelector> fields = model::FieldSelector::parse(field_selector);
  if (!fields) return fail(Code::bad_request, fields.error().message);
  for (const model::FieldSelector::Term& term : fields->terms)
    if (term.field != "metadata.name" && term.field != "metadata.namespace" &&
        !kind.selectable.contains(term.field))
      return fail(Code::bad_request,
                  kind.label_error_names_kind
                      ? "field label \"" + term.field + "\" not supported for " + kind.resource.kind
                  : kind.selectable.empty() && !kind.custom
                      ? "\"" + term.field +
                            "\" is not a known field selector: only \"metadata.name\", "
                            "\"metadata.namespace\""
                      : "field label not supported: " + term.field);
  filter.labels_ = std::move(*labels);
  filter.fields_ = std::move(*fields);
  return filter;
}

bool ObjectFilter::matches(const ServedKind& served, const store::Item& item) const {
  const ObjectHeader& header = header_of(item);
  if (!labels_.empty() && !labels_.matches([&](std::string_view key) { return header.label(key); }))
    return false;
  std::optional<json::Value> object;  // parsed only when the header does not know a field
  for (const model::FieldSelector::Term& term : fields_.terms) {
    std::string made;
    std::string_view value;
    if (term.field == "metadata.name") {
      value = header.name;
    } else if (term.field == "metadata.namespace") {
      value = header.ns;
    } else if (!served.kind->custom && served.kind == served.storage) {
      if (const std::string* known = header.field(term.field)) value = *known;
    } else {
      if (!object) object = decode_object(served, item);
      value = made = served.kind->selectable.at(term.field)(*object);
    }
    if ((value == term.value) != term.equal) return false;
  }
  return true;
}

bool ObjectFilter::waits_for_conversion(const Kind& kind) const {
  return kind.storage.conversion &&
         std::ranges::any_of(fields_.terms, [&](const model::FieldSelector::Term& term) {
           return kind.selectable.contains(term.field);
         });
}

ObjectFilter ObjectFilter::before_conversion(const Kind& kind) const {
  ObjectFilter rest = *this;
  if (kind.storage.conversion)
    std::erase_if(rest.fields_.terms, [&](const model::FieldSelector::Term& term) {
      return kind.selectable.contains(term.field);
    });
  return rest;
}

std::optional<std::string> ObjectFilter::exact_name() const {
  for (const model::FieldSelector::Term& term : fields_.terms)
    if (term.field == "metadata.name" && term.equal) return term.value;
  return std::nullopt;
}

void ObjectFilter::require_name(std::string name) {
  fields_.terms.push_back({"metadata.name", std::move(name), true});
}

}  // namespace hekla::apiserver
