#include "agent/network/pod_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/route.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "agent/os/process.h"
#include "base/check.h"
#include "base/crypto.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

// Bears the gateway's address and nothing else: a bridge without ports, for not every kernel has
// dummy interfaces.
constexpr const char* kGateway = "hekla0";
constexpr const char* kNft = "/usr/sbin/nft";
constexpr const char* kPasta = "/usr/bin/pasta";
constexpr const char* kTun = "/dev/net/tun";
constexpr const char* kOutside = "hekla-out";
// Between the parent namespace and pasta alone; seen nowhere else.
constexpr const char *kOutsideAddress = "169.254.77.2", *kOutsideGateway = "169.254.77.1";
constexpr int kOutsideLooks = 100, kOutsidePauseMs = 30;

template <auto Release>
struct Releaser {
  template <class T>
  void operator()(T* object) const {
    Release(object);
  }
};
using Netlink = std::unique_ptr<nl_sock, Releaser<nl_socket_free>>;
using Link = std::unique_ptr<rtnl_link, Releaser<rtnl_link_put>>;
using Address = std::unique_ptr<rtnl_addr, Releaser<rtnl_addr_put>>;
using Route = std::unique_ptr<rtnl_route, Releaser<rtnl_route_put>>;
using NlAddress = std::unique_ptr<nl_addr, Releaser<nl_addr_put>>;

Result<void> netlink_result(int code, const std::string& what) {
  if (code >= 0) return {};
  return fail(code == -NLE_EXIST ? Code::already_exists : Code::internal,
              what + ": " + nl_geterror(code));
}

// Speaks to the network namespace the calling thread is in at this moment.
Result<Netlink> open_netlink() {
  Netlink socket(nl_socket_alloc());
  TRY(netlink_result(nl_connect(socket.get(), NETLINK_ROUTE), "open rtnetlink"));
  return socket;
}

// Keeps the thread from staying in a foreign network namespace whatever happens.
class NetnsVisit {
 public:
  explicit NetnsVisit(int home) : home_(home) {}
  ~NetnsVisit() {
    CHECK(::setns(home_, CLONE_NEWNET) == 0, "return to the host's network namespace");
  }
  NetnsVisit(const NetnsVisit&) = delete;

  Result<void> enter(const std::string& path) {
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return errno_error("open the network namespace " + path);
    if (::setns(fd.get(), CLONE_NEWNET) != 0) return errno_error("enter " + path);
    return {};
  }
  // A new namespace, pinned at `path`.
  Result<void> make(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
    if (!file) return errno_error("create " + path);
    if (::unshare(CLONE_NEWNET) != 0) return errno_error("make a network namespace");
    if (::mount("/proc/thread-self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return errno_error("pin the network namespace at " + path);
    return {};
  }

 private:
  int home_;
};

Result<void> set_up(nl_sock* socket, const char* name) {
  Link link(rtnl_link_alloc()), change(rtnl_link_alloc());
  unsigned index = ::if_nametoindex(name);
  if (index == 0) return errno_error(std::string("find the interface ") + name);
  rtnl_link_set_ifindex(link.get(), static_cast<int>(index));
  rtnl_link_set_flags(change.get(), IFF_UP);
  return netlink_result(rtnl_link_change(socket, link.get(), change.get(), 0),
                        std::string("set ") + name + " up");
}

NlAddress nl_address(std::uint32_t address, int prefix) {
  std::uint32_t raw = htonl(address);
  NlAddress out(nl_addr_build(AF_INET, &raw, sizeof raw));
  nl_addr_set_prefixlen(out.get(), prefix);
  return out;
}

Result<void> add_address(nl_sock* socket, const char* name, std::uint32_t address, int prefix) {
  Address entry(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(entry.get(), static_cast<int>(::if_nametoindex(name)));
  NlAddress local = nl_address(address, prefix);
  rtnl_addr_set_local(entry.get(), local.get());
  return netlink_result(rtnl_addr_add(socket, entry.get(), 0),
                        std::string("give ") + name + " the address " + ipv4_text(address));
}

struct Way {
  const char* over;  // an interface
  std::optional<std::uint32_t> gateway, source;
};

Result<void> add_route(nl_sock* socket, const NlAddress& to, const Way& way) {
  Route route(rtnl_route_alloc());
  rtnl_route_set_family(route.get(), AF_INET);
  rtnl_route_set_scope(route.get(), way.gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
  rtnl_route_set_dst(route.get(), to.get());
  if (way.source) rtnl_route_set_pref_src(route.get(), nl_address(*way.source, 32).get());
  rtnl_nexthop* hop = rtnl_route_nh_alloc();
  if (way.gateway) rtnl_route_nh_set_gateway(hop, nl_address(*way.gateway, 32).get());
  rtnl_route_nh_set_ifindex(hop, static_cast<int>(::if_nametoindex(way.over)));
  rtnl_route_add_nexthop(route.get(), hop);  // owns it now
  return netlink_result(rtnl_route_add(socket, route.get(), NLM_F_CREATE), "add a route");
}

// In the parent's namespace: a veth whose other end appears in the pod's as eth0.
Result<void> add_veth(nl_sock* socket, const std::string& name, int pod_netns) {
  CHECK(name.size() < IFNAMSIZ, "the kernel cuts longer names");
  Link link(rtnl_link_veth_alloc());
  if (!link) return fail(Code::internal, "allocate a veth link");
  rtnl_link_set_name(link.get(), name.c_str());
  // The library counts the peer: what get_peer returns has to be put back.
  Link peer(rtnl_link_veth_get_peer(link.get()));
  rtnl_link_set_name(peer.get(), "eth0");
  rtnl_link_set_ns_fd(peer.get(), pod_netns);
  return netlink_result(rtnl_link_add(socket, link.get(), NLM_F_CREATE | NLM_F_EXCL),
                        "make the veth pair " + name);
}

// Settings of the parent namespace, which the thread is in, for interfaces to come: it routes
// between pods, tells no pod of a shorter way past the translation, and believes a source address
// only on the interface that leads back to it, so that a pod speaks for itself alone. Pods have no
// IPv6 address, and no policy would see such packets.
Result<void> route_between_pods() {
  const std::string conf = "/proc/sys/net/ipv4/conf/";
  const std::pair<std::string, const char*> settings[] = {
      {"/proc/sys/net/ipv4/ip_forward", "1"},
      {conf + "all/send_redirects", "0"},
      {conf + "default/send_redirects", "0"},
      {conf + "all/rp_filter", "0"},  // the greater of the two counts
      {conf + "default/rp_filter", "1"},
      {"/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"}};
  for (const auto& [path, value] : settings) {
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) continue;  // a kernel without IPv6
    if (!file || ::write(file.get(), value, 1) != 1) return errno_error("write " + path);
  }
  return {};
}

std::string veth_name(const std::string& uid) { return "v" + sha256_hex(uid).substr(0, 12); }

}  // namespace

Result<void> PodNetwork::prepare_here() {
  NetnsVisit visit(host_netns_);
  const bool known = is_pinned_namespace(parent());
  TRY(known ? visit.enter(parent()) : visit.make(parent()));
  TRY(route_between_pods());
  if (known) return {};
  Netlink socket = TRY(open_netlink());
  TRY(set_up(socket.get(), "lo"));
  Link gateway(rtnl_link_bridge_alloc());
  rtnl_link_set_name(gateway.get(), kGateway);
  TRY(netlink_result(rtnl_link_add(socket.get(), gateway.get(), NLM_F_CREATE | NLM_F_EXCL),
                     "make the gateway's interface"));
  TRY(add_address(socket.get(), kGateway, subnet_.gateway(), subnet_.prefix));
  return set_up(socket.get(), kGateway);
}

Result<void> PodNetwork::add_pod_here(const std::string& uid, std::uint32_t address) {
  CHECK(!uid.empty() && uid != "parent", "a pod's namespace has its own name");
  CHECK(address != subnet_.gateway(), "the gateway is nobody's pod");
  TRY(remove_pod(uid));
  NetnsVisit visit(host_netns_);
  TRY(visit.make(paths_.netns(uid)));
  FileDescriptor pod(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!pod) return errno_error("open the pod's network namespace");
  Netlink inside = TRY(open_netlink());
  TRY(set_up(inside.get(), "lo"));
  TRY(visit.enter(parent()));
  Netlink outside = TRY(open_netlink());
  const std::string veth = veth_name(uid);
  TRY(add_veth(outside.get(), veth, pod.get()));
  TRY(set_up(outside.get(), veth.c_str()));
  TRY(add_route(outside.get(), nl_address(address, 32),
                {veth.c_str(), std::nullopt, subnet_.gateway()}));
  TRY(visit.enter(paths_.netns(uid)));
  // A network of one address: everything is routed, also to the neighbour. Nobody shares a link
  // with another pod, so nothing goes past translations and policies, and nobody can answer in
  // another's name.
  TRY(add_address(inside.get(), "eth0", address, 32));
  TRY(set_up(inside.get(), "eth0"));
  TRY(add_route(inside.get(), nl_address(subnet_.gateway(), 32),
                {"eth0", std::nullopt, std::nullopt}));
  return add_route(inside.get(), nl_address(0, 0), {"eth0", subnet_.gateway(), std::nullopt});
}

Result<void> PodNetwork::remove_pod_here(const std::string& uid) {
  const std::string path = paths_.netns(uid);
  // A namespace still held by a dying process would keep its end of the veth; take it away by name.
  if (is_pinned_namespace(path)) {
    NetnsVisit visit(host_netns_);
    TRY(visit.enter(parent()));
    Netlink socket = TRY(open_netlink());
    Link link(rtnl_link_alloc());
    rtnl_link_set_name(link.get(), veth_name(uid).c_str());
    int code = rtnl_link_delete(socket.get(), link.get());
    if (code < 0 && code != -NLE_NODEV && code != -NLE_OBJ_NOTFOUND)
      return netlink_result(code, "remove the veth pair of " + uid);
    if (::umount2(path.c_str(), MNT_DETACH) != 0) return errno_error("unpin " + path);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error("remove " + path);
  return {};
}

Result<FileDescriptor> PodNetwork::socket_at_here(const std::string& netns, int type) {
  NetnsVisit visit(host_netns_);
  TRY(visit.enter(netns));
  FileDescriptor socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("open a socket in " + netns);
  return socket;
}

Result<FileDescriptor> PodNetwork::socket_in_parent(int type) { return socket_at(parent(), type); }

Result<FileDescriptor> PodNetwork::socket_in_pod(const std::string& uid, int type) {
  return socket_at(paths_.netns(uid), type);
}

Result<void> PodNetwork::run_nft(const std::string& name, const std::string& rules,
                                 std::vector<std::string> options) {
  if (::access(kNft, X_OK) != 0)
    return fail(Code::not_found,
                std::string("services need ") + kNft + ": install it with apt install nftables");
  CHECK(!name.empty() && !name.contains('/'), "rules have a name of one part");
  const std::string file = paths_.run_dir() + "/" + name + ".nft";
  TRY(write_file_atomically(file, rules, 0600));
  NetnsVisit visit(host_netns_);
  TRY(visit.enter(parent()));
  options.insert(options.begin(), kNft);
  options.insert(options.end(), {"-f", file});
  TRY(run_checked(options));
  return {};
}

std::optional<pid_t> PodNetwork::outside_process() const {
  Result<std::string> text = read_file(outside_pid_file());
  pid_t pid = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), pid).ec != std::errc{} ||
      pid <= 1)
    return std::nullopt;
  // Numbers are used again: it has to be the one that serves this namespace.
  Result<std::string> command = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  if (!command || command->find(parent()) == std::string::npos) return std::nullopt;
  return pid;
}

std::string PodNetwork::outside_obstacle() {
  if (::access(kPasta, X_OK) != 0) return std::string(kPasta) + " is missing";
  if (::access(kTun, R_OK | W_OK) != 0) return std::string(kTun) + " cannot be opened";
  return {};
}

Result<bool> PodNetwork::is_connected_here() {
  NetnsVisit visit(host_netns_);
  TRY(visit.enter(parent()));
  return ::if_nametoindex(kOutside) != 0;
}

// Packets between pods and to services have their way already; the rest gets the address of
// this end, and whatever is left of the refused networks is refused here.
Result<void> PodNetwork::set_outside_rules(const std::vector<std::string>& refused) {
  CHECK(!refused.empty(), "the networks of pods and services never leave");
  std::string networks;
  for (const std::string& one : refused) networks += (networks.empty() ? "" : ", ") + one;
  const std::string table = "table inet hekla_outside";
  return set_rules(
      "outside",
      table + "\ndelete " + table + "\n" + table + " {\n" +
          "  chain forward {\n    type filter hook forward priority 10;\n    oifname \"" +
          kOutside + "\" ip daddr { " + networks + " } reject\n  }\n" +
          "  chain postrouting {\n    type nat hook postrouting priority srcnat;\n    oifname \"" +
          kOutside + "\" masquerade\n  }\n}\n");
}

Result<void> PodNetwork::connect_outside(const std::vector<std::string>& refused) {
  std::lock_guard lock(outside_mutex_);
  if (removed_) return {};
  // Also where the pasta of an earlier process runs on: that may have refused less.
  if (!outside_rules_) TRY(set_outside_rules(refused));
  outside_rules_ = true;
  if (outside_process()) return {};
  if (outside_child_ > 0) ::waitpid(std::exchange(outside_child_, 0), nullptr, WNOHANG);
  const std::string log = paths_.run_dir() + "/pasta.log";
  FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  FileDescriptor words(::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  if (!null || !words) return errno_error("open " + log);
  // No ports either way, and no way to the host's loopback.
  pid_t pid = TRY(start_process(
      {kPasta,         "--foreground", "--quiet", "--stderr",     "--runas",     "0",
       "--netns-only", "--netns",      parent(),  "--config-net", "--ipv4-only", "--no-map-gw",
       "-t",           "none",         "-u",      "none",         "-T",          "none",
       "-U",           "none",         "-I",      kOutside,       "-a",          kOutsideAddress,
       "-n",           "24",           "-g",      kOutsideGateway},
      null.get(), null.get(), words.get()));
  outside_child_ = pid;
  TRY(write_file_atomically(outside_pid_file(), std::to_string(pid) + "\n", 0600));
  for (int look = 0; look < kOutsideLooks; ++look) {
    if (TRY(visiting<bool>([this] { return is_connected_here(); }))) return {};
    ::poll(nullptr, 0, kOutsidePauseMs);
  }
  ::kill(pid, SIGKILL);
  wait_for(std::exchange(outside_child_, 0));
  std::string why = read_file(log).value_or("");
  return fail(Code::unavailable,
              "pasta does not connect the pods to the outside: " + why.substr(0, why.find('\n')));
}

Result<void> PodNetwork::make_empty(const std::string& path) {
  FileDescriptor home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home) return errno_error("open the network namespace");
  NetnsVisit visit(home.get());
  TRY(visit.make(path));
  Netlink socket = TRY(open_netlink());
  return set_up(socket.get(), "lo");
}

Result<void> PodNetwork::try_out() {
  FileDescriptor home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home) return errno_error("open the network namespace");
  NetnsVisit visit(home.get());
  if (::unshare(CLONE_NEWNET) != 0) return errno_error("make a network namespace");
  Netlink socket = TRY(open_netlink());
  Link bridge(rtnl_link_bridge_alloc()), veth(rtnl_link_veth_alloc());
  if (!bridge || !veth) return fail(Code::internal, "allocate links");
  rtnl_link_set_name(bridge.get(), kGateway);
  TRY(netlink_result(rtnl_link_add(socket.get(), bridge.get(), NLM_F_CREATE | NLM_F_EXCL),
                     "bridge"));
  rtnl_link_set_name(veth.get(), "hekla-try");
  TRY(netlink_result(rtnl_link_add(socket.get(), veth.get(), NLM_F_CREATE | NLM_F_EXCL), "veth"));
  if (::access(kNft, X_OK) != 0) return fail(Code::not_found, std::string("nftables: no ") + kNft);
  // One rule of each kind that services and policies use.
  const char* rules =
      "table inet hekla_try { chain a { type filter hook forward priority 0; ct state established "
      "return; "
      "ip saddr vmap { 10.0.0.1 : drop }; meta l4proto tcp reject with tcp reset; }; }; "
      "table ip hekla_try { chain b { type nat hook prerouting priority dstnat; "
      "tcp dport 80 dnat ip addr . port to numgen random mod 2 map { 0 : 10.0.0.1 . 1, 1 : "
      "10.0.0.2 . 1 }; }; "
      "chain c { type nat hook postrouting priority srcnat; "
      "ip saddr . ip daddr { 10.0.0.1 . 10.0.0.1 } masquerade; }; }";
  if (Result<std::string> loaded = run_checked({kNft, rules}); !loaded)
    return fail(loaded.error().code, "nftables: " + loaded.error().message);
  return {};
}

Result<void> PodNetwork::remove() {
  {
    std::lock_guard lock(outside_mutex_);
    removed_ = true;
    if (std::optional<pid_t> pid = outside_process()) ::kill(*pid, SIGTERM);
  }
  if (is_pinned_namespace(parent()) && ::umount2(parent().c_str(), MNT_DETACH) != 0)
    return errno_error("unpin " + parent());
  if (::unlink(parent().c_str()) != 0 && errno != ENOENT) return errno_error("remove " + parent());
  return {};
}

}  // namespace hekla::agent
