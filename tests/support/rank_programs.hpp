// Small host programs for each rank, as the text of a scenario, with sends, recvs and collectives.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pipesim::testing {

/// Returns a scenario with a program for each rank. Each program is given as a flow list of steps,
/// and ends with a synchronize.
inline std::string scenario(const std::vector<std::string>& programs, const std::string& groups,
                            const std::string& top = {}) {
  std::string text = "schema: 1\nranks: " + std::to_string(programs.size()) + "\ngroups: {" +
                     groups + "}\n" + top + "programs:\n";
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    text += "  - {on: " + std::to_string(rank) + ", do: [" + programs[rank] +
            (programs[rank].empty() ? "" : ", ") + "{synchronize: device}]}\n";
  }
  return text;
}

inline std::string send(int to, const std::string& on = "pp", const std::string& bytes = "4KiB") {
  return "{send: " + on + ", to: " + std::to_string(to) + ", bytes: " + bytes + ", takes: 1us}";
}

inline std::string recv(int from, const std::string& on = "pp", const std::string& bytes = "4KiB") {
  return "{recv: " + on + ", from: " + std::to_string(from) + ", bytes: " + bytes + "}";
}

inline std::string reduce(const std::string& on) { return "{all_reduce: " + on + ", takes: 1us}"; }

inline std::string group(const std::string& calls) { return "{group: [" + calls + "]}"; }

inline std::string joined(const std::vector<std::string>& steps) {
  std::string text;
  for (const std::string& step : steps) text += (text.empty() ? "" : ", ") + step;
  return text;
}

/// Returns steps that connect a rank with `peer` on group `on`: a send and a recv in a group, an
/// all_reduce, and a synchronize.
inline std::string connect(int peer, const std::string& on = "pp") {
  return group(send(peer, on) + ", " + recv(peer, on)) + ", " + reduce(on) +
         ", {synchronize: device}";
}

}  // namespace pipesim::testing
