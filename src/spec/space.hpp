// The iteration space: which axes a kernel has, and which of them each dim of each input walks.
//
//   order f,  x : f32[i, j],  b : f32[:],  k : f64     axes i j;  x -> i j,  b -> j,  k -> nothing
//
// Labelled axes come in order of first appearance; unlabelled dims align with them at the end
// (order f) or the start (order c), or where dims() / axes() put them.
#pragma once

#include "spec/spec.hpp"

#include <unordered_map>
#include <unordered_set>

namespace broadloom::spec {

// Builds axes and inputs of `out` from the declarations and from what the expressions read, and
// answers questions of name and place afterwards.
class Space {
public:
  Space(const SpecData &data, TypedSpec &out);

  std::uint32_t index_of(const InputDecl &decl) const { return by_decl_.at(&decl); }

  // The input called `name`, for like= or of=. Throws E0003.
  std::uint32_t input_called(const std::string &name, const Place &where,
                             const char *option = "like=") const;
  // Those of like=, which is one window or any number of whole inputs. Throws E0021 too.
  std::vector<std::uint32_t> inputs_called(const std::vector<std::string> &names,
                                           const Place &where) const;
  // The same in the modes, where a window cannot stand.
  std::vector<std::uint32_t> whole_inputs_called(const std::vector<std::string> &names,
                                                 const Place &where) const;

  // Throws E0104 for an axis that the kernel does not have.
  int axis(const AxisRef &ref, const Place &where) const;

  // An axis as a message names it: 'j' or 0.
  std::string axis_name(int axis) const;
  std::string axis_list(expr::AxisSet axes) const; // "axes 'i' and 'j'", "no axes"

  // Of an axis with a label: the dim that fixes its extent to other than 1, if there is one.
  const DimExtent *fixed(int axis) const;

  // The place with its source line.
  Place shown(const Place &where) const;

private:
  void collect();
  void add_said_axes();
  void add_read(const std::shared_ptr<const InputDecl> &decl);
  void add(const std::shared_ptr<const InputDecl> &decl);
  void check_names() const;
  void check_form(const InputDecl &decl) const;
  void name_axes();
  void name_own_axes();
  void place(const InputDecl &decl, TypedInput &input) const;
  void place_explicitly(const InputDecl &decl, TypedInput &input) const;
  void note_fixed(std::size_t input);
  // An input of which nothing but windows is read meets no other, nor does one that is not read at
  // all and has too many dims to lie
  // anywhere: its unlabelled dims walk axes of their own (name_own_axes).
  bool has_own_axes(const InputDecl &decl) const {
    return !decl.labelled() && decl.placement == Placement::ByOrder && !decl.dims.empty() &&
           !read_whole_.contains(decl.name) &&
           (decl.materialised || decl.is_idle || windowed_.contains(decl.name) ||
            int(decl.dims.size()) > placed_axes_);
  }
  [[noreturn]] void too_many_dims(const std::string &input, int rank, const Place &where) const;
  TypedWindow::Form resolved(const AffineForm &form) const; // counted from the start
  TypedWindow resolve(const Window &window, const Place &where) const;

  const SpecData &data_;
  TypedSpec &out_;
  std::vector<std::shared_ptr<const InputDecl>> decls_;
  std::vector<std::uint32_t>
      order_of_labels_; // of decls_: what an index reads stands behind what it is an index of
  std::unordered_set<std::uint32_t> named_; // those among them
  std::unordered_map<const InputDecl *, std::uint32_t> by_decl_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_set<std::string> read_whole_,
      windowed_; // inputs that are read without and with positions
  std::unordered_map<std::string, int> label_axis_;
  int placed_axes_ = 0; // what positions count: all but those of name_own_axes
  std::unordered_map<int, DimExtent> fixed_;
};

} // namespace broadloom::spec
