// Who lays the page of a graph out: the library starts no other programs, but the command line may.
#pragma once

#include <functional>
#include <string>

namespace broadloom::text {

// Is given boxes in Graphviz's language, and gives what `dot -Tplain -Tdot` makes of it. Where it
// gives anything else, such as nothing, boxes stand in layers.
using GraphLayout = std::function<std::string(const std::string &dot)>;

// Pages that this thread prints while it lives are laid out so.
class LayoutBy {
public:
  explicit LayoutBy(GraphLayout layout) : layout_(std::move(layout)), before_(latest) {
    latest = &layout_;
  }
  ~LayoutBy() { latest = before_; }
  LayoutBy(const LayoutBy &) = delete;
  LayoutBy &operator=(const LayoutBy &) = delete;

  static const GraphLayout *now() { return latest; } // null: none

private:
  static inline thread_local const GraphLayout *latest = nullptr;
  const GraphLayout layout_;
  const GraphLayout *const before_;
};

} // namespace broadloom::text
