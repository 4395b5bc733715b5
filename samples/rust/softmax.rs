// Rows of softmax and their gradient from Rust, by the C interface: `rustc` alone builds it.
//
//   rustc softmax.rs $(pkg-config --libs-only-L broadloom) && ./softmax
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::{null, null_mut};

// What of broadloom.h is called here, as the header has it.
const BL_ABI_VERSION: u32 = 1;
const BL_F32: i32 = 11;

#[repr(C)]
struct View {
    dtype: i32,
    rank: i32,
    data: *mut c_void,
    extents: *const i64,
    strides: *const i64,
}

#[repr(C)]
struct Error {
    status: i32,
    code: *const c_char,
    message: *const c_char,
    help: *const c_char,
    text: *const c_char,
    line: i32,
    column: i32,
}

#[link(name = "broadloom")]
extern "C" {
    fn bl_abi_version() -> u32;
    fn bl_latest_error() -> *const Error;
    fn bl_compile(text: *const c_char, options: *const c_void, kernel: *mut *mut c_void) -> i32;
    fn bl_gradient(
        kernel: *const c_void,
        wrt: *const *const c_char,
        count: usize,
        gradient: *mut *mut c_void,
    ) -> i32;
    fn bl_run(
        kernel: *const c_void,
        inputs: *const View,
        input_count: usize,
        outputs: *const View,
        output_count: usize,
    ) -> i32;
    fn bl_free_kernel(kernel: *mut c_void) -> i32;
}

// A kernel may be called by any threads at once.
struct Kernel(*mut c_void);
unsafe impl Send for Kernel {}
unsafe impl Sync for Kernel {}

impl Drop for Kernel {
    fn drop(&mut self) {
        unsafe { bl_free_kernel(self.0) };
    }
}

// The latest error is that of this thread.
fn checked(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr((*bl_latest_error()).text) }
        .to_string_lossy()
        .into_owned())
}

// Arrays of floats in C order.
struct Rows<'a> {
    data: &'a [f32],
    extents: [i64; 2],
}

impl Kernel {
    fn compile(text: &str) -> Result<Kernel, String> {
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let mut kernel = null_mut();
        checked(unsafe { bl_compile(text.as_ptr(), null(), &mut kernel) })?;
        Ok(Kernel(kernel))
    }

    fn gradient(&self, wrt: &str) -> Result<Kernel, String> {
        let name = CString::new(wrt).map_err(|error| error.to_string())?;
        let mut kernel = null_mut();
        checked(unsafe { bl_gradient(self.0, &name.as_ptr(), 1, &mut kernel) })?;
        Ok(Kernel(kernel))
    }

    // All inputs in the order of the text, and one output of the shape of the first.
    fn run(&self, inputs: &[Rows]) -> Result<Vec<f32>, String> {
        for input in inputs {
            assert_eq!(input.data.len() as i64, input.extents[0] * input.extents[1]);
        }
        let view = |data: *mut c_void, extents: &[i64; 2]| View {
            dtype: BL_F32,
            rank: 2,
            data,
            extents: extents.as_ptr(),
            strides: null(),
        };
        let views: Vec<View> = inputs
            .iter()
            .map(|input| view(input.data.as_ptr() as *mut c_void, &input.extents))
            .collect();
        let mut result = vec![0f32; inputs[0].data.len()];
        let output = view(result.as_mut_ptr() as *mut c_void, &inputs[0].extents);
        checked(unsafe { bl_run(self.0, views.as_ptr(), views.len(), &output, 1) })?;
        Ok(result)
    }
}

fn print(name: &str, rows: &[f32]) {
    let rows: Vec<String> = rows
        .chunks(3)
        .map(|row| format!("{:.3} {:.3} {:.3}", row[0], row[1], row[2]))
        .collect();
    println!("{:3} = {}", name, rows.join(", "));
}

fn main() -> Result<(), String> {
    assert_eq!(unsafe { bl_abi_version() }, BL_ABI_VERSION);
    let softmax = Kernel::compile("kernel softmax {\n  in x : f32[i, j]\n  let e = exp(x - max(x, j))\n  out y = e / sum(e, j)\n}")?;
    let x = [0.0, 1.0, 2.0, 3.0, 3.0, 3.0];
    let d_y = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let extents = [2, 3];
    // Two threads with the same kernel.
    let (first, second) = std::thread::scope(|scope| {
        let call = || softmax.run(&[Rows { data: &x, extents }]);
        let (first, second) = (scope.spawn(call), scope.spawn(call));
        (first.join().unwrap(), second.join().unwrap())
    });
    let y = first?;
    assert_eq!(y, second?);
    print("y", &y);

    let gradient = softmax.gradient("x")?;
    print(
        "d_x",
        &gradient.run(&[
            Rows { data: &x, extents },
            Rows {
                data: &d_y,
                extents,
            },
        ])?,
    );

    match Kernel::compile("kernel k { in x : f32[i]; out y = x * w }") {
        Ok(_) => Err("a text with an unknown name was compiled".to_string()),
        Err(error) => Ok(eprint!("{error}")),
    }
}
