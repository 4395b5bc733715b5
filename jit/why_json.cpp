// Decisions as JSON: see include/broadloom/decision.hpp.
#include <broadloom/decision.hpp>

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace broadloom {
namespace {

void put(llvm::json::OStream &json, const char *key, const std::string &text) {
  json.attribute(key, llvm::json::fixUTF8(text));
}

void put(llvm::json::OStream &json, const Cost &cost) {
  const auto number = [&](const char *key, const std::optional<double> &value) {
    json.attribute(key, value ? llvm::json::Value(*value) : llvm::json::Value(nullptr));
  };
  number("bytes", cost.bytes);
  number("flops", cost.flops);
  number("cycles", cost.cycles);
  number("ns", cost.ns);
}

void put(llvm::json::OStream &json, const Decision &decision) {
  json.object([&] {
    put(json, "topic", decision.topic);
    put(json, "code", decision.code);
    put(json, "subject", decision.subject);
    put(json, "choice", decision.choice);
    put(json, decision.cost);
    json.attributeArray("alternatives", [&] {
      for (const Alternative &other : decision.alternatives)
        json.object([&] {
          put(json, "choice", other.choice);
          put(json, "why_not", other.why_not);
          put(json, other.cost);
        });
    });
    put(json, "text", decision.text);
  });
}

} // namespace

std::string to_json(std::span<const Decision> decisions) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "[";
  for (std::size_t k = 0; k < decisions.size(); ++k) {
    out << (k == 0 ? "\n" : ",\n");
    llvm::json::OStream json(out);
    put(json, decisions[k]);
  }
  out << "\n]\n";
  return text;
}

} // namespace broadloom
