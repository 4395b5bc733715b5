// See choose_tiles.hpp: which lets are computed in tiles of what.
#include "jit/call/choose_tiles.hpp"

#include "kernel/by_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace broadloom::jit::choice {
namespace {

class GroupFinder {
public:
  GroupFinder(const Nests &nests, const std::vector<bool> &needed, kernel::Operands inputs,
              std::span<const AnyView> views, kernel::Operands outputs,
              std::vector<std::string> &why_not)
      : nests_(nests), lets_(nests.lets), needed_(needed), inputs_(inputs), views_(views),
        outputs_(outputs), taken_(lets_.specs().size()), why_not_(why_not) {
    why_not_.assign(lets_.specs().size(), {});
  }

  std::vector<TileGroup> run() {
    const std::size_t count = lets_.specs().size();
    readers_.resize(count);
    for (std::size_t k = 0; k <= count; ++k)
      if (k == count || needed_[k])
        for (const std::size_t read : lets_.reads(k))
          if (read < count) readers_[read].push_back(k);
    std::vector<TileGroup> groups;
    for (std::size_t root = count + 1; root-- > 0;) {
      if (root < count && (!needed_[root] || taken_[root] || !lets_.stands_alone(root))) continue;
      if (std::optional<TileGroup> group = group_of(root)) groups.push_back(std::move(*group));
    }
    for (std::size_t k = 0; k < count; ++k)
      if (needed_[k] && !taken_[k] && why_not_[k].empty()) why_not_[k] = why_in_no_group(k);
    return groups;
  }

private:
  // Of one that was not looked at as a part of tiles.
  std::string why_in_no_group(std::size_t k) const {
    const auto specs = std::span(lets_.specs());
    if (specs[k]->recurrence) return "each row of it waits for the one before";
    for (std::size_t other = 0; other < specs.size(); ++other) {
      if (specs[other]->join && std::ranges::count(specs[other]->join->parts, name_of(k)) != 0)
        return fmt::format("it is computed where it lies in '{}'", name_of(other));
      if (specs[other]->recurrence && specs[other]->recurrence->start == k)
        return fmt::format("'{}' begins with all of it", name_of(other));
    }
    for (const std::size_t reader : readers_[k]) {
      if (reader < specs.size() && specs[reader]->join)
        return fmt::format("'{}', which reads it, is made up of several", name_of(reader));
      return why_not_by(reader, "has no rows that are computed one by one");
    }
    return {};
  }

  std::string why_not_by(std::size_t reader, std::string_view otherwise) const {
    const std::string_view why = why_no_rows(reader);
    return fmt::format("'{}', which reads it, {}", name_of(reader), why.empty() ? otherwise : why);
  }

  // What a nest does that cannot go by rows, whichever axis these are along.
  std::string_view why_no_rows(std::size_t k) const {
    const TypedSpec &typed = nests_.of(k).typed();
    if (typed.time) return "goes step by step";
    const auto windows = std::span(typed.inputs).subspan(typed.given_inputs());
    const auto adds = [](const spec::TypedInput &input) { return input.window->sum.has_value(); };
    if (nests_.of(k).before() != nullptr || std::ranges::any_of(windows, adds))
      return "adds at elements of another array, in their order";
    const auto looks_up = [](const spec::TypedInput &input) { return input.window->is_gather(); };
    if (std::ranges::any_of(windows, looks_up))
      return "reads at elements of another array, which are all looked up before it runs";
    return {};
  }

  // By rows along the axis that lies outermost, or else along one within it: of y[c, i, j] by rows
  // of i where c are three planes that all read the same lets.
  std::optional<TileGroup> group_of(std::size_t root) {
    const AnyView *const view = root < lets_.specs().size() ? &views_[root] : nullptr;
    const kernel::Operands written = view != nullptr ? kernel::Operands(&view, 1) : outputs_;
    const auto first = std::ranges::find_if(written, [](const AnyView *one) { return one; });
    if (first == written.end()) return std::nullopt;
    std::vector<std::size_t> dims((*first)->layout.steps().size());
    std::iota(dims.begin(), dims.end(), 0);
    std::ranges::stable_sort(dims, std::greater(),
                             [&](std::size_t d) { return (*first)->layout.strides[d]; });
    asked_ = asked_axis(root);
    for (const std::size_t d : dims) {
      const int axis =
          nests_.of(root).typed().outputs[std::size_t(first - written.begin())].axes[d];
      if (asked_ && asked_ != axis) continue;
      if (const std::optional<TileMember> last = member_of(root, written, axis))
        if (std::optional<TileGroup> group = group_before(*last)) return group;
    }
    return std::nullopt;
  }

  // `at h i` asks for tiles by rows of i, however small the arrays are.
  std::optional<int> asked_axis(std::size_t root) const {
    for (const spec::Wishes::Let &let : nests_.of(root).typed().wishes.lets)
      if (let.at && nests_.of(root).typed().is_array(let.clause.names[0])) return let.at;
    return std::nullopt;
  }
  // `keep h` asks for an array of all rows.
  bool is_kept(std::size_t k) const {
    const std::string &name = lets_.specs()[k]->typed.outputs[0].name;
    return std::ranges::any_of(readers_[k], [&](std::size_t reader) {
      const auto &wishes = nests_.of(reader).typed().wishes.lets;
      return std::ranges::any_of(wishes, [&](const spec::Wishes::Let &let) {
        return let.clause.names[0] == name && let.keeps() && !let.at;
      });
    });
  }

  std::optional<TileGroup> group_before(const TileMember &last) {
    std::vector<TileMember> backwards{last}; // then lets before it
    const std::size_t root = last.let;
    for (std::size_t k = std::min(root, lets_.specs().size()); k-- > 0;) {
      if (!needed_[k] || taken_[k] || readers_[k].empty() || !lets_.stands_alone(k)) continue;
      if (is_kept(k)) {
        why_not_[k] = "`keep` asks for all of it";
        continue;
      }
      if (std::optional<TileMember> member = let_member(k, backwards))
        backwards.push_back(std::move(*member));
    }
    if (backwards.size() < 2) return std::nullopt;
    TileGroup group;
    for (std::size_t m = backwards.size(); m-- > 0;) {
      for (RowsRead &read : backwards[m].reads) read.reads = backwards.size() - 1 - read.reads;
      group.members.push_back(std::move(backwards[m]));
    }
    const support::Machine machine = nests_.rest.setup().machine(nests_.rest.setup().threads);
    choose_rows(group, nests_.rest.setup().tile_rows, asked_.has_value(), other_row_bytes(group),
                machine);
    while (group.rows == 0 && group.members.size() > 2) { // fewer may fit
      drop_first(group);
      choose_rows(group, nests_.rest.setup().tile_rows, asked_.has_value(), other_row_bytes(group),
                  machine);
    }
    if (group.rows > 0 && !sees_borders_of_lets_alone(group)) {
      group.rows = 0;
      group.why_not = "who looks past its ends looks past those of another array, too";
    }
    for (const TileMember &member : group.members)
      if (member.let < taken_.size()) {
        taken_[member.let] = taken_[member.let] || group.rows > 0;
        why_not_[member.let] = group.rows > 0 ? "" : group.why_not;
      }
    return group.rows > 0 ? std::optional(std::move(group)) : std::nullopt;
  }

  // Who looks past the ends of a let of the group sees it in a copy with borders, and would make
  // one of all of another array.
  bool sees_borders_of_lets_alone(const TileGroup &group) const {
    for (const TileMember &member : group.members) {
      std::set<std::uint32_t> padded;
      for (const RowsRead &read : member.reads)
        if (read.padding) padded.insert(read.padding->of);
      if (padded.empty()) continue;
      for (const spec::TypedInput &input : nests_.of(member.let).typed().inputs)
        if (input.window && kernel::is_guarded(*input.window) && !padded.contains(input.window->of))
          return false;
    }
    return true;
  }

  static void drop_first(TileGroup &group) {
    group.members.erase(group.members.begin());
    for (TileMember &member : group.members) {
      std::erase_if(member.reads, [](const RowsRead &read) { return read.reads == 0; });
      for (RowsRead &read : member.reads) --read.reads;
    }
  }

  // Of all that the last member reads and writes, but for lets of the group.
  std::int64_t other_row_bytes(const TileGroup &group) const {
    std::int64_t bytes = group.members.back().row_bytes;
    for (const AnyView *input : inputs_)
      bytes += element_count(input->layout) * std::int64_t(size_of(input->dtype)) /
               std::max<std::int64_t>(group.members.back().rows, 1);
    return bytes;
  }

  // All that a nest writes has rows along one axis, which no fold goes along.
  std::optional<TileMember> member_of(std::size_t k, kernel::Operands written, int axis) const {
    const TypedSpec &typed = nests_.of(k).typed();
    if (!why_no_rows(k).empty()) return std::nullopt;
    std::optional<TileMember> made;
    for (std::size_t o = 0; o < written.size(); ++o) {
      if (written[o] == nullptr) continue;
      const Layout &layout = written[o]->layout;
      const auto dim = std::size_t(std::ranges::find(typed.outputs[o].axes, axis) -
                                   typed.outputs[o].axes.begin());
      if (dim == typed.outputs[o].axes.size() || element_count(layout) == 0) return std::nullopt;
      const std::int64_t rows = layout.extents[dim];
      if (rows < 2 || (made && made->rows != rows)) return std::nullopt;
      if (!made) made = TileMember{k, axis, rows, 0};
      made->row_bytes += element_count(layout) / rows * std::int64_t(size_of(written[o]->dtype));
    }
    return made && kernel::separable_axes(typed).has(axis) ? made : std::nullopt;
  }

  // A let that members alone read, each by the rows that it computes.
  std::optional<TileMember> let_member(std::size_t k, std::vector<TileMember> &members) {
    const AnyView *const view = &views_[k];
    const std::optional<std::size_t> dim = outermost_dim(view->layout);
    const auto no = [&](std::string why) {
      why_not_[k] = std::move(why);
      return std::nullopt;
    };
    if (!dim) return no("it has no rows of which one lies behind the other");
    const int axis = nests_.of(k).typed().outputs[0].axes[*dim];
    std::optional<TileMember> made = member_of(k, {&view, 1}, axis);
    if (!made && !why_no_rows(k).empty()) return no(fmt::format("it {}", why_no_rows(k)));
    if (!made) return no("one row of it cannot be computed without the others");
    made->row_bytes = view->layout.strides[*dim] * std::int64_t(size_of(view->dtype));
    std::vector<std::pair<std::size_t, RowsRead>> reads;
    for (const std::size_t reader : readers_[k]) {
      const auto member = std::ranges::find(members, reader, &TileMember::let);
      if (member == members.end()) return no(why_not_by(reader, "is no part of the same tiles"));
      std::optional<RowsRead> read = rows_read_by(*member, k);
      if (!read)
        return no(
            fmt::format("'{}' reads other rows of it than those around its own", name_of(reader)));
      if (!reads.empty() && made->times != member->times * read->times)
        return no(fmt::format("'{}' reads it by other steps than another does", name_of(reader)));
      made->times = member->times * read->times;
      read->reads = members.size();
      reads.emplace_back(std::size_t(member - members.begin()), *read);
    }
    if (!take_border(*made, *dim, *view, members, reads))
      return no("its readers see two borders around it, or one larger than it");
    // With rows apart, a fold that goes from row to row would have another tree.
    if (!made->border &&
        std::ranges::all_of(reads, [](const auto &read) { return read.second.by_one_axis; }))
      made->row_bytes = apart_in_lines(made->row_bytes);
    for (const auto &[member, read] : reads) members[member].reads.push_back(read);
    return made;
  }

  // The border that all readers see around an array, if any.
  static bool take_border(TileMember &made, std::size_t dim, const AnyView &view,
                          const std::vector<TileMember> &members,
                          const std::vector<std::pair<std::size_t, RowsRead>> &reads) {
    for (const auto &[member, read] : reads) {
      if (!read.padding) continue;
      Padding padding = *read.padding;
      padding.of = 0;
      if (!made.border) made.border = Tiles::Border{.padding = padding, .dim = dim};
      if (made.border->padding != padding || !padding.dims.empty()) return false;
      Tiles::Border &border = *made.border;
      const std::int64_t last = read.times * (members[member].rows - 1) + read.high;
      border.above = std::max(border.above, -read.low);
      border.below = std::max(border.below, last - (made.rows - 1));
    }
    if (!made.border) return true;
    Tiles::Border &border = *made.border;
    const TypedWindow::Pad *pad = border.padding.pad_of(dim);
    if (pad != nullptr && pad->mode == PadMode::Reflect &&
        std::max(border.above, border.below) >= made.rows)
      return false;
    border.copy.view = view;
    border.copy.view.layout = kernel::padded_layout(border.padding, view.layout);
    made.row_bytes = border.copy.view.layout.strides[dim] * std::int64_t(size_of(view.dtype));
    return true;
  }

  const std::string &name_of(std::size_t k) const {
    return k < lets_.specs().size() ? lets_.specs()[k]->typed.outputs[0].name
                                    : nests_.rest.typed().name;
  }

  std::optional<RowsRead> rows_read_by(const TileMember &reader, std::size_t let) const {
    const TypedSpec &typed = nests_.of(reader.let).typed();
    const std::vector<const AnyView *> named =
        reader.let < lets_.specs().size() ? lets_.operands(reader.let, inputs_, views_)
                                          : lets_.operands_of_rest(inputs_, views_, outputs_);
    const kernel::LentOperands lent(typed, named);
    std::vector<Layout> given;
    for (const AnyView *view : lent.all().first(typed.given_inputs()))
      given.push_back(view->layout);
    const std::string &name = lets_.specs()[let]->typed.outputs[0].name;
    for (std::size_t i = 0; i < typed.given_inputs(); ++i)
      if (typed.inputs[i].materialised && typed.inputs[i].name == name)
        return rows_read(typed, given, i, reader.axis);
    return std::nullopt;
  }

  const Nests &nests_;
  const Lets &lets_;
  const std::vector<bool> &needed_;
  const kernel::Operands inputs_;
  const std::span<const AnyView> views_;
  const kernel::Operands outputs_;
  std::vector<bool> taken_;
  std::optional<int> asked_;                      // of the last member that is looked at
  std::vector<std::vector<std::size_t>> readers_; // [let]; the number of lets: the kernel
  std::vector<std::string> &why_not_;             // [let]
};

} // namespace

std::vector<TileGroup> find_groups(const Nests &nests, const std::vector<bool> &needed,
                                   kernel::Operands inputs, std::span<const AnyView> views,
                                   kernel::Operands outputs, std::vector<std::string> &why_not) {
  return GroupFinder(nests, needed, inputs, views, outputs, why_not).run();
}

} // namespace broadloom::jit::choice
