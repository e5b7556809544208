// Stream queues that share a store of blocks, compared with queues of the standard library.
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "sim/state.hpp"
#include "tests/support/catch.hpp"

namespace pipesim {
namespace {

using sim::StreamItem;

StreamItem item(std::uint32_t number) { return StreamItem::op(sim::ActorId{number}, number + 1); }

struct Pair {
  sim::StreamQueue queue;
  std::deque<std::uint32_t> model;
};

void check_items(const Pair& pair, const sim::StreamBlocks& blocks) {
  std::vector<std::uint32_t> items;
  for (const StreamItem& each : sim::StreamQueue::Items(pair.queue, blocks)) {
    items.push_back(each.actor().value);
  }
  CHECK(items == std::vector<std::uint32_t>(pair.model.begin(), pair.model.end()));
}

}  // namespace

// Queues mostly grow or mostly shrink, phase by phase, so that blocks are added, reused while full,
// and reused from their start.
TEST_CASE("queues of streams give back what was pushed, in order", "[sim]") {
  std::mt19937 random(1);
  sim::StreamBlocks blocks;
  std::vector<Pair> pairs(5);
  std::uint32_t next = 0;
  for (int phase = 0; phase < 60; ++phase) {
    const std::uint32_t pushes_of_8 = phase % 3 == 0 ? 6 : phase % 3 == 1 ? 2 : 4;
    for (int step = 0; step < 200; ++step) {
      Pair& pair = pairs[random() % pairs.size()];
      if (random() % 8 < pushes_of_8) {
        pair.queue.push(blocks, item(next));
        pair.model.push_back(next++);
      } else if (!pair.model.empty()) {
        const StreamItem head = pair.queue.pop(blocks);
        REQUIRE(head.actor().value == pair.model.front());
        REQUIRE(head.needed() == pair.model.front() + 1);
        pair.model.pop_front();
      }
      REQUIRE(pair.queue.size() == pair.model.size());
      REQUIRE(pair.queue.empty() == pair.model.empty());
      if (!pair.model.empty()) REQUIRE(pair.queue.front().actor().value == pair.model.front());
    }
    for (const Pair& pair : pairs) check_items(pair, blocks);
  }
}

// A queue keeps the maximum number of blocks that it ever filled at once.
TEST_CASE("a queue of a stream that stays short takes no more blocks", "[sim]") {
  sim::StreamBlocks blocks;
  sim::StreamQueue queue;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    for (std::uint32_t k = 0; k < 20; ++k) queue.push(blocks, item(i + k));
    for (std::uint32_t k = 0; k < 20; ++k) REQUIRE(queue.pop(blocks).actor().value == i + k);
  }
  // 19 items after the head take three blocks, or four if they start in the middle of a block.
  CHECK(blocks.add() <= 4);
}

}  // namespace pipesim
