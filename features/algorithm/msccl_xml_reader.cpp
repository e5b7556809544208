// Reads MSCCL's XML. Error messages describe the effects of mistakes on the parsers of RCCL
// (src/misc/msccl/msccl_parser.cc of ROCm/rccl) and of microsoft/msccl (src/graph/topo.cc).
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <expat.h>
#include <fmt/format.h>

#include "models/graph/whole_number.hpp"

#include "features/algorithm/algorithm_file.hpp"
#include "features/algorithm/algorithm_network.hpp"

namespace pipesim::formats {
namespace {

using models::AlgoBlock;
using models::AlgoBuffer;
using models::AlgoProtocol;
using models::AlgoRank;
using models::AlgoStep;
using models::AlgoStepKind;
using models::Place;

constexpr const char* kRefused = "RCCL refuses the file, and the algorithm is then never used";
constexpr const char* kHint =
    "an algorithm of MSCCL is <algo> with <gpu>, in which <tb> has <step>; see "
    "docs/reference/algorithms.md";

// Limits of microsoft/msccl, then the lower limits of RCCL.
constexpr std::uint32_t kMaxBlocks = 216;
constexpr std::uint32_t kMaxSteps = 256;
constexpr std::uint32_t kMaxRcclBlocks = 64;
constexpr std::uint32_t kMaxRcclSteps = 64;
constexpr std::uint32_t kMaxBlocksOfChannel = 32;
constexpr std::uint32_t kMaxChannels = 1024;

struct XmlPosition {
  std::int64_t line;    // line, from 1
  std::int64_t column;  // column, from 0
  std::int64_t byte;    // byte position, from 0; -1 if unknown
};

// Returns the position at which the current event begins. Newer versions of Expat deprecate the
// functions of version 2.5 in favor of 64-bit ones.
template <typename Parser>
XmlPosition position_of(Parser parser) {
  const auto position = [](auto line, auto column, auto byte) {
    return XmlPosition{static_cast<std::int64_t>(line), static_cast<std::int64_t>(column),
                       static_cast<std::int64_t>(byte)};
  };
  if constexpr (requires { XML_GetCurrentByteIndex64(parser); }) {
    return position(XML_GetCurrentLineNumber64(parser), XML_GetCurrentColumnNumber64(parser),
                    XML_GetCurrentByteIndex64(parser));
  } else {
    return position(XML_GetCurrentLineNumber(parser), XML_GetCurrentColumnNumber(parser),
                    XML_GetCurrentByteIndex(parser));
  }
}

class MscclXmlReader {
 public:
  MscclXmlReader(const std::string& text, models::Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  std::optional<models::CollectiveAlgorithm> run() {
    const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate(nullptr),
                                                                         XML_ParserFree);
    parser_ = parser.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(parser_, on_begin, on_end);
    XML_SetStartDoctypeDeclHandler(parser_, on_doctype);
    parse();
    if (!failed()) check_ranks();
    if (failed()) return std::nullopt;
    return std::move(algorithm_);
  }

 private:
  using Attributes = const XML_Char**;

  // Parses the text in parts, because Expat takes sizes as int.
  void parse() {
    constexpr std::size_t kPart = std::size_t{1} << 20;
    std::size_t at = 0;
    do {
      const std::size_t size = std::min(kPart, text_.size() - at);
      const bool last = at + size == text_.size();
      if (XML_Parse(parser_, text_.data() + at, static_cast<int>(size), last ? 1 : 0) ==
          XML_STATUS_ERROR) {
        if (!failed()) {
          error(here(), fmt::format("invalid XML: {}", XML_ErrorString(XML_GetErrorCode(parser_))),
                models::Code::kAlgorithmSyntax)
              .notes.emplace_back(kRefused);
        }
        return;
      }
      at += size;
    } while (at < text_.size());
  }

  static void XMLCALL on_begin(void* self, const XML_Char* name, Attributes attributes) {
    static_cast<MscclXmlReader*>(self)->begin(name, attributes);
  }
  static void XMLCALL on_end(void* self, const XML_Char* /*name*/) {
    static_cast<MscclXmlReader*>(self)->end();
  }
  // Rejects document types: algorithm files need no entities, and entities can make a small file
  // expand to a huge one.
  static void XMLCALL on_doctype(void* self, const XML_Char* /*name*/, const XML_Char* /*system*/,
                                 const XML_Char* /*public_id*/, int /*has_subset*/) {
    auto& reader = *static_cast<MscclXmlReader*>(self);
    reader
        .error(reader.here(), "a document type is not allowed here", models::Code::kAlgorithmSyntax)
        .notes.emplace_back("remove '<!DOCTYPE ...>'");
    XML_StopParser(reader.parser_, XML_FALSE);
  }

  bool failed() const { return diagnostics_.has_errors(); }

  models::Diagnostic& error(Place place, std::string message,
                            models::Code code = models::Code::kAlgorithm) {
    return diagnostics_.error(place, code, std::move(message));
  }

  // Returns the place at which the current element begins.
  Place here() const {
    const XmlPosition position = position_of(parser_);
    return {static_cast<std::uint32_t>(position.line),
            static_cast<std::uint32_t>(position.column) + 1};
  }

  // Returns the place of an attribute of the current element.
  Place place_of(std::string_view attribute) const {
    const auto byte =
        static_cast<std::size_t>(std::max<std::int64_t>(0, position_of(parser_).byte));
    const std::size_t end = std::min(text_.size(), text_.find('>', byte));
    const std::string_view tag = std::string_view(text_).substr(byte, end - byte);
    for (std::size_t at = tag.find(attribute); at != std::string_view::npos;
         at = tag.find(attribute, at + 1)) {
      const std::size_t behind = tag.find_first_not_of(" \t\r\n", at + attribute.size());
      const bool is_name =
          at > 0 && std::string_view(" \t\r\n").find(tag[at - 1]) != std::string_view::npos;
      if (!is_name || behind == std::string_view::npos || tag[behind] != '=') continue;
      Place place = here();
      const std::string_view before = tag.substr(0, at);
      const std::size_t line = before.rfind('\n');
      if (line == std::string_view::npos) {
        place.column += static_cast<std::uint32_t>(at);
      } else {
        place.line += static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
        place.column = static_cast<std::uint32_t>(at - line);
      }
      return place;
    }
    return here();
  }

  void begin(std::string_view name, Attributes attributes) {
    if (diagnostics_.error_count() >= models::kMaxAlgoErrors) {
      XML_StopParser(parser_, XML_FALSE);
      return;
    }
    ++depth_;
    if (skipped_from_ != 0) return;
    static constexpr std::string_view kElements[] = {"algo", "gpu", "tb", "step"};
    const bool known = depth_ <= 4 && name == kElements[depth_ - 1];
    if (depth_ == 1 && !known) {
      error(here(), fmt::format("expected <algo>, found <{}>", models::printable(name)),
            models::Code::kAlgorithmSyntax)
          .notes.emplace_back(kHint);
      XML_StopParser(parser_, XML_FALSE);
      return;
    }
    if (!known) {
      skipped_from_ = depth_;
      diagnostics_
          .warning(here(), models::Code::kAlgorithmIgnored,
                   fmt::format("<{}> is not known here", models::printable(name)))
          .notes.emplace_back("the parsers ignore it, and what is in it");
      return;
    }
    attributes_ = attributes;
    element_ = kElements[depth_ - 1];
    switch (depth_) {
      case 1:
        read_algo();
        break;
      case 2:
        read_gpu();
        break;
      case 3:
        read_block();
        break;
      default:
        read_step();
    }
  }

  void end() {
    if (skipped_from_ == depth_) skipped_from_ = 0;
    --depth_;
  }

  const char* find(std::string_view name) const {
    for (Attributes at = attributes_; *at != nullptr; at += 2) {
      if (name == at[0]) return at[1];
    }
    return nullptr;
  }

  // Returns a required attribute, or an empty string after an error.
  std::string_view text(const char* name) {
    const char* value = find(name);
    if (value != nullptr) return value;
    error(here(), fmt::format("<{}> has no '{}'", element_, name)).notes.emplace_back(kRefused);
    return {};
  }

  std::int64_t number(const char* name, std::int64_t min, std::int64_t max) {
    const char* value = find(name);
    if (value == nullptr) {
      text(name);
      return min;
    }
    const auto found = models::whole_number<std::int64_t>(value);
    if (found && *found >= min && *found <= max) return *found;
    error(place_of(name), fmt::format("'{}' must be an integer from {} to {}, found '{}'", name,
                                      min, max, models::printable(value)))
        .notes.emplace_back(found ? kRefused
                                  : "RCCL reads the digits at its beginning, or 0 without any");
    return min;
  }
  std::uint32_t count(const char* name, std::uint32_t max) {
    return static_cast<std::uint32_t>(number(name, 0, max));
  }

  void read_algo() {
    algorithm_.format = models::AlgoFormat::kMscclXml;
    if (const char* name = find("name")) algorithm_.name = name;
    const std::string_view protocol = text("proto");
    if (protocol == "LL") {
      algorithm_.protocol = AlgoProtocol::kLl;
    } else if (protocol == "LL128") {
      algorithm_.protocol = AlgoProtocol::kLl128;
    } else if (protocol != "Simple" && find("proto") != nullptr) {
      error(place_of("proto"), fmt::format("unknown protocol '{}'; they are Simple, LL and LL128",
                                           models::printable(protocol)))
          .notes.emplace_back(kRefused);
    }
    algorithm_.collective_name = text("coll");
    algorithm_.collective = models::find_collective(algorithm_.collective_name);
    count("nchannels", kMaxChannels);
    algorithm_.chunks_per_loop =
        static_cast<std::uint32_t>(number("nchunksperloop", 1, models::kMaxAlgoChunks));
    const auto gpus = static_cast<std::uint32_t>(number("ngpus", 1, models::kMaxAlgoRanks));
    algorithm_.ranks.resize(gpus);
    rank_seen_.resize(gpus, false);
    algorithm_.in_place = number("inplace", 0, 1) == 1;
    // msccl-tools writes only `inplace`. Without `outofplace`, `inplace` decides both attributes.
    algorithm_.out_of_place =
        find("outofplace") != nullptr ? number("outofplace", 0, 1) == 1 : !algorithm_.in_place;
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    if (find("minBytes") != nullptr) {
      algorithm_.min_bytes = static_cast<std::uint64_t>(number("minBytes", 0, kMax));
    }
    if (find("maxBytes") != nullptr) {
      const auto most = static_cast<std::uint64_t>(number("maxBytes", 0, kMax));
      algorithm_.max_bytes = most == 0 ? static_cast<std::uint64_t>(kMax) : most;  // 0: no limit
      if (*algorithm_.max_bytes < algorithm_.min_bytes) {
        error(place_of("maxBytes"), "'maxBytes' is below 'minBytes'")
            .notes.emplace_back("the algorithm is never used");
      }
    }
    if (!algorithm_.in_place && !algorithm_.out_of_place) {
      diagnostics_
          .warning(place_of("inplace"), models::Code::kAlgorithmIgnored,
                   "neither in place nor out of place")
          .notes.emplace_back("the algorithm is never used; it is checked as out of place");
    }
    if (models::is_divided(algorithm_.collective) && algorithm_.chunks_per_loop % gpus != 0) {
      error(place_of("nchunksperloop"),
            fmt::format("{} of {} chunks cannot be divided among {} ranks",
                        algorithm_.collective_name, algorithm_.chunks_per_loop, gpus))
          .notes.emplace_back("every rank needs the same number of chunks");
    }
  }

  void read_gpu() {
    const auto id = static_cast<std::uint32_t>(
        number("id", 0, static_cast<std::int64_t>(algorithm_.ranks.size()) - 1));
    rank_ = id;
    AlgoRank& rank = algorithm_.ranks[id];
    if (rank_seen_[id] && !failed()) {
      error(place_of("id"),
            fmt::format("gpu {} is there twice, first at {}", id, models::line_text(rank.place)))
          .notes.emplace_back("RCCL merges the two, and counts thread blocks twice");
    }
    rank_seen_[id] = true;
    rank.place = here();
    rank.input_chunks = count("i_chunks", models::kMaxAlgoChunks);
    rank.output_chunks = count("o_chunks", models::kMaxAlgoChunks);
    rank.scratch_chunks = count("s_chunks", models::kMaxAlgoChunks);
  }

  std::uint32_t peer(const char* name) {
    const std::int64_t peer =
        number(name, -1, static_cast<std::int64_t>(algorithm_.ranks.size()) - 1);
    if (peer == rank_) {
      error(place_of(name), fmt::format("gpu {} cannot be its own peer", rank_))
          .notes.emplace_back(kRefused);
    }
    return peer < 0 ? models::kNoPeer : static_cast<std::uint32_t>(peer);
  }

  void read_block() {
    AlgoBlock& block = algorithm_.ranks[rank_].blocks.emplace_back();
    block.place = here();
    block.id = count("id", kMaxBlocks - 1);
    block.send_peer = peer("send");
    block.receive_peer = peer("recv");
    block.channel = count("chan", kMaxChannels);
    open_dependencies_ = false;
  }

  AlgoBuffer buffer(const char* name) {
    const std::string_view letter = text(name);
    const std::optional<AlgoBuffer> found = models::find_buffer(letter);
    if (!found && find(name) != nullptr) {
      error(place_of(name),
            fmt::format("unknown buffer '{}'; they are i, o and s", models::printable(letter)))
          .notes.emplace_back(kRefused);
    }
    return found.value_or(AlgoBuffer::kInput);
  }

  void read_step() {
    if (algorithm_.ranks[rank_].blocks.empty()) return;
    AlgoBlock& block = algorithm_.ranks[rank_].blocks.back();
    AlgoStep step;
    step.place = here();
    const auto place = static_cast<std::uint32_t>(block.steps.size());
    const std::int64_t number_given = number("s", 0, std::numeric_limits<std::int32_t>::max());
    if (find("s") != nullptr && number_given != place) {
      error(place_of("s"),
            fmt::format("'s' must count the steps of a thread block from 0: expected "
                        "{}, found {}",
                        place, number_given))
          .notes.emplace_back("RCCL does not notice; dependencies count places, whatever 's' says");
    }
    const std::string_view type = text("type");
    const auto kind = models::find_step_kind(models::AlgoFormat::kMscclXml, type);
    if (!kind && find("type") != nullptr) {
      error(place_of("type"),
            fmt::format("unknown type '{}'; they are s, r, rcs, rrc, rrs, rrcs, cpy, re and nop",
                        models::printable(type)))
          .notes.emplace_back(kRefused);
    }
    step.kind = kind.value_or(AlgoStepKind::kNop);
    step.count = count("cnt", models::kMaxStepCount - 1);
    read_ranges(step);
    read_dependency(step, block);
    if (models::sends(step.kind) && block.send_peer == models::kNoPeer) {
      error(place_of("type"),
            fmt::format("'{}' sends, but the thread block has no 'send' peer", type))
          .notes.emplace_back(kRefused);
    }
    if (models::receives(step.kind) && block.receive_peer == models::kNoPeer) {
      error(place_of("type"),
            fmt::format("'{}' receives, but the thread block has no 'recv' peer", type))
          .notes.emplace_back(kRefused);
    }
    if (place == kMaxSteps) {
      error(here(), fmt::format("more than {} steps in a thread block", kMaxSteps))
          .notes.emplace_back(kRefused);
    }
    block.steps.push_back(std::move(step));
  }

  void read_ranges(AlgoStep& step) {
    using Kind = AlgoStepKind;
    const AlgoBuffer source = buffer("srcbuf");
    const AlgoBuffer target = buffer("dstbuf");
    constexpr std::int64_t kMax = models::kMaxAlgoChunks;
    const std::int64_t from = number("srcoff", -1, kMax);
    const std::int64_t to = number("dstoff", -1, kMax);
    if (step.kind == Kind::kNop) return;
    const auto range = [&](AlgoBuffer of, std::int64_t index, const char* name) {
      const std::uint32_t size = models::buffer_chunks(algorithm_, rank_, of);
      if (index < 0 || index + step.count > size) {
        error(place_of(name), fmt::format("chunks {} to {} are outside of the buffer, which has {}",
                                          index, index + step.count - 1, size))
            .notes.emplace_back(index < 0 || index >= size
                                    ? "RCCL refuses the file where it checks this offset, else it "
                                      "reads or writes other memory"
                                    : "RCCL only looks at the first chunk: the step reads or "
                                      "writes other memory");
      }
      return models::AlgoRange{
          rank_, of, static_cast<std::uint32_t>(std::max<std::int64_t>(0, index)), step.count};
    };
    if (step.kind != Kind::kReceive && step.kind != Kind::kReceiveCopySend) {
      step.sources.push_back(range(source, from, "srcoff"));
    }
    if (step.kind != Kind::kSend && step.kind != Kind::kReceiveReduceSend) {
      step.targets.push_back(range(target, to, "dstoff"));
    }
  }

  void read_dependency(AlgoStep& step, const AlgoBlock& block) {
    const std::int64_t on_block = number("depid", -1, kMaxBlocks - 1);
    const std::int64_t on_step = number("deps", -1, std::numeric_limits<std::int32_t>::max());
    step.publishes = number("hasdep", 0, 1) == 1;
    if (on_block >= 0) {
      if (on_step < 0) {
        error(place_of("deps"), fmt::format("'depid' is {}, but 'deps' names no step", on_block))
            .notes.emplace_back("give the step to wait for, or depid=\"-1\"");
      }
      step.dependencies.push_back({static_cast<std::uint32_t>(on_block),
                                   static_cast<std::uint32_t>(std::max<std::int64_t>(0, on_step))});
      dependency_places_.push_back(
          {rank_, static_cast<std::uint32_t>(on_block), place_of("depid")});
    }
    if (step.kind == AlgoStepKind::kNop) {
      open_dependencies_ = open_dependencies_ || on_block >= 0;
      return;
    }
    // A `re` that is fused with the previous `re` does not take the dependencies of `nop`s before
    // it, so it is not checked.
    const auto before =
        std::find_if(block.steps.rbegin(), block.steps.rend(),
                     [](const AlgoStep& of) { return of.kind != AlgoStepKind::kNop; });
    const bool fused = step.kind == AlgoStepKind::kReduce && on_block < 0 &&
                       before != block.steps.rend() && models::can_be_fused(*before, step);
    if (open_dependencies_ && on_block < 0 && !fused) {
      error(here(), "the step after a 'nop' with a dependency needs one, too")
          .notes.emplace_back(
              "RCCL refuses the file: of several dependencies, the last is that of the step "
              "itself");
    }
    if (!fused) open_dependencies_ = false;
  }

  // -------------------------------------------------------------------------------------------
  // Checks over all ranks

  void check_ranks() {
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      if (!rank_seen_[rank]) {
        error({1, 1},
              fmt::format("gpu {} is missing: 'ngpus' is {}", rank, algorithm_.ranks.size()))
            .notes.emplace_back("that rank would take part without doing anything");
        if (diagnostics_.error_count() >= models::kMaxAlgoErrors) return;
        continue;
      }
      check_blocks(rank);
    }
    for (const auto& [rank, block, place] : dependency_places_) {
      if (block >= algorithm_.ranks[rank].blocks.size()) {
        error(place, fmt::format("gpu {} has no thread block {}", rank, block))
            .notes.emplace_back("RCCL waits for it forever");
      }
    }
    if (!failed()) check_connections();
  }

  void check_blocks(std::uint32_t rank) {
    std::vector<AlgoBlock>& blocks = algorithm_.ranks[rank].blocks;
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const AlgoBlock& a, const AlgoBlock& b) { return a.id < b.id; });
    std::map<std::uint32_t, std::uint32_t> of_channel;
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].id != i) {
        const bool twice = i > 0 && blocks[i].id == blocks[i - 1].id;
        error(blocks[i].place, twice ? fmt::format("thread block {} is there twice", blocks[i].id)
                                     : fmt::format("thread block {} is missing", i))
            .notes.emplace_back(kRefused);
        return;
      }
      if (++of_channel[blocks[i].channel] == kMaxBlocksOfChannel + 1) {
        diagnostics_
            .warning(blocks[i].place, models::Code::kAlgorithmIgnored,
                     fmt::format("more than {} thread blocks of a channel", kMaxBlocksOfChannel))
            .notes.emplace_back(kRefused);
      }
      if (blocks[i].steps.size() > kMaxRcclSteps && !too_long_) {
        too_long_ = true;
        diagnostics_
            .warning(blocks[i].place, models::Code::kAlgorithmIgnored,
                     fmt::format("{} steps in a thread block", blocks[i].steps.size()))
            .notes.emplace_back(
                fmt::format("RCCL takes at most {}, microsoft/msccl {}", kMaxRcclSteps, kMaxSteps));
      }
    }
    if (blocks.size() > kMaxRcclBlocks && !too_many_) {
      too_many_ = true;
      diagnostics_
          .warning(blocks[kMaxRcclBlocks].place, models::Code::kAlgorithmIgnored,
                   fmt::format("{} thread blocks on a gpu", blocks.size()))
          .notes.emplace_back(
              fmt::format("RCCL takes at most {}, microsoft/msccl {}", kMaxRcclBlocks, kMaxBlocks));
    }
  }

  // Reports connection ends with two thread blocks, which take each other's messages. The real
  // parsers do not check for such ends.
  void check_connections() {
    for (const AlgoRank& rank : algorithm_.ranks) {
      Ends ends;
      for (const AlgoBlock& block : rank.blocks) {
        for (const bool send : {true, false}) check_end(block, send, ends);
      }
    }
  }

  // The place of the thread block that sends or receives, by direction, peer and channel.
  using Ends = std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, Place>;

  void check_end(const AlgoBlock& block, bool send, Ends& ends) {
    const std::uint32_t peer = send ? block.send_peer : block.receive_peer;
    const bool used =
        std::any_of(block.steps.begin(), block.steps.end(), [&](const AlgoStep& step) {
          return step.count > 0 && (send ? models::sends(step.kind) : models::receives(step.kind));
        });
    if (peer == models::kNoPeer || !used) return;
    const auto [at, is_new] = ends.emplace(std::tuple(send, peer, block.channel), block.place);
    if (is_new) return;
    error(block.place, fmt::format("thread block {} {} gpu {} on channel {}, as does the one at {}",
                                   block.id, send ? "sends to" : "receives from", peer,
                                   block.channel, models::line_text(at->second)))
        .notes.emplace_back("no parser notices; the two mix up their messages");
  }

  struct DependencyPlace {
    std::uint32_t rank = 0, block = 0;
    Place place;
  };

  const std::string& text_;
  models::Diagnostics& diagnostics_;
  XML_Parser parser_ = nullptr;
  models::CollectiveAlgorithm algorithm_;
  Attributes attributes_ = nullptr;
  std::string_view element_;
  std::uint32_t depth_ = 0;
  std::uint32_t skipped_from_ = 0;  // depth of the unknown element that is skipped; 0: none
  std::uint32_t rank_ = 0;
  std::vector<bool> rank_seen_;
  bool open_dependencies_ = false;  // whether `nop`s before the next step have dependencies
  std::vector<DependencyPlace> dependency_places_;
  bool too_long_ = false, too_many_ = false;
};

}  // namespace

std::optional<models::CollectiveAlgorithm> read_msccl_xml(const std::string& text,
                                                          models::Diagnostics& diagnostics) {
  return MscclXmlReader(text, diagnostics).run();
}

}  // namespace pipesim::formats
