// Small algorithms, written as execution plans of MSCCL++.
#pragma once

#include <string>
#include <vector>

namespace pipesim::testing {

struct PlanOp {
  std::string name;
  std::vector<int> peers{};            // peers of the channels
  std::vector<std::string> sources{};  // "i0", or "1:s0" on another rank
  std::vector<std::string> targets{};
  std::string more{};  // further keys, for example ", \"barrier_id\": 0"
};

struct PlanAlgorithm {
  std::string collective = "allreduce";
  std::string more{};  // further keys
  bool in_place = false;
  int input = 1, output = 1, scratch = 1;  // number of chunks on every rank
  std::vector<int> semaphores{};           // initial values, the same on every rank
  std::vector<std::vector<std::vector<PlanOp>>> ranks{};
};

namespace plans {

inline std::string list(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return "[" + text + "]";
}

// Returns the index of a peer in a rank's list of other ranks.
inline int place_of(int rank, int peer) { return peer < rank ? peer : peer - 1; }

inline std::string buffer(int rank, const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::size_t at = colon == std::string::npos ? 0 : colon + 1;
  const std::string letter = name.substr(at, 1);
  std::string text = "{";
  if (at == 0) {
    text += "\"type\": \"" + letter + "\"";
  } else {
    const int type = static_cast<int>(std::string("ios").find(letter));
    text += "\"buffer_id\": " + std::to_string(3 * place_of(rank, std::stoi(name)) + type);
  }
  return text + ", \"index\": " + name.substr(at + 1) + ", \"size\": 1}";
}

inline std::string buffers(int rank, const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(buffer(rank, name));
  return list(texts);
}

inline std::string op(int rank, const PlanOp& op) {
  std::vector<std::string> peers;
  for (const int peer : op.peers) peers.push_back(std::to_string(place_of(rank, peer)));
  const bool uses_channels = op.name != "nop" && op.name != "barrier";
  return "{\"name\": \"" + op.name + "\"" +
         (uses_channels ? ", \"channel_type\": \"memory\"" : "") +
         ", \"channel_ids\": " + list(peers) + ", \"src_buff\": " + buffers(rank, op.sources) +
         ", \"dst_buff\": " + buffers(rank, op.targets) + op.more + "}";
}

inline std::string block(int rank, int ranks, int number, int blocks,
                         const std::vector<PlanOp>& ops) {
  std::vector<std::string> channels;
  std::vector<std::string> remote;
  std::vector<std::string> texts;
  for (int peer = 0; peer + 1 < ranks; ++peer) {
    channels.push_back(std::to_string(peer * blocks + number));
    for (int type = 0; type < 3; ++type) remote.push_back(std::to_string(3 * peer + type));
  }
  for (const PlanOp& one : ops) texts.push_back(op(rank, one));
  return "{\"id\": " + std::to_string(number) +
         ", \"channels\": [{\"channel_type\": \"memory\", \"channel_ids\": " + list(channels) +
         "}], \"remote_buffer_refs\": [{\"access_channel_type\": \"memory\", "
         "\"remote_buffer_ids\": " +
         list(remote) + "}], \"ops\": " + list(texts) + "}";
}

inline std::string gpu(const PlanAlgorithm& plan, int rank) {
  const auto& of = plan.ranks[static_cast<std::size_t>(rank)];
  const int ranks = static_cast<int>(plan.ranks.size());
  const int blocks = static_cast<int>(of.size());
  std::vector<std::string> connected;
  std::vector<std::string> remote;
  std::vector<std::string> semaphores;
  std::vector<std::string> texts;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    connected.insert(connected.end(), of.size(), std::to_string(peer));
    for (const char* type : {"i", "o", "s"}) {
      remote.push_back("{\"rank\": " + std::to_string(peer) + ", \"type\": \"" + type +
                       "\", \"access_channel_types\": [\"memory\"]}");
    }
  }
  for (const int value : plan.semaphores) {
    semaphores.push_back("{\"init_value\": " + std::to_string(value) + "}");
  }
  for (int i = 0; i < blocks; ++i) {
    texts.push_back(block(rank, ranks, i, blocks, of[static_cast<std::size_t>(i)]));
  }
  return "{\"id\": " + std::to_string(rank) + ", \"input_chunks\": " + std::to_string(plan.input) +
         ", \"output_chunks\": " + std::to_string(plan.output) +
         ", \"scratch_chunks\": " + std::to_string(plan.scratch) +
         ", \"channels\": [{\"channel_type\": \"memory\", \"connected_to\": " + list(connected) +
         "}], \"remote_buffers\": " + list(remote) + ", \"semaphores\": " + list(semaphores) +
         ", \"threadblocks\": " + list(texts) + "}";
}

}  // namespace plans

/// Returns the plan as JSON. Each thread block has its own channel to each other rank, and can
/// access all buffers of that rank.
inline std::string plan_text(const PlanAlgorithm& plan) {
  std::vector<std::string> gpus;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    gpus.push_back(plans::gpu(plan, static_cast<int>(rank)));
  }
  return "{\"name\": \"small\", \"collective\": \"" + plan.collective +
         "\", \"protocol\": \"Simple\", \"inplace\": " + (plan.in_place ? "true" : "false") +
         plan.more + ", \"gpus\": " + plans::list(gpus) + "}";
}

}  // namespace pipesim::testing
