# A formula of Homebrew on Linux, for the clone that it stands in:
#   brew install --HEAD --formula packaging/homebrew/broadloom.rb
class Broadloom < Formula
  desc "Run-time compiler for loops over n-d arrays"
  license "Apache-2.0"
  head "file://#{File.expand_path("../..", __dir__)}", using: :git, branch: "main"

  depends_on "cli11" => :build
  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => [:build, :test]
  depends_on "xxhash" => :build
  depends_on "fmt"
  depends_on "libpng"
  depends_on "libzip"
  depends_on :linux
  depends_on "llvm@19"
  depends_on "readline"
  depends_on "spdlog"
  depends_on "tbb"

  def install
    ENV.prepend_path "PATH", Formula["llvm@19"].opt_bin
    system "meson", "setup", "build", "--unity=on", "--unity-size=16", "-Dllvm=shared", "-Dtests=false",
           "-Dsamples=false", "-Dbench=disabled", "-Dprove=disabled", *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  test do
    (testpath/"main.c").write <<~C
      #include <broadloom.h>
      int main(void) {
        bl_kernel *kernel = NULL;
        double x[3] = {1, 2, 3}, s = 0;
        const int64_t n[] = {3};
        const bl_view in = {BL_F64, 1, x, n, NULL}, out = {BL_F64, 0, &s, NULL, NULL};
        if (bl_compile("kernel k { in x : f64[i]; out s = sum(x * x) }", NULL, &kernel) != BL_OK) return 1;
        return bl_run(kernel, &in, 1, &out, 1) != BL_OK || s != 14;
      }
    C
    flags = shell_output("pkgconf --cflags --libs broadloom").split
    system ENV.cc, "-std=c11", "main.c", *flags, "-o", "main"
    system "./main"
    assert_match "broadloom #{version}", shell_output("#{bin}/broadloom --version") if build.stable?
  end
end
