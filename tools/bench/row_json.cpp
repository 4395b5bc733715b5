// A run as JSON and back. See row.hpp.
#include "bench/row.hpp"

#include <fmt/format.h>
#include <llvm/Support/JSON.h>

#include <stdexcept>

namespace json = llvm::json;

namespace bench {
namespace {

constexpr const char *status_word(PeerRow::Status status) {
  switch (status) {
  case PeerRow::Status::Ok: return "ok";
  case PeerRow::Status::Wrong: return "wrong";
  case PeerRow::Status::Failed: return "failed";
  }
  return "";
}

// JSON has no infinity.
double finite(double value) { return value < 1e300 ? value : 1e300; }

json::Value value_of(const PeerRow &peer) {
  json::Object object{{"name", peer.name}, {"status", status_word(peer.status)}};
  if (peer.status != PeerRow::Status::Failed) {
    object["error"] = finite(peer.error);
    object["seconds"] = peer.seconds;
    object["ratio"] = peer.ratio;
  }
  if (!peer.note.empty()) object["note"] = peer.note;
  return object;
}

json::Value value_of(const Row &row) {
  json::Object object{{"id", row.id}, {"title", row.title}};
  if (!row.failure.empty()) {
    object["failure"] = row.failure;
    return object;
  }
  object["seconds"] = row.seconds;
  object["quartiles"] = json::Array{row.low, row.high};
  object["rounds"] = row.rounds;
  object["elements"] = row.elements;
  object["bytes"] = row.bytes;
  object["gb_per_second"] = row.gb_per_second();
  object["ns_per_element"] = row.ns_per_element();
  if (row.roof)
    object["roof"] = json::Object{{"name", row.roof->name},
                                  {"seconds", row.roof->seconds},
                                  {"gb_per_second", row.roof->gb_per_second},
                                  {"fraction", row.roof->fraction}};
  json::Array peers;
  for (const PeerRow &peer : row.peers) peers.push_back(value_of(peer));
  object["peers"] = std::move(peers);
  json::Array scaling;
  for (const Scaling &s : row.scaling)
    scaling.push_back(json::Object{{"threads", s.threads}, {"seconds", s.seconds}});
  if (!scaling.empty()) object["scaling"] = std::move(scaling);
  if (row.predicted) object["predicted"] = *row.predicted;
  object["compile_ms"] = row.compile_ms;
  if (row.code_bytes) object["code_bytes"] = *row.code_bytes;
  object["cache"] = row.cache;
  object["why"] = row.why;
  return object;
}

// Fields of an object by name; what is missing or of another kind is an error that says where it
// is.
class Reader {
public:
  Reader(const json::Object &object, std::string place)
      : object_(object), place_(std::move(place)) {}

  std::string text(llvm::StringRef key) const {
    return need(object_.getString(key), key, "a string").str();
  }
  double number(llvm::StringRef key) const { return need(object_.getNumber(key), key, "a number"); }
  std::int64_t integer(llvm::StringRef key) const {
    return need(object_.getInteger(key), key, "a whole number");
  }
  const json::Array &array(llvm::StringRef key) const {
    return *need(std::optional(object_.getArray(key)), key, "an array");
  }
  bool has(llvm::StringRef key) const { return object_.get(key) != nullptr; }
  std::string text_or_empty(llvm::StringRef key) const { return has(key) ? text(key) : ""; }
  Reader object(llvm::StringRef key) const {
    return {*need(std::optional(object_.getObject(key)), key, "an object"),
            place_ + "." + key.str()};
  }
  std::vector<Reader> objects(llvm::StringRef key) const {
    std::vector<Reader> result;
    for (const json::Value &value : array(key)) {
      const std::string place = fmt::format("{}.{}[{}]", place_, key.str(), result.size());
      if (value.getAsObject() == nullptr) throw std::runtime_error(place + " is no object");
      result.push_back({*value.getAsObject(), place});
    }
    return result;
  }
  std::vector<std::string> texts(llvm::StringRef key) const {
    std::vector<std::string> result;
    for (const json::Value &value : array(key))
      result.push_back(need(value.getAsString(), key, "an array of strings").str());
    return result;
  }
  [[noreturn]] void fail(const std::string &what) const {
    throw std::runtime_error(fmt::format("{}: {}", place_, what));
  }

private:
  template <class T> T need(std::optional<T> value, llvm::StringRef key, const char *kind) const {
    bool given = value.has_value();
    if constexpr (std::is_pointer_v<T>) given = given && *value != nullptr;
    if (!given) fail(fmt::format("'{}' should be {}", key.str(), kind));
    return *value;
  }

  const json::Object &object_;
  std::string place_;
};

PeerRow::Status read_status(const Reader &peer) {
  const std::string word = peer.text("status");
  for (const PeerRow::Status status :
       {PeerRow::Status::Ok, PeerRow::Status::Wrong, PeerRow::Status::Failed})
    if (word == status_word(status)) return status;
  peer.fail(fmt::format("there is no status '{}'", word));
}

PeerRow read_peer(const Reader &from) {
  PeerRow peer;
  peer.name = from.text("name");
  peer.status = read_status(from);
  if (peer.status != PeerRow::Status::Failed) {
    peer.error = from.number("error");
    peer.seconds = from.number("seconds");
    peer.ratio = from.number("ratio");
  }
  peer.note = from.text_or_empty("note");
  return peer;
}

Row read_row(const Reader &from) {
  Row row;
  row.id = from.text("id");
  row.title = from.text("title");
  row.failure = from.text_or_empty("failure");
  if (!row.failure.empty()) return row;
  row.seconds = from.number("seconds");
  const json::Array &quartiles = from.array("quartiles");
  if (quartiles.size() != 2 || !quartiles[0].getAsNumber() || !quartiles[1].getAsNumber())
    from.fail("'quartiles' should be two numbers");
  row.low = *quartiles[0].getAsNumber();
  row.high = *quartiles[1].getAsNumber();
  row.rounds = from.integer("rounds");
  row.elements = from.integer("elements");
  row.bytes = from.integer("bytes");
  if (from.has("roof")) {
    const Reader roof = from.object("roof");
    row.roof = Roof{roof.text("name"), roof.number("seconds"), roof.number("gb_per_second"),
                    roof.number("fraction")};
  }
  for (const Reader &peer : from.objects("peers")) row.peers.push_back(read_peer(peer));
  if (from.has("scaling"))
    for (const Reader &s : from.objects("scaling"))
      row.scaling.push_back({int(s.integer("threads")), s.number("seconds")});
  if (from.has("predicted")) row.predicted = from.number("predicted");
  row.compile_ms = from.number("compile_ms");
  if (from.has("code_bytes")) row.code_bytes = from.integer("code_bytes");
  row.cache = from.text("cache");
  row.why = from.text("why");
  return row;
}

} // namespace

std::string to_json(const Run &run) {
  json::Array probe, rows;
  for (const ProbeLine &line : run.probe)
    probe.push_back(json::Object{{"name", line.name}, {"value", line.value}, {"unit", line.unit}});
  for (const Row &row : run.rows) rows.push_back(value_of(row));
  const json::Value value = json::Object{
      {"format", 1},
      {"date", run.date},
      {"machine", run.machine},
      {"threads", run.threads},
      {"peers", run.peers},
      {"missing", run.missing},
      {"probe", std::move(probe)},
      {"rows", std::move(rows)},
  };
  return llvm::formatv("{0:2}\n", value).str();
}

Run read_json(const std::string &text, const std::string &file) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    throw std::runtime_error(
        fmt::format("{}: this is no JSON: {}", file, llvm::toString(parsed.takeError())));
  if (parsed->getAsObject() == nullptr)
    throw std::runtime_error(file + ": this is no run of broadloom-bench --json");
  const Reader from(*parsed->getAsObject(), file);
  if (from.integer("format") != 1) from.fail("this format is of a newer version");
  Run run;
  run.date = from.text("date");
  run.machine = from.text("machine");
  run.threads = int(from.integer("threads"));
  run.peers = from.texts("peers");
  run.missing = from.texts("missing");
  for (const Reader &line : from.objects("probe"))
    run.probe.push_back({line.text("name"), line.number("value"), line.text("unit")});
  for (const Reader &row : from.objects("rows")) run.rows.push_back(read_row(row));
  return run;
}

} // namespace bench
