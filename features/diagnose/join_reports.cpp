#include "features/diagnose/join_reports.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxOfKind = 4;

// Returns the address in "(127.0.0.1, 29500)", "[node0]:29500" or "node0:29500", at the beginning
// of a text; empty for another text.
std::string address_at(std::string_view text) {
  const std::size_t open = text.find_first_not_of("([");
  if (open == std::string_view::npos) return {};
  text.remove_prefix(open);
  const std::size_t end = text.find_first_of(open > 0 ? ",]) " : ",]): ");
  if (end == 0 || end == std::string_view::npos) return {};
  const std::string_view host = text.substr(0, end);
  const std::size_t digit = text.find_first_not_of(",]: ", end);
  if (digit == std::string_view::npos) return {};
  const auto port = number_at<std::uint32_t>(text.substr(digit));
  return port ? fmt::format("{}:{}", models::printable(host), *port) : std::string();
}

}  // namespace

// Reads "The server socket has failed to listen on any local network address. port: 29500, ...
// name: EADDRINUSE". In older versions: "... has failed to bind to [::]:29500 (errno: 98 - Address
// already in use)".
bool JoinReports::take_port_in_use(std::string_view text) {
  const std::size_t server = text.find("server socket has failed to ");
  if (server == std::string_view::npos) return false;
  text.remove_prefix(server);
  const bool used = text.find("EADDRINUSE") != std::string_view::npos ||
                    text.find("ddress already in use") != std::string_view::npos;
  auto port = number_after<std::uint32_t>(text, "port: ");
  if (!port) port = number_after<std::uint32_t>(text, "]:");
  if (!port) port = number_after<std::uint32_t>(text, "0.0.0.0:");
  if (!used || !port) return false;
  if (ports_in_use_.size() < kMaxOfKind) ports_in_use_.emplace(std::to_string(*port));
  return true;
}

// Reads "The client socket has timed out after 60000ms while trying to connect to (node0, 29500)",
// "The client socket has failed to connect to [node0]:29500 (errno: 111 - Connection refused)" and
// "TCP client failed to connect/validate to host node0:29500 - ...".
bool JoinReports::take_refused(std::string_view text) {
  for (const std::string_view before :
       {std::string_view("while trying to connect to "),
        std::string_view("client socket has failed to connect to "),
        std::string_view("any network address of "),
        std::string_view("client failed to connect/validate to host ")}) {
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) continue;
    const std::string address = address_at(text.substr(at + before.size()));
    if (address.empty()) continue;
    if (unreachable_.size() < kMaxOfKind) unreachable_.emplace(address);
    return true;
  }
  return false;
}

// Reads "Timed out after 61 seconds waiting for clients. 2/3 clients joined."
bool JoinReports::take_missing(std::string_view text) {
  constexpr std::string_view kBefore = "waiting for clients. ";
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return false;
  const std::string_view count = text.substr(at + kBefore.size());
  const auto came = number_at<std::uint32_t>(count);
  const auto all = number_after<std::uint32_t>(count, "/");
  if (!came || !all || *came >= *all) return false;
  if (joined_.size() < kMaxOfKind) joined_.emplace(*came, *all);
  return true;
}

bool JoinReports::take(const LogLine& line) {
  return take_port_in_use(line.text) || take_refused(line.text) || take_missing(line.text);
}

void JoinReports::add_notes(std::vector<models::OutsideText>& notes) const {
  for (const std::string& port : ports_in_use_) {
    notes.emplace_back(fmt::format(
        "Rank 0 could not open port {}, which is in use: by an earlier job, or by another "
        "program ('ss -ltnp' on its host shows it). End it, or choose another MASTER_PORT",
        port));
  }
  for (const auto& [came, all] : joined_) {
    notes.emplace_back(
        fmt::format("{} of {} ranks have joined: the others never started, or have another "
                    "MASTER_ADDR, MASTER_PORT or WORLD_SIZE",
                    came, all));
  }
  for (const std::string& address : unreachable_) {
    notes.emplace_back(fmt::format(
        "Nobody answered at {}: rank 0 does not run there, or MASTER_ADDR or MASTER_PORT is wrong, "
        "or a firewall is between the hosts",
        address));
  }
}

}  // namespace pipesim::formats
