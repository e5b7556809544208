// Replaces an edge from `from` to `to` by two edges with a buffer between them: an op of no
// duration that passes its input on and holds one input per slot. The buffer is on the ranks of the
// reader and reads from the same ranks as the reader did; the reader then reads the buffer of its
// own rank. A reader that takes a slot once per several ops still does so; the buffer runs once per
// slot.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/actor_kinds.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

void insert(TaskGraph& graph, std::uint32_t to, std::size_t read_index, ActorTemplate buffer) {
  ReadTemplate& read = graph.actors[to].reads[read_index];
  // The buffer's output has the size of its input, if this size can be an expression of the
  // buffer's own rank.
  const Boxed<Expr>& bytes = graph.actors[read.actor].registers[read.reg].bytes;
  const bool same = read.group == kNoIndex && bytes && !(read.rank && bytes->depends_on_rank());
  if (same) buffer.registers.front().bytes = bytes;
  buffer.on = read.on;
  buffer.place = graph.actors[to].place;
  ReadTemplate first = read;
  first.ops_per_slot = Expr::constant(1);
  first.needs.reset();
  buffer.reads.push_back(first);
  read.rank.reset();
  read.group = kNoIndex;
  read.reg = 0;
  // Inserts the buffer before its reader, whose index increases by 1.
  insert_actor(graph, to, std::move(buffer));
  graph.actors[to + 1].reads[read_index].actor = to;
}

void run_insert_buffer(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  const auto from = find_actor(graph, options.text("from"), diagnostics);
  std::optional<std::uint32_t> to = find_actor(graph, options.text("to"), diagnostics);
  if (!from || !to) return;
  const auto reg = find_register(graph.actors[*from], options.text("register"), diagnostics);
  const std::int64_t slots = options.number("slots");
  if (slots < 1) {
    diagnostics.error({}, Code::kPassTarget,
                      "a buffer needs at least 1 slot, found " + std::to_string(slots));
  }
  std::optional<std::uint32_t> stream = graph.actors[*to].stream;
  if (!options.text("stream").empty()) {
    stream = find_stream(graph, options.text("stream"), diagnostics);
  }
  if (diagnostics.has_errors()) return;

  const RegisterTemplate source = graph.actors[*from].registers[*reg];
  const std::string edge = "'" + options.text("from") + "' to '" + options.text("to") + "'";
  if (source.control) {
    diagnostics.error(
        source.place, Code::kPassTarget,
        "a buffer holds data, but '" + source.name + "' is a control register, from " + edge);
    return;
  }
  ActorTemplate buffer;
  buffer.registers.emplace_back();
  apply_kind(*find_actor_kind("buffer"), Expr::constant(1), buffer);
  buffer.stream = *stream;
  buffer.registers.front().slots = Expr::constant(slots);
  buffer.registers.front().carries = source.carries;
  const std::string& given = options.text("name");
  const std::string name = given.empty() ? options.text("from") + "-buffer" : given;

  std::vector<std::size_t> reads;
  for (std::size_t i = 0; i < graph.actors[*to].reads.size(); ++i) {
    const ReadTemplate& read = graph.actors[*to].reads[i];
    if (read.actor == *from && read.reg == *reg) reads.push_back(i);
  }
  // Several reads of a register differ in their own ranks or in their producer's ranks, so each
  // read gets a buffer.
  for (const std::size_t read : reads) {
    buffer.name = free_name(graph.actors, name);
    insert(graph, (*to)++, read, buffer);
  }
  if (!reads.empty()) return;
  diagnostics.error(
      graph.actors[*to].place, Code::kPassTarget,
      "there is no edge from " + edge + " that carries the register '" + source.name + "'");
}

}  // namespace

Pass insert_buffer_pass() {
  return {"insert-buffer",
          "puts a buffer between two ops, before the reader",
          {{"from", OptionType::kText, {}, "op whose output it buffers"},
           {"to", OptionType::kText, {}, "op that reads it"},
           {"slots", OptionType::kNumber, "1", "number of slots"},
           {"register", OptionType::kText, "out", "register of 'from' that it reads"},
           {"stream", OptionType::kText, "", "its stream; default: that of 'to'"},
           {"name", OptionType::kText, "", "its name; default: FROM-buffer"}},
          run_insert_buffer};
}

}  // namespace pipesim::models
