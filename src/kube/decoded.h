// Where the components of one process share the decoded form of an object. Several informers follow
// pods; decoded by each, a pod would stand in memory four times over. The slots belong to whoever
// owns the bytes and hold no decoded value alive: when the last informer lets go, it is gone.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "json/codec.h"
#include "model/meta.h"

namespace hekla::kube {

class Decoded {
 public:
  // Whoever asks for the ObjectMeta alone is given that of the whole object where somebody has
  // decoded it.
  template <class T>
  Result<std::shared_ptr<const T>> get(const std::string& text) {
    if constexpr (std::same_as<T, model::ObjectMeta>) {
      if (std::shared_ptr<const T> metadata = find_metadata(text)) return metadata;
      std::shared_ptr<const Headed> headed = TRY(get<Headed>(text));
      return std::shared_ptr<const T>(headed, &headed->metadata);
    } else {
      Source source{&kTypeOf<T>, &text};
      if (std::shared_ptr<const void> value = find(source))
        return std::static_pointer_cast<const T>(value);
      // Not make_shared: the weak reference would keep the value's memory.
      std::unique_ptr<T> decoded = TRY(json::decode_text_new<T>(text));
      const model::ObjectMeta* metadata = nullptr;
      if constexpr (requires {
                      { decoded->metadata } -> std::same_as<model::ObjectMeta&>;
                    })
        metadata = &decoded->metadata;
      return std::static_pointer_cast<const T>(
          keep(source, std::shared_ptr<const T>(std::move(decoded)), metadata));
    }
  }

 private:
  struct Headed {
    model::ObjectMeta metadata;
    BOOST_DESCRIBE_CLASS(Headed, (), (metadata), (), ())
  };
  template <class T>
  static constexpr char kTypeOf = 0;

  // The text that was decoded: two revisions may share a slot, the last state of a removed object
  // is one.
  struct Source {
    const void* type = nullptr;
    const std::string* text = nullptr;
    bool operator==(const Source&) const = default;
  };
  struct Slot {
    Source source;
    std::weak_ptr<const void> value;
    const model::ObjectMeta* metadata = nullptr;  // of `value`
  };
  std::shared_ptr<const void> find(Source source);
  std::shared_ptr<const model::ObjectMeta> find_metadata(const std::string& text);
  // The value that was kept first, if another thread was faster.
  std::shared_ptr<const void> keep(Source source, std::shared_ptr<const void> value,
                                   const model::ObjectMeta* metadata);
  std::mutex& lock() const;

  // Two components may read the same object as different types.
  std::array<Slot, 2> slots_;
};

}  // namespace hekla::kube
