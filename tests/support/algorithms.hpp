// Builders of small algorithms in MSCCL's XML.
#pragma once

#include <string>
#include <vector>

namespace pipesim::testing {

struct XmlStep {
  std::string type;
  std::string from = "i0";  // buffer and chunk
  std::string to = "i0";
  int count = 1;
  int on_block = -1;
  int on_step = -1;
  bool publishes = false;
};

struct XmlBlock {
  int send = -1;
  int receive = -1;
  int channel = 0;
  std::vector<XmlStep> steps;
};

struct XmlAlgorithm {
  std::string collective = "allreduce";
  std::string protocol = "Simple";
  int chunks = 1;
  int input = 1, output = 0, scratch = 0;  // number of chunks on every rank
  std::string more = "inplace=\"1\"";      // further attributes
  std::vector<std::vector<XmlBlock>> ranks;
};

inline std::string xml_text(const XmlAlgorithm& algorithm) {
  const auto attribute = [](const std::string& name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, int>) {
      return " " + name + "=\"" + std::to_string(value) + "\"";
    } else {
      return " " + name + "=\"" + value + "\"";
    }
  };
  const auto buffer = [&](const std::string& name, const std::string& place) {
    return attribute(name + "buf", place.substr(0, 1)) + attribute(name + "off", place.substr(1));
  };
  std::string text = "<algo name=\"small\"" + attribute("proto", algorithm.protocol) +
                     " nchannels=\"4\"" + attribute("nchunksperloop", algorithm.chunks) +
                     attribute("ngpus", static_cast<int>(algorithm.ranks.size())) +
                     attribute("coll", algorithm.collective) + " " + algorithm.more + ">\n";
  for (std::size_t rank = 0; rank < algorithm.ranks.size(); ++rank) {
    text += "<gpu" + attribute("id", static_cast<int>(rank)) +
            attribute("i_chunks", algorithm.input) + attribute("o_chunks", algorithm.output) +
            attribute("s_chunks", algorithm.scratch) + ">\n";
    const std::vector<XmlBlock>& blocks = algorithm.ranks[rank];
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      text += "<tb" + attribute("id", static_cast<int>(i)) + attribute("send", blocks[i].send) +
              attribute("recv", blocks[i].receive) + attribute("chan", blocks[i].channel) + ">\n";
      for (std::size_t s = 0; s < blocks[i].steps.size(); ++s) {
        const XmlStep& step = blocks[i].steps[s];
        text += "<step" + attribute("s", static_cast<int>(s)) + attribute("type", step.type) +
                buffer("src", step.from) + buffer("dst", step.to) + attribute("cnt", step.count) +
                attribute("depid", step.on_block) + attribute("deps", step.on_step) +
                attribute("hasdep", step.publishes ? 1 : 0) + "/>\n";
      }
      text += "</tb>\n";
    }
    text += "</gpu>\n";
  }
  return text + "</algo>\n";
}

}  // namespace pipesim::testing
