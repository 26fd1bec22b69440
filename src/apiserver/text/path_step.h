// One path for a whole walk over an object, longer and shorter as the walk goes down and up: a copy
// at every member would cost (length x members), and a hostile object has long names and many
// members.
#pragma once

#include <string>
#include <string_view>

namespace hekla::apiserver {

// Extends the path for its lifetime; without a path it does nothing.
class PathStep {
 public:
  PathStep(std::string* path, std::string_view member) : path_(path) {
    if (path_ == nullptr) return;
    size_ = path_->size();
    if (size_ > 0) *path_ += '.';
    *path_ += member;
  }
  struct Key {
    std::string_view name;
  };
  PathStep(std::string* path, Key key) : path_(path) {
    if (path_ == nullptr) return;
    size_ = path_->size();
    *path_ += '[';
    *path_ += key.name;
    *path_ += ']';
  }
  PathStep(std::string* path, std::size_t index) : path_(path) {
    if (path_ == nullptr) return;
    size_ = path_->size();
    *path_ += '[';
    *path_ += std::to_string(index);
    *path_ += ']';
  }
  ~PathStep() {
    if (path_ != nullptr) path_->resize(size_);
  }
  PathStep(const PathStep&) = delete;
  PathStep& operator=(const PathStep&) = delete;

 private:
  std::string* path_;
  std::size_t size_ = 0;
};

}  // namespace hekla::apiserver
