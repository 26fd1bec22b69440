// The image of the container that is launched next: pull policies, back-off, and the kubelet's
// words for what can go wrong. Lives inside the pod's worker.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agent/pod/worker/pod_state.h"

namespace hekla::agent {

class ImagePull {
 public:
  explicit ImagePull(PodState& state) : state_(state) {}

  // Calls `next` when the container's image is here. When it cannot be had at present, the
  // container is held and the worker steps.
  void prepare(std::size_t container, std::function<void()> next);
  // The image that prepare() has found; none: the machine's own file system.
  const std::optional<StoredImage>& image() const { return image_; }
  // The event's words for how it got here.
  const std::string& message() const { return message_; }

  // Busy with a pull, for which the pod's end does not wait.
  bool is_pulling() const { return pulling_; }
  // Ends the work; the image may still come, for the next pod.
  void give_up();
  // The container has another image now.
  void forget(const std::string& container) { failures_.erase(container); }

 private:
  // An image that is not here is made as `otherwise` says, if that is given.
  void find(std::size_t container, const ImageReference& image, const std::string& policy,
            const HostImageSpec* otherwise);
  // By a recipe of ours.
  void make(std::size_t container, const HostImageSpec& mapped);
  void make_progress(std::size_t container, const std::string& text);
  void made(std::size_t container, const HostImageSpec& mapped, Result<StoredImage> image);
  void pull(std::size_t container, const ImageReference& image);
  void pulled(std::size_t container, WallTime begun, Result<StoredImage> image);
  void pull_failed(std::size_t container, const std::string& why);
  void refuse(std::size_t container, const Refusal& why, const char* event);
  void go_on();
  bool announce_back_off(const model::Container& spec);

  PodState& state_;
  std::function<void()> next_;
  std::optional<StoredImage> image_;
  std::string message_;
  bool pulling_ = false;
  int number_ = 0;  // of the latest pull, begun or given up: only that one is listened to
  std::map<std::string, int> failures_;  // in a row, by container
};

}  // namespace hekla::agent
