#include "agent/dns/answer.h"

#include <arpa/inet.h>
#include <ldns/ldns.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "agent/network/address_pool.h"

namespace hekla::agent {
namespace {

constexpr std::uint32_t kTtlSeconds = 5;
constexpr int kAliasLimit = 8;

struct FreePacket {
  void operator()(ldns_pkt* packet) const { ldns_pkt_free(packet); }
};
using Packet = std::unique_ptr<ldns_pkt, FreePacket>;
struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

std::string name_of(const ldns_rdf* owner) {
  std::unique_ptr<char, FreeMemory> text(ldns_rdf2str(owner));
  if (!text) return {};
  std::string name(text.get());
  if (!name.empty() && name.back() == '.') name.pop_back();
  for (char& c : name) c = static_cast<char>(::tolower(static_cast<unsigned char>(c)));
  return name;
}

ldns_rdf* dname(const std::string& name) { return ldns_dname_new_frm_str((name + ".").c_str()); }

ldns_rr* record(const std::string& owner, ldns_rr_type type) {
  ldns_rr* rr = ldns_rr_new();
  ldns_rr_set_owner(rr, dname(owner));
  ldns_rr_set_type(rr, type);
  ldns_rr_set_class(rr, LDNS_RR_CLASS_IN);
  ldns_rr_set_ttl(rr, kTtlSeconds);
  return rr;
}

ldns_rr* address_record(const std::string& owner, std::uint32_t address) {
  ldns_rr* rr = record(owner, LDNS_RR_TYPE_A);
  std::uint32_t raw = htonl(address);
  ldns_rr_push_rdf(rr, ldns_rdf_new_frm_data(LDNS_RDF_TYPE_A, sizeof raw, &raw));
  return rr;
}

ldns_rr* name_record(const std::string& owner, ldns_rr_type type, const std::string& target) {
  ldns_rr* rr = record(owner, type);
  ldns_rr_push_rdf(rr, dname(target));
  return rr;
}

ldns_rr* service_record(const std::string& owner, const ServiceTarget& target) {
  ldns_rr* rr = record(owner, LDNS_RR_TYPE_SRV);
  for (std::uint16_t number : {std::uint16_t{0}, std::uint16_t{100}, target.port})
    ldns_rr_push_rdf(rr, ldns_native2rdf_int16(LDNS_RDF_TYPE_INT16, number));
  ldns_rr_push_rdf(rr, dname(target.host));
  return rr;
}

ldns_rr* authority_record(const Zone& zone, const std::string& of) {
  ldns_rr* rr = record(of, LDNS_RR_TYPE_SOA);
  ldns_rr_push_rdf(rr, dname("ns.dns." + zone.domain));
  ldns_rr_push_rdf(rr, dname("hostmaster." + zone.domain));
  for (std::uint32_t number : {1u, 7200u, 1800u, 86400u, kTtlSeconds})
    ldns_rr_push_rdf(rr, ldns_native2rdf_int32(
                             number == 1u ? LDNS_RDF_TYPE_INT32 : LDNS_RDF_TYPE_PERIOD, number));
  return rr;
}

bool is_inside(const std::string& name, const std::string& domain) {
  return name == domain || name.ends_with("." + domain);
}

constexpr std::string_view kReverse = "in-addr.arpa";

// "4.3.2.1.in-addr.arpa" to 1.2.3.4.
std::optional<std::uint32_t> reverse_address(const std::string& name) {
  const std::string kSuffix = "." + std::string(kReverse);
  if (!name.ends_with(kSuffix)) return std::nullopt;
  std::optional<std::uint32_t> flipped = parse_ipv4(name.substr(0, name.size() - kSuffix.size()));
  if (!flipped) return std::nullopt;
  return ntohl(__builtin_bswap32(htonl(*flipped)));
}

// Fills the answer section; the result is the response code.
class Responder {
 public:
  Responder(const Zone& zone, ldns_pkt* response, ldns_rr_type type)
      : zone_(zone), response_(response), type_(type) {}

  // The name that the answer leads to and that is not ours, if there is one.
  const std::string& elsewhere() const { return elsewhere_; }

  ldns_pkt_rcode respond(const std::string& name) {
    if (std::optional<std::uint32_t> address = reverse_address(name); address && is_own(*address))
      return respond_reverse(name, *address);
    if (!is_inside(name, zone_.domain)) {
      elsewhere_ = name;
      return LDNS_RCODE_REFUSED;
    }
    ldns_pkt_set_aa(response_, true);
    std::string at = name;
    for (int hops = 0; hops < kAliasLimit; ++hops) {
      auto alias = zone_.aliases.find(at);
      if (alias == zone_.aliases.end()) break;
      push(name_record(at, LDNS_RR_TYPE_CNAME, alias->second));
      at = alias->second;
    }
    if (!is_inside(at, zone_.domain) && type_ != LDNS_RR_TYPE_CNAME) elsewhere_ = at;
    bool any = type_ == LDNS_RR_TYPE_ANY;
    if (auto found = zone_.addresses.find(at);
        found != zone_.addresses.end() && (any || type_ == LDNS_RR_TYPE_A))
      for (std::uint32_t address : found->second) push(address_record(at, address));
    if (auto found = zone_.services.find(at);
        found != zone_.services.end() && (any || type_ == LDNS_RR_TYPE_SRV))
      for (const ServiceTarget& target : found->second) push(service_record(at, target));
    if (type_ == LDNS_RR_TYPE_SOA && at == zone_.domain) push(authority_record(zone_, at));
    if (pushed_) return LDNS_RCODE_NOERROR;
    push_authority(zone_.domain);
    // A name without a record of this type exists all the same: glibc would give up on NXDOMAIN.
    return zone_.has(at) ? LDNS_RCODE_NOERROR : LDNS_RCODE_NXDOMAIN;
  }

 private:
  bool is_own(std::uint32_t address) const {
    return zone_.reverse.contains(address) ||
           std::ranges::any_of(zone_.ranges, [&](const Subnet& range) {
             return address - range.base < range.size();
           });
  }
  ldns_pkt_rcode respond_reverse(const std::string& name, std::uint32_t address) {
    auto found = zone_.reverse.find(address);
    ldns_pkt_set_aa(response_, true);
    if (found != zone_.reverse.end() && (type_ == LDNS_RR_TYPE_PTR || type_ == LDNS_RR_TYPE_ANY))
      push(name_record(name, LDNS_RR_TYPE_PTR, found->second));
    else
      push_authority(std::string(kReverse));
    return found != zone_.reverse.end() ? LDNS_RCODE_NOERROR : LDNS_RCODE_NXDOMAIN;
  }
  void push_authority(const std::string& of) {
    ldns_pkt_push_rr(response_, LDNS_SECTION_AUTHORITY, authority_record(zone_, of));
  }
  void push(ldns_rr* rr) {
    ldns_pkt_push_rr(response_, LDNS_SECTION_ANSWER, rr);
    pushed_ = true;
  }

  const Zone& zone_;
  ldns_pkt* response_;
  ldns_rr_type type_;
  bool pushed_ = false;
  std::string elsewhere_;
};

Packet parse(std::string_view wire) {
  ldns_pkt* parsed = nullptr;
  if (ldns_wire2pkt(&parsed, reinterpret_cast<const std::uint8_t*>(wire.data()), wire.size()) !=
      LDNS_STATUS_OK)
    return nullptr;
  return Packet(parsed);
}

ldns_rr* only_question(const ldns_pkt* packet) {
  ldns_rr_list* questions = ldns_pkt_question(packet);
  return ldns_rr_list_rr_count(questions) == 1 ? ldns_rr_list_rr(questions, 0) : nullptr;
}

std::optional<std::string> to_wire(const ldns_pkt* packet) {
  std::uint8_t* raw = nullptr;
  std::size_t size = 0;
  if (ldns_pkt2wire(&raw, packet, &size) != LDNS_STATUS_OK) return std::nullopt;
  std::unique_ptr<std::uint8_t, FreeMemory> owned(raw);
  return std::string(reinterpret_cast<const char*>(raw), size);
}

Packet make_response(ldns_pkt* query, ldns_rr* question) {
  Packet response(ldns_pkt_new());
  ldns_pkt_set_id(response.get(), ldns_pkt_id(query));
  ldns_pkt_set_qr(response.get(), true);
  ldns_pkt_set_rd(response.get(), ldns_pkt_rd(query));
  ldns_pkt_set_ra(response.get(), true);
  ldns_pkt_set_opcode(response.get(), ldns_pkt_get_opcode(query));
  if (question) ldns_pkt_push_rr(response.get(), LDNS_SECTION_QUESTION, ldns_rr_clone(question));
  return response;
}

// Cut to its header when it is longer than the client of `query` can take.
std::optional<std::string> fitted(ldns_pkt* query, const ldns_pkt* response, std::size_t limit) {
  if (ldns_pkt_edns(query)) limit = std::max<std::size_t>(limit, ldns_pkt_edns_udp_size(query));
  std::optional<std::string> wire = to_wire(response);
  if (!wire || wire->size() <= limit) return wire;
  Packet cut = make_response(query, only_question(query));
  ldns_pkt_set_tc(cut.get(), true);
  return to_wire(cut.get());
}

}  // namespace

std::optional<DnsAnswer> answer_query(const Zone& zone, std::string_view query, std::size_t limit) {
  Packet packet = parse(query);
  if (!packet || ldns_pkt_qr(packet.get())) return std::nullopt;
  ldns_rr* question = only_question(packet.get());
  Packet response = make_response(packet.get(), question);
  DnsAnswer answer;
  if (ldns_pkt_get_opcode(packet.get()) != LDNS_PACKET_QUERY) {
    ldns_pkt_set_rcode(response.get(), LDNS_RCODE_NOTIMPL);
  } else if (!question) {
    ldns_pkt_set_rcode(response.get(), LDNS_RCODE_FORMERR);
  } else {
    Responder responder(zone, response.get(), ldns_rr_get_type(question));
    ldns_pkt_set_rcode(response.get(), responder.respond(name_of(ldns_rr_owner(question))));
    answer.elsewhere = responder.elsewhere();
  }
  if (ldns_pkt_edns(packet.get())) ldns_pkt_set_edns_udp_size(response.get(), 4096);
  std::optional<std::string> wire = fitted(packet.get(), response.get(), limit);
  if (!wire) return std::nullopt;
  answer.wire = std::move(*wire);
  return answer;
}

std::optional<std::string> query_for(std::string_view query, const std::string& name) {
  Packet packet = parse(query);
  ldns_rr* question = packet ? only_question(packet.get()) : nullptr;
  if (!question) return std::nullopt;
  if (name_of(ldns_rr_owner(question)) == name) return std::string(query);
  ldns_rdf_deep_free(ldns_rr_owner(question));
  ldns_rr_set_owner(question, dname(name));
  return to_wire(packet.get());
}

std::optional<std::string> join_answers(std::string_view query, const std::string& own,
                                        const std::string& theirs, std::size_t limit) {
  Packet asked = parse(query), ours = parse(own), other = parse(theirs);
  if (!asked || !ours || !other) return std::nullopt;
  if (ldns_pkt_get_rcode(ours.get()) == LDNS_RCODE_REFUSED) return theirs;
  ldns_pkt_set_aa(ours.get(), false);
  ldns_pkt_set_tc(ours.get(), ldns_pkt_tc(other.get()));
  ldns_pkt_set_rcode(ours.get(), ldns_pkt_get_rcode(other.get()));
  for (ldns_pkt_section section : {LDNS_SECTION_ANSWER, LDNS_SECTION_AUTHORITY}) {
    const ldns_rr_list* records = section == LDNS_SECTION_ANSWER ? ldns_pkt_answer(other.get())
                                                                 : ldns_pkt_authority(other.get());
    for (std::size_t i = 0; i < ldns_rr_list_rr_count(records); ++i)
      ldns_pkt_push_rr(ours.get(), section, ldns_rr_clone(ldns_rr_list_rr(records, i)));
  }
  return fitted(asked.get(), ours.get(), limit);
}

}  // namespace hekla::agent
