// Where the components of one process share the decoded form of an object. Several informers follow
// pods; decoded by each, a pod would stand in memory four times over. The slot belongs to whoever
// owns the bytes and holds no decoded value alive: when the last informer lets go, it is gone.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "json/codec.h"

namespace hekla::kube {

class Decoded {
 public:
  template <class T>
  Result<std::shared_ptr<const T>> get(const std::string& text) {
    Source source{&kTypeOf<T>, &text};
    if (std::shared_ptr<const void> value = find(source))
      return std::static_pointer_cast<const T>(value);
    T decoded = TRY(json::decode_text<T>(text));
    // Not make_shared: the weak reference would keep the value's memory.
    std::shared_ptr<const T> fresh = std::make_unique<const T>(std::move(decoded));
    return std::static_pointer_cast<const T>(keep(source, std::move(fresh)));
  }

 private:
  template <class T>
  static constexpr char kTypeOf = 0;

  // What was decoded: two revisions may share a slot, the last state of a removed object is one.
  struct Source {
    const void* type = nullptr;
    const std::string* text = nullptr;
    bool operator==(const Source&) const = default;
  };
  std::shared_ptr<const void> find(Source source);
  // The value that was kept first, if another thread was faster.
  std::shared_ptr<const void> keep(Source source, std::shared_ptr<const void> value);
  std::mutex& lock() const;

  Source source_;
  std::weak_ptr<const void> value_;
};

}  // namespace hekla::kube
