// deviceshare: GPUs shared by pods. Three ways, one at a time: by memory (resource
// volcano.sh/gpu-memory: a pod gets its memory on one card), by number (volcano.sh/gpu-number:
// whole cards), or as virtual GPUs (volcano.sh/vgpu-number, -memory, -memory-percentage, -cores).
// Cards are known from the node (its capacity, or the annotation volcano.sh/node-vgpu-register),
// what pods have of them from the pods' annotations (volcano.sh/gpu-index,
// volcano.sh/vgpu-ids-new), which the binding brings along for the device plugin.
//
// Arguments: deviceshare.GPUSharingEnable, deviceshare.GPUNumberEnable, deviceshare.VGPUEnable (all
// false), deviceshare.SchedulePolicy (binpack or spread), deviceshare.ScheduleWeight (0).
//
// Differs from Volcano: cards reported as unhealthy get no virtual GPUs; nodes are not locked, nor
// is their device plugin asked for signs of life; MIG and Ascend devices are refused.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::int64_t number_in(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Something a pod has of a card.
struct Share {
  std::size_t card = 0;
  std::int64_t memory = 0, cores = 0;
};

struct Card {
  std::string uuid, type;
  std::int64_t memory = 0;
  std::int64_t most_pods = 0;  // of virtual GPUs
  bool healthy = true;
  std::int64_t pods = 0, used_memory = 0, used_cores = 0;
};

struct Cards {
  std::vector<Card> all;
  bool mig = false;
};

// What a pod gets: shares by container, and the annotations that say so.
struct Grant {
  std::vector<Share> shares;
  std::vector<std::vector<Share>> by_container;
  double score = 0;
};

// Its device plugin has not registered any, or has taken them back: the resource may still be
// there.
constexpr const char* kNoCards = "node not initialized with device";

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

bool names_type(std::string_view list, const std::string& type) {
  for (std::string_view one : parts_of(list, ','))
    if (upper(type).find(upper(one)) != std::string::npos) return true;
  return false;
}

class DeviceShare final : public Plugin {
 public:
  explicit DeviceShare(const Arguments& arguments)
      : by_memory_(arguments.boolean("deviceshare.GPUSharingEnable", false)),
        by_number_(arguments.boolean("deviceshare.GPUNumberEnable", false)),
        virtual_(arguments.boolean("deviceshare.VGPUEnable", false)),
        weight_(arguments.number("deviceshare.ScheduleWeight", 0)) {
    std::string policy = arguments.choice("deviceshare.SchedulePolicy", {"binpack", "spread"});
    binpack_ = policy == "binpack";
    spread_ = policy == "spread";
    arguments.ignore("deviceshare.NodeLockEnable");  // nodes are not locked
    arguments.ignore("deviceshare.AscendMindClusterVNPUEnable");
    arguments.ignore("deviceshare.AscendHAMiVNPUEnable");
  }
  Hooks hooks() const override {
    if (!by_memory_ && !by_number_ && !virtual_) return {};
    return hooks_of(
        {Hook::task_predicate, Hook::batch_node_order, Hook::reserve, Hook::prepare_bind});
  }

  void open(Session& session) override {
    session_ = &session;
    known_.clear();
    // What was promised stands in the pod's annotations by the time its binding is confirmed.
    std::erase_if(promised_, [&](const auto& one) {
      const Task& task = session.at(one.first);
      return !task.live || task.uid != one.second.uid || task.node != one.second.node ||
             !task.annotation(annotation()).empty();
    });
  }

  bool concerns(TaskId id) const override {
    const std::vector<DeviceRequest>& wanted = session_->at(id).devices;
    return std::any_of(wanted.begin(), wanted.end(), [&](const DeviceRequest& one) {
      return (by_memory_ && one.gpu_memory > 0) || (by_number_ && one.gpu_number > 0) ||
             (virtual_ && one.vgpu_number > 0);
    });
  }

  void filter_task(TaskId id, std::span<const NodeId> nodes, std::span<ReasonId> reasons) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (reasons[i] != kFeasible) continue;
      std::string why;
      if (cards_of(nodes[i]).all.empty())
        reasons[i] = session_->reasons().intern(kNoCards, false);
      else if (!grant(id, nodes[i], &why))
        reasons[i] = session_->reasons().intern(why, true);
    }
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    if (weight_ <= 0 || !virtual_) return;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (std::optional<Grant> got = grant(id, nodes[i], nullptr))
        scores[i] += weight_ * std::floor(got->score + 0.5);
  }

  bool reserve(TaskId id, NodeId node) override {
    std::optional<Grant> got = grant(id, node, nullptr);
    if (!got) return false;
    promised_[id] = {session_->at(id).uid, node, std::move(*got)};
    return true;
  }
  void unreserve(TaskId id, NodeId) override { promised_.erase(id); }

  void prepare_bind(TaskId id, NodeId node, BindPreparation& with) override {
    auto promise = promised_.find(id);
    if (promise == promised_.end() || promise->second.grant.shares.empty()) return;
    const Grant& got = promise->second.grant;
    auto nanos = session_->now().time_since_epoch().count();
    std::string seconds = std::to_string(nanos / 1'000'000'000);
    if (!virtual_) {
      std::string ids;
      for (const Share& share : got.shares)
        ids.append(ids.empty() ? "" : ",").append(std::to_string(share.card));
      with.annotations.emplace_back("volcano.sh/predicate-time", std::to_string(nanos));
      with.annotations.emplace_back("volcano.sh/gpu-index", ids);
      return;
    }
    std::string ids = encode(got, cards_of(node));
    with.annotations.emplace_back("volcano.sh/vgpu-node", session_->cluster().at(node).name);
    with.annotations.emplace_back("volcano.sh/vgpu-time", seconds);
    with.annotations.emplace_back("volcano.sh/vgpu-ids-new", ids);
    with.annotations.emplace_back("volcano.sh/devices-to-allocate", ids);
    with.annotations.emplace_back("volcano.sh/bind-phase", "allocating");
    with.annotations.emplace_back("volcano.sh/bind-time", seconds);
  }

 private:
  struct Promise {
    std::string uid;
    NodeId node;
    Grant grant;
  };

  std::string_view annotation() const {
    return virtual_ ? "volcano.sh/vgpu-ids-new" : "volcano.sh/gpu-index";
  }

  // ---- what there is

  Cards cards_of(NodeId id) const {
    const NodeShape& shape = session_->cluster().at(id).shape;
    return virtual_ ? registered_cards(shape) : plain_cards(shape);
  }
  // All cards of a node are equal.
  Cards plain_cards(const NodeShape& shape) const {
    Cards cards;
    const Dimensions& dimensions = session_->cluster().dimensions();
    std::optional<Dim> memory = dimensions.find("volcano.sh/gpu-memory");
    std::optional<Dim> number = dimensions.find("volcano.sh/gpu-number");
    if (!memory || !number || shape.capacity[*number] < 1000) return cards;
    std::int64_t count = shape.capacity[*number] / 1000;
    cards.all.resize(static_cast<std::size_t>(count));
    for (Card& card : cards.all) card.memory = shape.capacity[*memory] / 1000 / count;
    std::string_view broken = shape.annotation("volcano.sh/gpu-unhealthy-ids");
    for (std::string_view one :
         broken.empty() ? std::vector<std::string_view>() : parts_of(broken, ','))
      if (auto which = static_cast<std::size_t>(number_in(one)); which < cards.all.size())
        cards.all[which].healthy = false;
    return cards;
  }
  // "uuid,count,memory,type,health,mode:..." with an empty end.
  static Cards registered_cards(const NodeShape& shape) {
    Cards cards;
    if (!shape.annotation("volcano.sh/node-vgpu-handshake").empty()) return cards;
    for (std::string_view one : parts_of(shape.annotation("volcano.sh/node-vgpu-register"), ':')) {
      std::vector<std::string_view> items = parts_of(one, ',');
      if (items.size() < 6) continue;
      Card card;
      card.uuid = std::string(items[0]);
      card.most_pods = number_in(items[1]);
      card.memory = number_in(items[2]);
      card.type = std::string(items[3]);
      card.healthy = items[4] == "true";
      cards.mig |= items[5] == "mig";
      cards.all.push_back(std::move(card));
    }
    return cards;
  }

  // ---- what pods have of it

  const std::vector<Share>& shares_of(TaskId id, const Cards& cards) {
    if (auto promise = promised_.find(id); promise != promised_.end())
      return promise->second.grant.shares;
    auto [known, fresh] = known_.try_emplace(id);
    std::vector<Share>& shares = known->second;
    std::string_view text = session_->at(id).annotation(annotation());
    if (!fresh || text.empty()) return shares;
    if (!virtual_) {
      for (std::string_view one : parts_of(text, ','))
        shares.push_back({static_cast<std::size_t>(number_in(one)), total_memory(id), 0});
      return shares;
    }
    for (std::string_view container : parts_of(text, ';'))
      for (std::string_view device : parts_of(container, ':')) {
        std::vector<std::string_view> items = parts_of(device, ',');
        if (items.size() < 4) continue;
        for (std::size_t card = 0; card < cards.all.size(); ++card)
          if (items[0].find(cards.all[card].uuid) != std::string_view::npos)
            shares.push_back({card, number_in(items[2]), number_in(items[3])});
      }
    return shares;
  }
  Cards current_cards(NodeId id) {
    Cards cards = cards_of(id);
    if (cards.all.empty()) return cards;
    for (TaskId task : session_->cluster().at(id).tasks)
      for (const Share& share : shares_of(task, cards)) charge(cards, share);
    return cards;
  }
  static void charge(Cards& cards, const Share& share) {
    if (share.card >= cards.all.size()) return;
    Card& card = cards.all[share.card];
    ++card.pods;
    card.used_memory += share.memory;
    card.used_cores += share.cores;
  }

  // ---- what a pod would get

  std::int64_t total_memory(TaskId id) const {
    std::int64_t sum = 0, init = 0;
    for (const DeviceRequest& one : session_->at(id).devices)
      one.init ? init = std::max(init, one.gpu_memory) : sum += one.gpu_memory;
    return std::max(sum, init);
  }
  std::int64_t total_number(TaskId id) const {
    std::int64_t sum = 0, init = 0;
    for (const DeviceRequest& one : session_->at(id).devices)
      one.init ? init = std::max(init, one.gpu_number) : sum += one.gpu_number;
    return std::max(sum, init);
  }

  std::optional<Grant> grant(TaskId id, NodeId node, std::string* why) {
    Cards cards = current_cards(node);
    if (cards.all.empty()) return std::nullopt;
    if (virtual_) return grant_virtual(id, cards, why);
    const std::string& name = session_->cluster().at(node).name;
    if (by_memory_) return grant_memory(id, cards, name, why);
    return grant_number(id, cards, name, why);
  }
  std::optional<Grant> grant_memory(TaskId id, const Cards& cards, const std::string& node,
                                    std::string* why) const {
    std::int64_t wanted = total_memory(id);
    for (std::size_t i = 0; i < cards.all.size(); ++i)
      if (cards.all[i].healthy && cards.all[i].memory - cards.all[i].used_memory >= wanted)
        return Grant{{{i, wanted, 0}}, {}, 0};
    if (why != nullptr) *why = "GpuShare no enough gpu memory on node " + node;
    return std::nullopt;
  }
  std::optional<Grant> grant_number(TaskId id, const Cards& cards, const std::string& node,
                                    std::string* why) const {
    auto wanted = static_cast<std::size_t>(total_number(id));
    Grant got;
    for (std::size_t i = 0; i < cards.all.size() && got.shares.size() < wanted; ++i)
      if (cards.all[i].healthy && cards.all[i].pods == 0) got.shares.push_back({i, 0, 0});
    if (got.shares.size() == wanted) return got;
    if (why != nullptr) *why = "GpuNumber no enough gpu number on node " + node;
    return std::nullopt;
  }
  std::optional<Grant> grant_virtual(TaskId id, Cards& cards, std::string* why) const {
    Grant got;
    const Task& task = session_->at(id);
    std::string_view mode = task.annotation("volcano.sh/vgpu-mode");
    bool fits = !cards.mig && (mode.empty() || mode == "hami-core");
    for (const DeviceRequest& wanted : task.devices) {
      if (wanted.init || wanted.vgpu_number == 0) continue;
      std::vector<Share> shares;
      // From the last card on, as the device plugin expects it.
      for (std::size_t i = cards.all.size(); i-- > 0 && fits;) {
        if (static_cast<std::int64_t>(shares.size()) == wanted.vgpu_number) break;
        Share share{i, memory_on(cards.all[i], wanted), wanted.vgpu_cores};
        if (!takes(cards.all[i], share, task)) continue;
        charge(cards, share);
        got.score += score_of(cards.all[i]);
        shares.push_back(share);
      }
      fits = fits && static_cast<std::int64_t>(shares.size()) == wanted.vgpu_number;
      got.shares.insert(got.shares.end(), shares.begin(), shares.end());
      got.by_container.push_back(std::move(shares));
    }
    if (fits) return got;
    if (why != nullptr)
      *why = cards.mig ? "node(s) divide their GPUs by MIG, which deviceshare does not support"
                       : "hami-vgpuDeviceSharing error";
    return std::nullopt;
  }
  static std::int64_t memory_on(const Card& card, const DeviceRequest& wanted) {
    if (wanted.vgpu_percent > 0) return card.memory * wanted.vgpu_percent / 100;
    return wanted.vgpu_memory > 0 ? wanted.vgpu_memory : card.memory;
  }
  static bool takes(const Card& card, const Share& share, const Task& task) {
    if (!card.healthy || card.pods >= card.most_pods) return false;
    if (card.memory - card.used_memory < share.memory) return false;
    if (card.used_cores + share.cores > 100) return false;
    if (share.cores == 100 && card.pods > 0) return false;         // it wants the card alone
    if (share.cores == 0 && card.used_cores == 100) return false;  // somebody has it alone
    if (card.type.find("NVIDIA") == std::string::npos) return false;
    std::string_view wanted = task.annotation("nvidia.com/use-gputype");
    if (!wanted.empty()) return names_type(wanted, card.type);
    std::string_view refused = task.annotation("nvidia.com/nouse-gputype");
    return refused.empty() || !names_type(refused, card.type);
  }
  double score_of(const Card& card) const {
    if (binpack_)
      return 100 * static_cast<double>(card.used_memory) / static_cast<double>(card.memory);
    return spread_ && card.pods == 1 ? 100 : 0;
  }
  static std::string encode(const Grant& got, const Cards& cards) {
    std::string out;
    for (std::size_t i = 0; i < got.by_container.size(); ++i) {
      if (i > 0) out += ";";
      for (const Share& share : got.by_container[i])
        out += cards.all[share.card].uuid + ",NVIDIA," + std::to_string(share.memory) + "," +
               std::to_string(share.cores) + ":";
    }
    return out;
  }

  Session* session_ = nullptr;
  bool by_memory_, by_number_, virtual_, binpack_, spread_;
  double weight_;
  std::map<TaskId, Promise> promised_;
  std::map<TaskId, std::vector<Share>> known_;  // read in this session
};

Result<void> check_deviceshare(const PluginOption& option) {
  const Arguments& given = option.arguments;
  auto on = [&](std::string_view name) { return given.boolean(name, false); };
  bool memory = on("deviceshare.GPUSharingEnable"), number = on("deviceshare.GPUNumberEnable");
  if (memory && number)
    return fail(Code::invalid,
                "deviceshare: GPUSharingEnable and GPUNumberEnable exclude each other");
  if ((memory || number) && on("deviceshare.VGPUEnable"))
    return fail(Code::invalid,
                "deviceshare: VGPUEnable excludes GPUSharingEnable and GPUNumberEnable");
  for (std::string_view name :
       {"deviceshare.AscendMindClusterVNPUEnable", "deviceshare.AscendHAMiVNPUEnable"})
    if (on(name)) return fail(Code::invalid, std::string(name) + " is not supported");
  return {};
}

}  // namespace

extern const PluginInfo plugin_deviceshare;
const PluginInfo plugin_deviceshare{
    "deviceshare", "GPUs shared by memory, by number, or as virtual GPUs",
    "deviceshare.GPUSharingEnable (false), deviceshare.GPUNumberEnable (false), "
    "deviceshare.VGPUEnable (false), deviceshare.SchedulePolicy (none), "
    "deviceshare.ScheduleWeight (0)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<DeviceShare>(option.arguments);
    },
    check_deviceshare};

}  // namespace hekla::scheduler
