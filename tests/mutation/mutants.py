#!/usr/bin/env python3
"""Breaks each path of the schedule on purpose, and sees that the tests fail: `./dev mutate
[NAME]...`.

Each mutant is a copy of one source with one place changed: a tail that is left out, a join that is
skipped, an address that is one off, or a path that does nothing. It is built in a tree of its own
(build/mutants), and the large random kernels run on it; where they pass, so do the unit and golden
tests. A mutant of a choice (src/block) has to fail the golden blocks, or else these. A mutant that
lives is a path that nothing pins. Prints a table, and `ok - NAME` or `not ok - NAME` for each.
"""
import pathlib, re, shutil, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "mutants" / "tree"

# (name, file, what stands there, what the mutant has in its place)
MUTANTS = [
    ("warps: no meeting before and after a loop", "jit/emit/phase.cpp",
     "const bool threads = lanes_.are_threads() && here.group.loop == nullptr;", "const bool threads = false;"),
    ("warps: each thread stores what all have", "jit/emit/memory.cpp",
     "    lanes_.store_once([&] { store(); });", "    store();"),
    ("warps: the ways of a fold are joined with their neighbours", "jit/emit/accumulators.cpp",
     "for (unsigned half = unsigned(fold_ways) / 2; half >= 1; half /= 2)",
     "for (unsigned half = 1; half < unsigned(fold_ways); half *= 2)"),
    ("warps: lanes beyond the rows' slots", "jit/emit/memory.cpp",
     "      !lanes_.are_threads())        // of which there may be more than slots",
     "      true)        // of which there may be more than slots"),
    ("devices: boxes of another grain", "jit/gpu/launch.cpp",
     "grid.count.push_back((extent + step - 1) / step);", "grid.count.push_back(extent / step);"),
    ("devices: what the host has written stays there", "jit/gpu/on_host.hpp",
     "      if (copy.goes_back) device_", "      if (false) device_"),
    ("devices: points of a place stay as they came", "jit/gpu/steps.cpp",
     "  device_.step(Step::ScatterOrders, &step, step.places);\n", ""),
    ("devices: nobody looks whether a position is outside", "jit/gpu/steps.cpp",
     "      if (is_set != 0) return std::nullopt;\n", ""),
    ("windows: the index of an axis that cancels out", "src/rewrite/reindex.cpp",
     "spec_.graph[args[0]].axes.has(axis) ? args[0] : lender(axis)", "args[0]"),
    ("gradient: what a padded border takes up meets slopes", "src/grad/through_window.cpp",
     "if (mask.node() || !says_positions(window)) return {value, mask};",
     "if (mask.node() || !says_positions(window) || value.node()) return {value, mask};"),
    ("gradient: no window that is not read ends an axis", "src/grad/bounds.cpp",
     "        if (bounds_.contains(bound_of(*input->window, dim))) return;\n", "        return;\n"),
    ("gradient: a cotangent is as long as its axis", "src/grad/bounds.cpp",
     "  if (were_free.empty()) return;\n", "  return;\n"),
    ("gradient: axes in the order in which they are read", "src/grad/axis_order.cpp",
     "    found->has_axes = true;\n", ""),
    ("gradient: accumulators keep their names", "src/grad/accumulator_names.cpp",
     "  if (!meets) return values;\n", "  return values;\n"),
    ("loops: a segment begins where it is asked for", "jit/call/run_loops.cpp",
     "  there = segment * loop.segment();\n", "  there = n;\n"),
    ("loops: a row less before each segment", "jit/call/run_loops.cpp",
     "saved_row(member, place * member.lag + c)", "saved_row(member, place * member.lag)"),
    ("loops: copies with borders are not brought again", "jit/call/choose_loops.cpp",
     "recurrence(*let)->first == other) {", "recurrence(*let)->first != other) {"),
    ("calls: what a loop is computed again from is copied by nobody before", "jit/call/choose_reader.cpp",
     "const bool comes_later = of.dim && of.comes;", "const bool comes_later = of.dim && (of.comes || of.again);"),
    ("calls: copies of a loop that is computed again give way to others", "jit/call/choose_loops.cpp",
     "if (copy.made == made_at_.at(other)) copy.last_read = now_;", ""),
    ("calls: a ring is told a row shorter", "jit/call/call_chooser.cpp",
     "layouts_->kept_rows[k], false,", "layouts_->kept_rows[k] > 1 ? layouts_->kept_rows[k] - 1 : 0, false,"),
    ("calls: a part is left out of what is told", "jit/call/choose_reader.cpp",
     "    to.shown.push_back(run_step(reader, part));", "    if (&part == &reader.choice->parts.front()) to.shown.push_back(run_step(reader, part));"),
    ("calls: an edge is told to wrap", "jit/call/call_steps.hpp",
     'case PadMode::Edge: return "edge";', 'case PadMode::Edge: return "wrap";'),
    ("calls: a part of a join is told to lie one later", "jit/call/call_chooser.cpp",
     "whole.at.push_back(at(place.first));", "whole.at.push_back(at(place.first + (place.own >= 0 && p > 0)));"),
    ("calls: a view of a loop is told one row off", "jit/call/call_chooser.cpp",
     "loop.backwards ? rows.back : -rows.back;\n  step.note", "loop.backwards ? rows.back - 1 : 1 - rows.back;\n  step.note"),
    ("calls: a window is told one element off", "jit/call/call_steps.hpp",
     "position.constant -= copy->padding.dims[dim].first * position.divisor;",
     "position.constant -= (copy->padding.dims[dim].first + 1) * position.divisor;"),
    ("calls: a restored row is another", "src/calls/interpret.cpp",
     "copy_row(saved, segment / apart * lag + c, from, row);", "copy_row(saved, segment / apart * lag, from, row);"),
    ("calls: a segment is told to be there one step later", "jit/call/choose_loops.cpp",
     "{.constant = lets_.last_step_read(other),", "{.constant = lets_.last_step_read(other) - 1,"),
    ("calls: a border of numbers is where an edge is", "src/calls/interpret_moves.cpp",
     'if (mode != "reflect") return std::nullopt;', 'if (mode != "reflect") return at < begin ? begin : end - 1;'),
    ("calls: rows behind the end are left as they were", "src/calls/interpret.cpp",
     "        repeat(step);\n", "        ;\n"),
    ("calls: a piece of a tile begins where the first one did", "jit/call/tile_steps.cpp",
     "moves.push_back({loop.axis, times * loop.by});", "moves.push_back({loop.axis, 0});"),
    ("calls: copies keep borders where another array was", "jit/call/run_call.cpp",
     "has_borders_ = !ready_.empty() && plan_.copies_stay;", "has_borders_ = !ready_.empty();"),
    ("calls: a plan fits whatever overlaps", "jit/call/call_plans.cpp", " && plan->overlaps == *overlaps", ""),
    ("calls: an output that is asked for is not looked at", "jit/call/call_plans.cpp",
     "if (k >= inputs && *word++ != (view != nullptr)) return false;", "if (k >= inputs) ++word;"),
    ("cuts: positions hold the extents of the let that was cut out", "src/spec/cut.cpp",
     "    exchange_extents(form, [&](const Expr &of) { return instead(name_of_array(of)); });", ""),
    ("loops: readers of other steps may follow", "src/spec/recurrence.cpp",
     "times->times != 1 ||", ""),
    ("loops: what is read again may go", "jit/call/checkpoints.cpp", "      keep(read);\n", ""),
    ("loops: earlier steps begin with anything", "src/spec/earlier_rows.cpp",
     "        !begins_with(found->loop, args[1]))", "        false)"),
    ("loops: rows one step later", "jit/call/lets_memory.cpp",
     "loop.backwards ? rows.back : -rows.back", "loop.backwards ? rows.back - 1 : 1 - rows.back"),
    ("loops: together in spite of other bounds", "src/spec/loops_together.cpp",
     "if (!is_read && !counted && !first.bounds.contains(bound)) return false;", ""),
    ("loops: together in spite of what needs all steps", "src/spec/loops_together.cpp",
     "!waits_for(later, first);", "true;"),
    ("carried sums: the step alone", "src/grad/carried_sums.cpp",
     "  Expr sum = facts::Terms(where).add(before, in_this_kernel(m, sent));", "  Expr sum = in_this_kernel(m, sent);"),
    ("parts: a condition holds one position too early", "src/kernel/interior.cpp",
     "    return narrow(line, 0, far, condition.kind", "    return narrow(line, -1, far, condition.kind"),
    ("parts: what meets a class begins one later", "src/kernel/interior.cpp",
     "take_every(std::size_t(residue.folded), first);", "take_every(std::size_t(residue.folded), (first + 1) % divisor);"),
    ("parts: of one position of an axis", "src/kernel/interior.cpp",
     "    return leave_no_single();\n", "    return true;\n"),
    ("parts: where one begins is left out", "jit/call/choose_reader.cpp",
     "first ? part.box[axis].first : reader.choice->whole[axis].count", "first ? 0 : reader.choice->whole[axis].count"),
    ("parts: folds merge what the whole keeps apart", "src/plan/trees.cpp",
     "    if (joins && (is_apart(fold, tree.folded.back().back()) || is_apart(fold, c))) joins = false;\n", ""),
    ("counted states: one step too many", "jit/emit/accumulators.cpp",
     "ir_.CreateSIToFP(steps, ir_.getDoubleTy())", "ir_.CreateSIToFP(ir_.CreateAdd(steps, ir_.getInt64(1)), ir_.getDoubleTy())"),
    ("standby: the last block is taken by nobody", "jit/runtime/shares.hpp",
     "if (next >= size) break;", "if (next + 1 >= size) break;"),
    ("tiles: of no short sides", "src/plan/choose_tiles.cpp",
     "extent(side) < shortest_side", "extent(side) < tile_side"),
    ("map: the rest is left out", "jit/emit/maps.cpp",
     "context_.each({rest, range.end}, part", "context_.each({rest, rest}, part"),
    ("map: a narrowed group does nothing", "jit/emit/maps.cpp",
     "        narrowest_part(here, run, box + 1, position, count);\n", ""),
    ("map: no block of columns", "src/block/choose.cpp",
     "  if (!f.inner_folds || f.costly) return base;\n  int width = machine_.sizes.columns * base;",
     "  return base;\n  int width = machine_.sizes.columns * base;"),
    ("masked map: no last turn", "jit/emit/maps.cpp",
     "ir_.getInt64(0), ir_.getInt64(2)}, 1, [&](llvm::Value *turn", "ir_.getInt64(0), ir_.getInt64(1)}, 1, [&](llvm::Value *turn"),
    ("non-temporal stores: partial groups do nothing", "jit/emit/maps.cpp",
     "  this->part(here, run, run.rest(), position, count);\n", ""),
    ("non-temporal stores: never", "jit/emit/stream.cpp",
     "    place.aligned = aligned;", "    place.aligned = false;"),
    ("fold: all registers read the first", "jit/emit/fold.cpp",
     "turn(own, box, run.loop, position, static_cast<std::int64_t>(u) * apart);",
     "turn(own, box, run.loop, position, 0);"),
    ("register tile: beside it the last column is left out", "jit/emit/tiles.cpp",
     "context_.least(ir_.CreateSub(lanes.end, lane), context_.number(width))",
     "context_.least(ir_.CreateSub(lanes.end, lane), context_.number(width - 1))"),
    ("register tile: never masked", "src/block/choose_tiles.cpp",
     "  if (width <= most_masked && moves_masked(inner) && !f.inner_trees) {", "  if (false) {"),
    ("fold: the mask of a rest is full", "jit/emit/fold.cpp",
     "lanes_of(here, loop, width, active);", "lanes_of(here, loop, width, context_.number(width));"),
    ("fold: lanes are joined by neighbours", "jit/emit/accumulators.cpp",
     "  tree::halve(int(lanes.size()), ", "  tree::pair(int(lanes.size()), "),
    ("leaves: a join is skipped", "jit/emit/cascade.cpp",
     "addIncoming(both[k], carry_done);", "addIncoming(joined[k], carry_done);"),
    ("leaves: the last one is joined to its neighbours alone", "jit/emit/cascade.cpp",
     "ir_.CreateSelect(more, low_ones, count);", "low_ones;"),
    ("leaves together: the second of each pair is lost", "jit/emit/cascade.cpp",
     "    block = accs_.join(loop, block, blocks[std::size_t(from)]);\n", ""),
    ("leaves together: never", "src/block/choose.cpp", "  int leaves = machine_.sizes.leaves;\n", "  int leaves = 1;\n"),
    ("scan: blocks do not carry", "jit/emit/scan.cpp",
     "now[0] = accs_.join(loop, now[0], scan_block(here, run, {first, last}, start));",
     "now[0] = scan_block(here, run, {first, last}, start);"),
    ("scan: a box starts anew", "jit/emit/scan.cpp",
     "states[k] = lanes_.select(goes_on, memory_.load(here, loop.handed[k]), states[k]);", "memory_.load(here, loop.handed[k]);"),
    ("scan groups: the longest distance is left out", "jit/emit/scan_groups.cpp",
     "distance < width; distance *= 2", "distance < width / 2; distance *= 2"),
    ("scan groups: the rest is left out", "jit/emit/scan_groups.cpp",
     ": part(whole_groups(start));", ": whole_groups(start);"),
    ("scan groups: totals of several in the wrong order", "jit/emit/scan_groups.cpp",
     "states = join_neighbours(shuffled(states, even), shuffled(states, odd));",
     "states = join_neighbours(shuffled(states, odd), shuffled(states, even));"),
    ("scan groups: the rest in reverse is left out", "jit/emit/scan_groups.cpp",
     "whole_groups(part(start)) :", "whole_groups(start) :"),
    ("scan of rows: the rest is left out", "jit/emit/fold.cpp",
     ": singles(part, strips(here, run, whole, start));", ": strips(here, run, whole, start);"),
    ("scan of rows: the rest in reverse is left out", "jit/emit/fold.cpp",
     "strips(here, run, whole, singles(part, start))", "strips(here, run, whole, start)"),
    ("scan of rows: copies in reverse go forwards", "jit/emit/strips.cpp",
     "const int number = loop.reverse ? size - 1 - k : k;", "const int number = k;"),
    ("scan of rows: turns in reverse go forwards", "jit/emit/strips.cpp",
     "      if (loop.reverse) number = ir_.CreateSub(context_.number(size - 1), number);\n", ""),
    ("scan of rows: what a block stores is left out", "jit/emit/strips.cpp",
     "  memory_.store_columns(corner, awaited);\n", ""),
    ("rows in lanes: positions overlap", "jit/emit/context.cpp",
     "is_row_in_lanes(buffer) ? row_lanes : ", "is_row_in_lanes(buffer) ? 8 : "),
    ("scan of rows: never", "src/block/choose.cpp",
     "if (place.vector != nullptr && takes_rows(id, *place.vector)) {", "if (false) {"),
    ("plan: numbers with exponents are scanned in groups", "src/plan/arrange_folds.cpp",
     "return kept >= fewest_stepped_rows &&", "return kept < 0 &&"),
    ("plan: no row for each lane", "src/plan/place.cpp",
     "has_lanes_around(scan) ? most_bytes_of_lane_rows", "has_lanes_around(scan) ? -1"),
    ("short rows: the last turn of a copied map is left out", "jit/emit/short_rows.cpp",
     "for (int p = 0; p < loop.turns; ++p)", "for (int p = 0; p + 1 < loop.turns; ++p)"),
    ("short rows: a looped map does one turn less", "jit/emit/short_rows.cpp",
     "run.whole(), {none, turns}, 1,", "run.whole(), {ir_.getInt64(1), turns}, 1,"),
    ("short rows: the tree loses its right half", "jit/emit/short_rows.cpp",
     "left[k] = right ? accs_.join(loop.accs[k]", "left[k] = right && apart > 1 ? accs_.join(loop.accs[k]"),
    ("short rows: a second round is lost", "jit/emit/short_rows.cpp",
     "for (int p = lane; p < loop.turns; p += loop.ways)", "for (int p = lane; p < loop.turns && p < 32; p += loop.ways)"),
    ("short rows: sums of -0 stay -0", "jit/emit/short_rows.cpp",
     "llvm::ConstantFP::get(tree[k][0]->getType(), 0.0)", "llvm::ConstantFP::get(tree[k][0]->getType(), -0.0)"),
    ("argmax: a later tie wins", "src/ops/increasing.cpp",
     "    case Op::Le: return at_last;", "    case Op::Le: return at_first;"),
    ("plan: no near rows", "src/plan/tasks.cpp", "if (near > wanted) wanted = near, grid.near = k;",
     "(void)near;"),
    ("plan: no rows of panels", "src/plan/choose_panels.cpp",
     "      else if (folds_rows(fold))", "      else if (false)"),
    ("plan: no axis moves next to lanes", "src/plan/components.cpp",
     "  if (loaded.empty() || makes_tiles(", "  if (true || makes_tiles("),
    ("short rows: joins in memory stop early", "jit/emit/short_rows.cpp",
     "        for_lanes(none, pairs, [&](llvm::Value *lane) {", "        for_lanes(one, pairs, [&](llvm::Value *lane) {"),
    ("columns: loaded in the wrong order", "jit/emit/transpose.cpp",
     "for (int lane = k; lane < width; lane += all)", "for (int lane = k ^ 1; lane < width; lane += all)"),
    ("columns: the last two rounds take the wrong pieces", "jit/emit/transpose.cpp",
     "v[2 * k * each + c] = pick(even[0], even[1], static_cast<int>(k));",
     "v[2 * k * each + c] = pick(even[0], even[1], static_cast<int>(1 - k));"),
    ("columns: the last row is not clamped", "jit/emit/transpose.cpp",
     "if (last != nullptr) row = context_.least(row, last);", "(void)last;"),
    ("columns: the first row is not stored", "jit/emit/transpose.cpp",
     "for (int lane = here.group.width - 1; lane >= 0; --lane) {", "for (int lane = here.group.width - 1; lane >= 1; --lane) {"),
    ("columns: rows of no lane are stored", "jit/emit/transpose.cpp",
     "  if (here.group.active == nullptr)\n    store_all();", "  if (true)\n    store_all();"),
    ("row of lanes: one row for all positions", "jit/emit/memory.cpp",
     "return ir_.CreateGEP(type, room, here.positions[program_[id].walks.front().axis.index]);",
     "return ir_.CreateGEP(type, room, ir_.getInt64(0));"),
    ("jam: also where the rows are not alike", "src/block/choose_tiles.cpp",
     "inner.within == rows.axis ||", "false ||"),
    ("jam: the first row's state is stored", "jit/emit/phase.cpp",
     "own.last = &copy == &around.copies->back();", "own.last = &copy == &around.copies->front();"),
    ("jam: the rest is left out", "jit/emit/tiles.cpp",
     "context_.each({rest, range.end}, 1", "context_.each({range.end, range.end}, 1"),
    ("jam: never", "src/block/choose_tiles.cpp", "  if (!states || asked == 1) return std::nullopt;\n", "  return std::nullopt;\n"),
    ("register tile: all rows are the first", "jit/emit/memory.cpp",
     "*rows, context_.number(r));", "*rows, context_.number(r / 2));"),
    ("register tile: never", "src/block/choose_tiles.cpp",
     "  if ((!shared && asked == 0) || height == 1) return std::nullopt;", "  return std::nullopt;"),
    ("tile of folds: never", "src/block/choose_tiles.cpp",
     "  if (down * across == 1) return std::nullopt;", "  return std::nullopt;"),
    ("tile of folds: what it reads is another's", "jit/emit/tiles.cpp",
     "nullptr ? r * across : 0)", "nullptr ? r / 2 * across : 0)"),
    ("tile of folds: each ends as the first", "jit/emit/tiles.cpp",
     "accs_.set_running(fold, results[k]);", "accs_.set_running(fold, results[0]);"),
    ("tile of folds: the later half is that of another", "jit/emit/accumulators.cpp",
     "sources.push_back(fold * 2 * half + first + lane);", "sources.push_back((fold ^ (first > 0 ? 1 : 0)) * 2 * half + first + lane);"),
    ("tiles: what is beside is left out", "jit/emit/tiles.cpp",
     "context_.each({left, rows.end}, 1", "context_.each({rows.end, rows.end}, 1"),
    ("tiles: a row of a block is another's", "jit/emit/tiles.cpp",
     "elements.row = k;", "elements.row = ir_.CreateXor(k, ir_.getInt64(1));"),
    ("warps: a thread takes one element at a time", "src/block/choose.cpp",
     "  if (!lanes_are_threads() || f.costly || f.inner_loops || has_rows_in_lanes(id) ||", "  if (true || f.costly || f.inner_loops || has_rows_in_lanes(id) ||"),
    ("warps: nobody looks whether neighbours are aligned", "jit/emit/memory.cpp",
     "range.begin, size * std::size_t(box.apiece())));", "range.begin, 1));"),
    ("warps: neighbours of another thread", "jit/emit/memory.cpp",
     "  return group.apiece == 1 ? thread :", "  return true ? thread :"),
    ("warps: neighbours change places", "jit/emit/maps.cpp",
     "elements.row = context_.number(k);", "elements.row = context_.number(box.apiece() - 1 - k);"),
    ("warps: neighbours in a fold whose order matters", "src/block/choose.cpp",
     "const int each = folds_in_any_order(program_, l) ? apiece(id) : 1;", "const int each = apiece(id);"),
    ("warps: both groups of a scan go on from the same state", "jit/emit/scan_groups.cpp",
     "  if (here.group.width > width) {", "  if (false) {"),
    ("warps: the upper group of a scan takes the lower one's lanes", "jit/emit/lanes_threads.cpp",
     "  source = ir_.CreateOr(source, ir_.CreateAnd(thread(), ir_.getInt32(16)));\n", ""),
    ("warps: as few results in chunks as on a processor", "src/plan/choose.cpp",
     "machine.warp > 0 ? std::max(few_kept, double(machine.threads)) : few_kept", "few_kept"),
    ("warps: chunks joined one by one", "src/block/choose.cpp",
     "  return lanes_are_threads() && place.vector == nullptr && loop(id).leaf == 1 &&", "  return false && place.vector == nullptr && loop(id).leaf == 1 &&"),
    ("warps: scans stepped one by one", "src/block/choose.cpp",
     "  if (lanes_are_threads() && place.vector == nullptr && is_chain(program_, l)) {", "  if (false && place.vector == nullptr && is_chain(program_, l)) {"),
    ("warps: steps counted anew behind those in threads", "jit/emit/scan.cpp",
     "chain(here, run, whole, start), false)", "chain(here, run, whole, start), true)"),
    ("warps: threads take each other's column", "jit/emit/transpose.cpp",
     "  block.shared = ir_.CreateGEP(type, shared, ir_.CreateMul(thread, ir_.getInt64(width + 1)));",
     "  block.shared = ir_.CreateGEP(type, shared, ir_.CreateMul(thread, ir_.getInt64(width)));"),
    ("tiles: never", "src/block/choose_tiles.cpp", "  if (tile.loaded_across.empty()) return std::nullopt;\n", "  return std::nullopt;\n"),
    ("strided loads: a lane is off", "jit/emit/strided.cpp",
     "const int place = k * step - lowest;", "const int place = std::max(0, k * step - lowest - (k == lanes - 1));"),
    ("loads apart: the mask is full", "jit/emit/strided.cpp",
     "group.mask != nullptr ? group.mask : lanes_.literal", "lanes_.literal"),
    ("stores apart: one lane less", "jit/emit/strided.cpp",
     "context_.each({ir_.getInt64(0), group.active}, 1, [&](llvm::Value *lane) {\n    llvm::Value *element = ir_.CreateLoad",
     "context_.each({ir_.getInt64(1), group.active}, 1, [&](llvm::Value *lane) {\n    llvm::Value *element = ir_.CreateLoad"),
    ("prefetch: never", "src/block/access.cpp",
     "  found.lines = streamed && !place.jammed;\n", ""),
    ("prefetch: not of the rows below", "src/block/access.cpp",
     "  found.block |= streamed && place.jammed && walk(id, *place.jammed) != nullptr;\n", ""),
    ("register tile: around one fold only", "src/block/rules.cpp",
     "splits_in_rows(program, survey, l.body, rows);", "!has_loops(l.body) && splits_in_rows(program, survey, l.body, rows);"),
    ("register tile: all rows at the position of the lanes", "jit/emit/phase.cpp",
     "by_row ? k / group.width : k % group.width", "k % group.width"),
    ("register tile: the last one not back", "jit/emit/tiles.cpp",
     "llvm::Value *row = context_.least(next, ir_.CreateSub(rows.end, context_.number(copies)));",
     "llvm::Value *row = next;"),
    ("register tile: rows again of what is read where it is stored", "src/block/rules.cpp",
     "return !lies_alike && !touches(program, lanes.body, id, true);", "return true;"),
    ("register tile: stored around the caches where rows are not aligned", "jit/emit/tiles.cpp",
     "memory_.stored_plainly(here, box, lanes.begin, width, program_[run.loop].axis);",
     "memory_.stored_plainly(here, box, lanes.begin, width, std::nullopt);"),
    ("mask: asked once, though it goes along the innermost group", "src/plan/arrange_folds.cpp",
     "along && std::ranges::count(tree.folded.back(), *along) != 0", "along && false"),
    ("relax: a mask on one factor of a product", "src/rewrite/relax.cpp",
     "if (mask) factor =", "if (mask && &factor == &factors[0]) factor ="),
    ("prefetch: no steps of a tile", "src/block/access.cpp", "    found.steps = std::any_of(", "    (void)std::any_of("),
    ("prefetch: steps of the outermost fold", "jit/emit/prefetch.cpp",
     "    down = context_.walk(id, around->axis);", "    if (down == nullptr) down = context_.walk(id, around->axis);"),
    ("prefetch: no next block", "src/block/access.cpp", "  found.block = holds(place.next_block, id);\n", ""),
    ("prefetch: no short rows", "src/block/access.cpp", "      found.lines = buffer.stream && machine_.sizes.asks_ahead;\n",
     "      {}\n"),
    ("prefetch: no blocks of scans", "src/block/access.cpp", "      found.block = buffer.stream;\n", "      {}\n"),
    ("masked map: never", "src/block/choose.cpp", "  if ((long_code && machine_.masks_free) || lanes_are_threads()) {", "  if (lanes_are_threads()) {"),
    ("map: no narrow columns", "src/block/choose.cpp", "  if (!f.inner_folds || long_code || place.left) return run;", "  return run;"),
    ("fold: one register at a time", "src/block/choose.cpp", "    } else if (light && !f.inner_loops) {", "    } else if (false) {"),
    ("scan groups: totals of one group", "src/support/machine.hpp", "int scan_totals = 4;", "int scan_totals = 1;"),
    ("scan groups: always masked", "src/block/choose.cpp", "  if (!facts(id).costly) {", "  if (false) {"),
    ("short rows: never copied", "src/block/choose.cpp", "const bool copied = light || !identity_stays(program_, l);", "const bool copied = !identity_stays(program_, l);"),
    ("short rows: always copied", "src/block/choose.cpp", "const bool copied = light || !identity_stays(program_, l);", "const bool copied = true;"),
    ("columns: never transposed", "src/block/access.cpp", "  return in != nullptr && across != nullptr && in->stride", "  return false && in->stride"),
    ("strided loads: never", "src/block/access.cpp", "return known_step(buffer, place.vector->axis) != 0 ? Move::Strided : apart(size);", "return apart(size);"),
    ("streams: never in folds", "src/block/choose.cpp",
     "      place.streamed = streamed(id);\n      run.boxes", "      run.boxes"),
    ("streams: never in scans", "src/block/choose.cpp", "    if (!totals) place.streamed = streamed(id);\n", ""),
    ("streams: never in maps", "src/block/choose.cpp", "  place.streamed = streamed(id);\n  const int base", "  const int base"),
    ("streams: no more lanes of narrow elements", "src/block/choose.cpp", "int width = base;\n  while (width < most_masked", "int width = base;\n  while (false"),
    ("streams: narrowed by the store", "jit/emit/memory.cpp", "  if (around && size < 4) value = fenced(ir_, value);\n", ""),
    ("streams: inputs do not count", "src/plan/choose_access.cpp", " && (bytes <= own || traffic_of(request) <= 2 * kept)", ""),
    ("tasks: any number of them", "src/plan/tasks.cpp", "tasks > machine.threads ? tasks - tasks % machine.threads : tasks", "tasks"),
    ("streams: never in tiles", "src/block/choose_tiles.cpp", "  tile.streamed = streamed(*inner);\n", ""),
    ("jam: two rows", "src/support/machine.hpp", "int jammed_rows = 4;", "int jammed_rows = 2;"),
    ("register tile: two rows", "src/support/machine.hpp", "int tile_rows = 4;", "int tile_rows = 2;"),
    ("masked moves of bytes on AVX2", "src/block/access.cpp",
     "(!place.masked || is_complex(buffer.dtype) || machine_.has_masked_move(size))", "true"),
    ("plan: no panels", "src/plan/choose_panels.cpp",
     "      if (is_product(fold))\n        pack(fold);", "      if (is_product(fold)) continue;"),
    ("panels: each begins in the one before", "src/plan/lower_operands.cpp",
     "array.chunk_stride = panel - width;", "array.chunk_stride = panel - 2 * width;"),
    ("plan: a short row is shared out", "src/plan/lower.cpp",
     "if (!loop.accs.empty() || loop.within || loop.turns > 0) return;", "if (!loop.accs.empty() || loop.within) return;"),
    ("plan: no non-temporal stores", "src/plan/thresholds.hpp",
     "shortest_streamed_row =\n    256", "shortest_streamed_row =\n    1 << 30"),
    ("plan: a fold in lanes goes along with a sweep", "src/plan/choose.cpp",
     "found.kind != ChunkKind::SweptLeaf || leaf <= found.least;", "found.kind != ChunkKind::SweptLeaf || leaf > 0;"),
    ("plan: chunks are not whole leaves", "src/plan/choose.cpp",
     "least = std::max(least, leaf);", "least = 1;"),
    ("chunks: joined to the start of the fold first", "src/loop/loop.cpp",
     "  return loop.leaf == 1 && loop.ways == 1", "  return loop.leaf == 0 && loop.ways == 1"),
    ("plan: no sweep of rows", "src/plan/choose_folds.cpp",
     "  if (tree.folded.size() != 1 || tree.ways || tree.kept.empty()) return {};\n  for", "  return {};\n  for"),
    ("plan: no short rows", "src/plan/choose_folds.cpp", "  if (turns < 2 || turns > longest_short_row ||", "  if (turns > 0 || turns > longest_short_row ||"),
    ("interleaved phases: the last block of each is left out", "jit/runtime/threads.cpp",
     "hi[0] = begin(block + 1);", "hi[0] = block + 1 == code.blocks ? lo[0] : begin(block + 1);"),
    ("interleaved phases: blocks of the first phase only", "jit/runtime/threads.cpp",
     "      if (lo[0] < hi[0]) part.code(&own, lo, hi);", "      if (lo[0] < hi[0] && (&part == &code.parts[0] || block % 2 == 0)) part.code(&own, lo, hi);"),
    ("interleaved phases: never", "src/plan/interleave.cpp",
     "together.blocks = together.phases.size() > 1 ? blocks(together, bytes) : 0;", "together.blocks = 0;"),
    ("interleaved phases: run again", "jit/nest/executor.cpp", "    if (phase.runs_before) continue;\n", ""),
    ("interleaved phases: also where one needs the other", "src/plan/interleave.cpp",
     "[&](std::uint32_t array) { return stored.contains(array); });", "[&](std::uint32_t) { return false && stored.empty(); });"),
    ("plan: no scan is kept in a row", "src/plan/place.cpp",
     "return scan.loop.kind == LoopKind::Plain &&", "return scan.loop.kind != LoopKind::Plain &&"),
    ("plan: rows that crowd the cache are scanned in lanes", "src/plan/arrange_folds.cpp",
     "const bool alone = !groups && rows_crowd(scan, tree) && is_light(scan);", "const bool alone = false;"),
    ("plan: all states of a scan are read from one row", "src/plan/lower_values.cpp",
     "graph[id].payload == graph[kept.value].payload;", "true;"),
    ("plan: a scan goes along with the one that it reads", "src/plan/place.cpp",
     "earliest = std::max(earliest, position_of(at, loop) + 1);", "earliest = std::max(earliest, position_of(at, loop));"),
    ("plan: folds compute again what rows have computed", "src/plan/choose_folds.cpp",
     "shared_cost(request, trees, fold, nest, machine) <", "0 * shared_cost(request, trees, fold, nest, machine) <"),
    ("fold: functions stand once", "src/block/choose.cpp",
     "!f.costly || f.functions <= machine_.sizes.copied_functions;", "!f.costly;"),
    ("tiered: however long the interpreter takes", "src/plan/tasks.cpp",
     "return work * interpreter_slowdown <= most_interpreted;", "return work >= 0;"),
    ("tiered: what stands in is kept", "jit/nest/specialisation.hpp",
     "return beside || generality", "return generality"),
    ("tiered: code that is being made is not waited for", "jit/nest/code_beside.cpp",
     "      state_.wait(being_made);\n      state = state_.load();\n", "      return std::nullopt;\n"),
    ("tiered: the first call makes the code", "jit/nest/code_beside.cpp",
     "  if (!has_run_.load(std::memory_order_relaxed)) return false;\n", "  return true;\n"),
    ("generic: fillers are the innermost loops", "src/plan/trees.cpp",
     "groups.insert(groups.begin(), filled.begin()", "groups.insert(groups.end(), filled.begin()"),
    ("generic: never", "jit/nest/patterns.cpp", "  if (!has_generic_) return false;\n", "  return false;\n"),
    ("generic: loops of equal shapes are one", "src/plan/place.cpp", "    if (alone_) return false;\n", ""),
    ("generic: phases share their axes", "src/plan/lower.cpp", "  if (request_.generic) axis_ids_.clear();", "  if (false) axis_ids_.clear();"),
    ("generic: the extents of folded axes are 1", "src/plan/lower_values.cpp",
     "plan_.binding.extents.push_back(group_extent(request_.resolved, classes));", "plan_.binding.extents.push_back(1);"),
    ("runtime: the last block of a grid is left out", "jit/runtime/threads.cpp",
     "ready.load(std::memory_order_acquire) ? all : 0;", "ready.load(std::memory_order_acquire) ? all - 1 : 0;"),
    ("interior: folds are split, too", "src/kernel/by_parts.cpp", "      drop(node.folded);\n", ""),
    ("interior: positions are counted from the part on", "src/kernel/interior.cpp",
     "if (node.kind == expr::NodeKind::Index) axes = axes - node.axes;", ""),
    ("interior: outputs that lack the axis", "src/kernel/by_parts.cpp", "drop(axes - AxisSet::of(output.axes));", ";"),
    ("interior: an output may be what is read", "src/kernel/windows.cpp",
     "if (overlaps_.is_written(i) && is_read(i)) made_.own_inputs.push_back(i);", ""),
    ("padding: a corner has the first number", "src/kernel/padding.cpp",
     "number = std::max(number, run.number);", "if (number < 0) number = run.number;"),
    ("padding: reflected runs go forwards", "src/kernel/padding.cpp", ".read_step = is_back ? -1 : 1", ".read_step = 1"),
    ("kept rows: a row is where it would be of all", "jit/call/choose_loops.cpp", "kept > 0 ? row % kept : row, 1);", "row, 1);"),
    ("kept rows: the last one is the next", "jit/call/lets_memory.cpp", "(steps - 1 + loop.lag) %", "(steps + loop.lag) %"),
    ("kept rows: of any position", "src/spec/recurrence.cpp", "return is_last && form.terms", "return form.terms"),
    ("kept rows: a step reads the row it writes", "jit/call/call_plan.hpp", "(first_row + t) % kept_rows", "(first_row + t + 1) % kept_rows"),
    ("storage: the dearest order", "src/kernel/storage.cpp",
     "if (bytes < least) least = bytes, best = k; // of those as good the first", "if (bytes >= least || k == 0) least = bytes, best = k;"),
    ("storage: choices of the others are mixed up", "src/kernel/storage.cpp",
     "choice_[made->variable] = made->best[entry_of(made->others)];", "choice_[made->variable] = made->best[0];"),
]


def run(*command, cwd=TREE, limit=1500):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=limit)


def copy_tree():
    """The tracked files as they are, with modification times kept where nothing has changed."""
    TREE.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        source, target = ROOT / name, TREE / name
        if not source.is_file():
            continue
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def build(*targets):
    return run("ninja", "-C", "build", *targets)


def tests_fail(choice):
    """By which tests the mutant dies, or None."""
    if choice:  # the listings of the golden kernels hold every choice
        if build("tests/test_golden").returncode != 0:
            return "it does not compile"
        if run("build/tests/test_golden", "--no-colors=true").returncode != 0:
            return "the golden blocks"
    if build("tests/fuzz_kernels").returncode != 0:
        return "it does not compile"
    large = run("build/tests/fuzz_kernels", "--style", "large", "--count", "600", "--seed", "10001", "--jobs", "2",
                "--state", "build/fuzz-mutant", "--require-paths", "--stop-at-first")
    if large.returncode != 0:
        missed = re.search(r"not ok - every path.*but not (.*)", large.stdout)
        wrong = re.search(r"^seed (\d+): (.*)", large.stderr, re.M)
        if wrong:
            return f"large kernels, seed {wrong.group(1)}: {wrong.group(2)[:70]}"
        return f"large kernels: not taken: {missed.group(1)}" if missed else "large kernels"
    build("tests/test_unit", "tests/test_golden")
    for suite in ("golden", "unit"):
        if run(f"build/tests/test_{suite}", "--no-colors=true").returncode != 0:
            return f"the {suite} tests"
    return None


def main():
    copy_tree()
    if not (TREE / "build" / "build.ninja").exists():
        made = run("meson", "setup", "build", "-Dbench=disabled", "-Dsamples=false", "-Ddefault_library=static")
        if made.returncode != 0:
            sys.exit(made.stdout + made.stderr)
    if build("tests/test_golden").returncode != 0 or run("build/tests/test_golden", "--no-colors=true").returncode != 0:
        sys.exit("the golden tests fail without a mutant: nothing would be learnt")
    wanted = sys.argv[1:]
    lived = 0
    for name, path, old, new in MUTANTS:
        if wanted and not any(word in name for word in wanted):
            continue
        target = TREE / path
        text = target.read_text()
        if old not in text:
            print(f"not ok - {name}: the place is gone from {path}", flush=True)
            lived += 1
            continue
        began = time.monotonic()
        target.write_text(text.replace(old, new, 1))
        try:
            death = tests_fail(path.startswith("src/block/"))
        except subprocess.TimeoutExpired:
            death = "no end"
        finally:
            target.write_text(text)
        lived += death is None
        verdict = f"ok - {name}: {death}" if death else f"not ok - {name}: all tests pass"
        print(f"{verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    sys.exit(lived != 0)


if __name__ == "__main__":
    main()
