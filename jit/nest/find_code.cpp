// See find_code.hpp.
#include "jit/nest/find_code.hpp"

#include "jit/cache/built_code.hpp"
#include "jit/cache/cache.hpp"
#include "jit/gpu/device.hpp"
#include "jit/nest/failure.hpp"
#include "jit/nest/stopwatch.hpp"
#include "support/fail.hpp"
#include "support/log.hpp"
#include "support/text.hpp"

namespace broadloom::jit {
namespace {

// Never destroyed: LLVM may be gone at exit.
constexpr std::size_t most_codes = 512;
constexpr std::size_t most_code_bytes = std::size_t(128) << 20; // or BROADLOOM_CODE_BYTES
MemoryCache<Code> &code_cache() {
  static auto &cache =
      *new MemoryCache<Code>(most_codes, number_in("BROADLOOM_CODE_BYTES", most_code_bytes),
                             [](const Code &code) { return code.code_bytes(); });
  return cache;
}

// Kernels of equal programs share their code; those that are profiled do not, as code has one name
// there.
std::string code_key(const std::string &program_key, const MadeFor &made_for,
                     const std::string &kernel) {
  const std::string known_as = made_for.profile == Profile::none
                                   ? ""
                                   : std::to_string(unsigned(made_for.profile)) + ' ' + kernel;
  return std::string(made_for.target->isa->name) + '\n' + made_for.target->cpu + '\n' + known_as +
         '\n' + program_key;
}

void tell(const FoundCode &found, const MadeFor &made_for, const std::string &kernel) {
  if (found.origin == Pattern::Origin::Process || !support::logs_debug()) return;
  if (found.origin == Pattern::Origin::Made)
    support::log().debug("compiled a pattern of '{}' for {}: {} bytes in {:.2f} ms", kernel,
                         made_for.target->isa->name, found.code->code_bytes(), found.ms);
  else
    support::log().debug(
        "read a pattern of '{}' for {} from {} in {:.2f} ms", kernel, made_for.target->isa->name,
        found.origin == Pattern::Origin::Built ? "what was built" : "the disk cache", found.ms);
}

} // namespace

FoundCode find_code(const MadeFor &made_for, const std::string &kernel,
                    const loop::Program &program, const std::string &key) {
  if (support::is_torn())
    support::fail("E0501",
                  "native code cannot be had: this process was forked while another thread "
                  "compiled, and that took too long to be waited for",
                  {}, "fork while nothing is compiled, or begin another program by exec");
  const Stopwatch watch;
  FoundCode found;
  bool from_disk = false;
  const bool is_wrong = is_asked(Fault::WrongCode);
  const std::string known_as = is_wrong ? key + "wrong" : key;
  const auto make = [&]() -> std::shared_ptr<const Code> {
    fail_if_asked(Fault::Emit);
    if (made_for.device)
      return made_for.device->compile(program, known_as, made_for.options.cache_dir);
    if (made_for.target->isa->device) return gpu::code_to_show(program, *made_for.target);
    KeptCode kept = find_or_compile(is_wrong ? made_wrong(program) : program, known_as,
                                    *made_for.target, made_for.profile, made_for.options.cache_dir,
                                    made_for.threads, made_for.built.get());
    from_disk = kept.from_disk;
    found.before = kept.times;
    return std::move(kept.code);
  };
  // What is being built takes all of its code, whoever has it, too.
  const bool builds = made_for.built && made_for.built->is_being_built();
  const auto known = builds ? MemoryCache<Code>::Found{make(), true, 0}
                            : code_cache().get(code_key(known_as, made_for, kernel), make);
  if (known.dropped > 0)
    support::log().debug("code of {} that no kernel holds was dropped: all that is cached may have "
                         "{} bytes (BROADLOOM_CODE_BYTES)",
                         support::count(std::int64_t(known.dropped), "pattern"),
                         code_cache().most_bytes());
  found.code = known.value;
  found.origin = !known.made      ? Pattern::Origin::Process
                 : !from_disk     ? Pattern::Origin::Made
                 : made_for.built ? Pattern::Origin::Built
                                  : Pattern::Origin::Disk;
  found.ms = watch.ms();
  tell(found, made_for, kernel);
  return found;
}

bool has_code(const MadeFor &made_for, const std::string &kernel, const std::string &key) {
  return code_cache().has(code_key(key, made_for, kernel)) ||
         is_kept(key, *made_for.target, made_for.profile, made_for.options.cache_dir);
}

} // namespace broadloom::jit
