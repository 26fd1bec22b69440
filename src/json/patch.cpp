#include "json/patch.h"

#include "json/pointer.h"

namespace hekla::json {
namespace {

std::size_t bytes_of(const Value& value) {
  std::size_t bytes = sizeof(Value);
  if (const String* text = value.if_string()) bytes += text->size();
  if (const Array* array = value.if_array())
    for (const Value& element : *array) bytes += bytes_of(element);
  if (const Object* object = value.if_object())
    for (const auto& member : *object) bytes += member.key().size() + bytes_of(member.value());
  return bytes;
}

using Pointer = std::vector<std::string>;

class Patcher {
 public:
  explicit Patcher(Value document) : document_(std::move(document)) {}

  Result<void> apply(const Value& operation) {
    if (!operation.is_object()) return fail(Code::bad_request, "an operation must be an object");
    const Value* op = find(operation, "op");
    if (op == nullptr || !op->is_string()) return fail(Code::bad_request, "\"op\" is missing");
    const std::string_view name = sv(op->get_string());
    const Pointer path = TRY(pointer(operation, "path"));
    if (name == "remove") return remove(path);
    if (name == "move" || name == "copy") {
      const Pointer from = TRY(pointer(operation, "from"));
      return name == "move" ? move(from, path) : copy(from, path);
    }
    if (name != "add" && name != "replace" && name != "test")
      return fail(Code::bad_request, "unknown operation \"" + std::string(name) + "\"");
    const Value* value = find(operation, "value");
    if (value == nullptr) return fail(Code::bad_request, "\"value\" is missing");
    if (name == "test") return test(path, *value);
    return name == "add" ? add(path, *value) : replace(path, *value);
  }

  Value take() { return std::move(document_); }

 private:
  static Result<Pointer> pointer(const Value& operation, std::string_view member) {
    const Value* text = find(operation, member);
    if (text == nullptr || !text->is_string())
      return fail(Code::bad_request, "\"" + std::string(member) + "\" is missing");
    return parse_pointer(sv(text->get_string()));
  }

  static std::unexpected<Error> missing(const Pointer& path) {
    return fail(Code::not_found, "path \"" + pointer_text(path) + "\" does not exist");
  }

  static Result<void> check_depth(const Pointer& path, const Value& value) {
    if (path.size() <= kMaxDepth && !deeper_than(value, kMaxDepth - path.size())) return {};
    return fail(Code::too_large, "nested deeper than " + std::to_string(kMaxDepth));
  }

  // The container of the last token; null when there is none.
  Value* parent(const Pointer& path) {
    return find_pointer(document_, Pointer(path.begin(), path.end() - 1));
  }

  Result<void> add(const Pointer& path, Value value) {
    TRY(check_depth(path, value));
    return insert(path, std::move(value));
  }

  Result<void> insert(const Pointer& path, Value value) {
    if (path.empty()) {
      document_ = std::move(value);
      return {};
    }
    Value* container = parent(path);
    if (container == nullptr) return missing(path);
    if (Object* object = container->if_object()) {
      object->insert_or_assign(path.back(), std::move(value));
      return {};
    }
    Array* array = container->if_array();
    if (array == nullptr) return missing(path);
    const std::size_t index =
        path.back() == "-" ? array->size() : array_index(path.back(), array->size() + 1);
    if (index == std::string_view::npos) return missing(path);
    TRY(count_shifted(array->size() - index));
    array->insert(array->begin() + index, std::move(value));
    return {};
  }

  Result<void> remove(const Pointer& path) {
    if (path.empty()) return fail(Code::bad_request, "the whole document cannot be removed");
    Value* container = parent(path);
    if (container == nullptr) return missing(path);
    if (Object* object = container->if_object()) {
      const auto found = object->find(path.back());
      if (found == object->end()) return missing(path);
      erase_member(*object, found);
      return {};
    }
    Array* array = container->if_array();
    const std::size_t index =
        array == nullptr ? std::string_view::npos : array_index(path.back(), array->size());
    if (index == std::string_view::npos) return missing(path);
    TRY(count_shifted(array->size() - index));
    array->erase(array->begin() + index);
    return {};
  }

  // Ten thousand operations at the beginning of a list of a million would take minutes.
  Result<void> count_shifted(std::size_t elements) {
    shifted_ += elements;
    if (shifted_ <= kPatchShiftedMax) return {};
    return fail(Code::too_large, "the operations of the JSON patch move more than " +
                                     std::to_string(kPatchShiftedMax) + " elements");
  }

  Result<void> replace(const Pointer& path, const Value& value) {
    TRY(check_depth(path, value));
    if (Value* target = find_pointer(document_, path)) {
      *target = value;
      return {};
    }
    // Where RFC 6902 has an error, Kubernetes makes the member: clients clear what may be absent.
    Value* container = parent(path);
    Object* object = container != nullptr ? container->if_object() : nullptr;
    if (object == nullptr) return missing(path);
    object->insert_or_assign(path.back(), value);
    return {};
  }

  Result<void> move(const Pointer& from, const Pointer& path) {
    if (from == path) return find_pointer(document_, from) ? Result<void>{} : missing(from);
    if (from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin()))
      return fail(Code::bad_request, "a value cannot be moved into itself");
    Value* source = find_pointer(document_, from);
    if (source == nullptr) return missing(from);
    if (path.size() > from.size()) {
      TRY(count_shifted(bytes_of(*source) / sizeof(Value)));
      TRY(check_depth(path, *source));
    }
    Value value = std::move(*source);
    TRY(remove(from));
    return insert(path, std::move(value));
  }

  Result<void> copy(const Pointer& from, const Pointer& path) {
    const Value* source = find_pointer(document_, from);
    if (source == nullptr) return missing(from);
    copied_bytes_ += bytes_of(*source);
    if (copied_bytes_ > kPatchCopiedBytesMax)
      return fail(Code::too_large,
                  "unable to complete the copy, the accumulated size increase of copy "
                  "is " +
                      std::to_string(copied_bytes_) + ", exceeding the limit " +
                      std::to_string(kPatchCopiedBytesMax));
    return add(path, *source);
  }

  Result<void> test(const Pointer& path, const Value& value) {
    const Value* found = find_pointer(document_, path);
    if (found == nullptr && !value.is_null()) return missing(path);
    if (found == nullptr || equal(*found, value)) return {};
    return fail(Code::invalid, "testing value \"" + pointer_text(path) + "\" failed");
  }

  Value document_;
  std::size_t copied_bytes_ = 0, shifted_ = 0;
};

}  // namespace

Result<void> apply_json_patch(Value& document, const Value& patch) {
  const Array* operations = patch.if_array();
  if (operations == nullptr)
    return fail(Code::bad_request, "a JSON patch must be an array of operations");
  if (operations->size() > kPatchOperationsMax)
    return fail(Code::too_large, "the allowed maximum operations in a JSON patch is " +
                                     std::to_string(kPatchOperationsMax) + ", got " +
                                     std::to_string(operations->size()));
  Patcher patcher(document);
  for (std::size_t i = 0; i < operations->size(); ++i) {
    Result<void> done = patcher.apply((*operations)[i]);
    if (!done)
      return fail(done.error().code,
                  "JSON patch operation " + std::to_string(i) + ": " + done.error().message);
  }
  document = patcher.take();
  return {};
}

void apply_merge_patch(Value& target, const Value& patch) {
  const Object* changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  Object& object = target.get_object();
  for (const auto& member : *changes) {
    if (!member.value().is_null()) {
      apply_merge_patch(object[member.key()], member.value());
    } else if (const auto found = object.find(member.key()); found != object.end()) {
      erase_member(object, found);
    }
  }
}

Value diff_merge(const Value& from, const Value& to) {
  const Object* wanted = to.if_object();
  if (wanted == nullptr) return to;
  static const Object nothing;
  const Object& old = from.is_object() ? from.get_object() : nothing;
  Object patch;
  for (const auto& member : old) {
    const Value* next = find(*wanted, member.key());
    const bool gone = next == nullptr || (next->is_null() && !member.value().is_null());
    if (gone) patch.emplace(member.key(), nullptr);
  }
  for (const auto& member : *wanted) {
    if (member.value().is_null()) continue;
    const Value* before = find(old, member.key());
    if (before != nullptr && equal(*before, member.value())) continue;
    patch.emplace(member.key(), diff_merge(before == nullptr ? Value() : *before, member.value()));
  }
  return patch;
}

}  // namespace hekla::json
