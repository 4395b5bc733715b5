// A CUDA driver that has no device: it hands out memory of the process, notes what it is asked for,
// and runs nothing. A library of its own, which the library loads in the driver's place
// (BROADLOOM_CUDA).
#include "tests/unit/gpu/fake_cuda.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

using broadloom::gpu::test::Seen;

namespace {

Seen seen;
std::map<std::uint64_t, std::size_t> pieces;
struct Module {
  std::string text;
};
struct Function {
  std::string name;
  std::size_t bytes; // of its parameter
};
std::deque<Function> functions; // stay where they are

// What a function gives that shall fail.
int result_of(const char *name, int likely) {
  if (seen.fails_at != name) return 0;
  return seen.fails_with != 0 ? seen.fails_with : likely;
}

} // namespace

extern "C" {

Seen *fake_cuda_seen() { return &seen; }

int cuInit(unsigned) { return result_of("cuInit", 100); }
int cuDriverGetVersion(int *version) {
  *version = seen.version;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = 2;
  return 0;
}
int cuDeviceGet(int *device, int number) {
  *device = number + 7;
  return 0;
}
int cuDeviceGetName(char *name, int bytes, int device) {
  std::strncpy(name, device == 7 ? "Fake 90" : "Fake 60", std::size_t(bytes));
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 16 ? 3 : attribute == 75 ? (device == 7 ? 9 : 6) : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &seen;
  return 0;
}
int cuCtxPushCurrent_v2(void *) {
  ++seen.depth;
  return 0;
}
int cuCtxPopCurrent_v2(void **) {
  --seen.depth;
  return 0;
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  if (const int result = result_of("cuModuleLoadDataEx", 200)) return result;
  *module = new Module{static_cast<const char *>(image)};
  ++seen.modules;
  return 0;
}
int cuLinkCreate_v2(unsigned, int *, void **, void **link) {
  *link = new std::string("machine code of\n");
  return 0;
}
int cuLinkAddData_v2(void *link, int kind, void *data, std::size_t bytes, const char *, unsigned,
                     int *, void **) {
  if (const int result = result_of("cuLinkAddData_v2", 218)) return result;
  if (kind != 1 || static_cast<const char *>(data)[bytes - 1] != '\0') return 1;
  *static_cast<std::string *>(link) += static_cast<const char *>(data);
  return 0;
}
int cuLinkComplete(void *link, void **image, std::size_t *bytes) {
  ++seen.links;
  auto &text = *static_cast<std::string *>(link);
  *image = text.data();
  *bytes = text.size();
  return 0;
}
int cuLinkDestroy(void *link) {
  delete static_cast<std::string *>(link);
  return 0;
}
int cuModuleUnload(void *module) {
  delete static_cast<Module *>(module);
  --seen.modules;
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  const std::string &text = static_cast<Module *>(module)->text;
  if (text.find(".entry " + std::string(name) + "(") == text.npos) return 500;
  const std::string parameter = std::string(name) + "_param_0[";
  const std::size_t at = text.find(parameter);
  functions.push_back(
      {name, at == text.npos ? sizeof(void *)
                             : std::strtoul(text.c_str() + at + parameter.size(), nullptr, 10)});
  *function = &functions.back();
  return 0;
}
int cuLaunchKernel(void *function, unsigned grid, unsigned, unsigned, unsigned block, unsigned,
                   unsigned, unsigned, void *stream, void **parameters, void **) {
  if (const int result = result_of("cuLaunchKernel", 701)) return result;
  const auto *called = static_cast<const Function *>(function);
  std::vector<std::int64_t> words(called->bytes / 8);
  std::memcpy(words.data(), parameters[0], called->bytes);
  seen.launches.push_back({called->name, grid, block, std::move(words), stream});
  if (seen.sets != nullptr) seen.sets->store(true);
  return 0;
}
int cuStreamSynchronize(void *) { return result_of("cuStreamSynchronize", 702); }
int cuCtxSynchronize() { return result_of("cuCtxSynchronize", 702); }
int cuEventCreate(void **event, unsigned) {
  ++seen.events;
  *event = new void *(nullptr);
  return 0;
}
int cuEventDestroy_v2(void *event) {
  --seen.events;
  delete static_cast<void **>(event);
  return 0;
}
int cuEventRecord(void *event, void *stream) {
  *static_cast<void **>(event) = stream;
  return 0;
}
int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  seen.waits.push_back({stream, *static_cast<void **>(event)});
  return 0;
}
int cuMemAlloc_v2(std::uint64_t *memory, std::size_t bytes) {
  if (seen.bytes + bytes > seen.most_bytes) return 2;
  void *made = std::malloc(bytes);
  *memory = reinterpret_cast<std::uint64_t>(made);
  pieces[*memory] = bytes;
  seen.bytes += bytes;
  return 0;
}
int cuMemFree_v2(std::uint64_t memory) {
  seen.bytes -= pieces[memory];
  pieces.erase(memory);
  std::free(reinterpret_cast<void *>(memory));
  return 0;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void *from, std::size_t bytes, void *) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, std::uint64_t from, std::size_t bytes, void *) {
  ++seen.copies_out;
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void *) {
  ++seen.copies_there;
  std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return 0;
}
int cuPointerGetAttribute(void *value, int attribute, std::uint64_t pointer) {
  const auto after = pieces.upper_bound(pointer);
  if (after == pieces.begin() || pointer >= std::prev(after)->first + std::prev(after)->second)
    return 1;
  *static_cast<int *>(value) = attribute == 2 ? 2 : 0;
  return 0;
}
int cuGetErrorString(int error, const char **text) {
  *text = error == 700 ? "an illegal memory access was encountered" : "no CUDA-capable device";
  return 0;
}
}
