// Rows of softmax and their gradient from Go, by the C interface: `go build` finds it through pkg-config.
//
//	go build -o softmax . && ./softmax
package main

/*
#cgo pkg-config: broadloom
#include <broadloom.h>
#include <stdlib.h>

// Views point to the arrays, and what Go hands to C may not point to more of Go's: so C makes them.
static bl_status run(const bl_kernel *kernel, float *x, float *d_y, int64_t rows, int64_t columns, float *out) {
  const int64_t extents[] = {rows, columns};
  const bl_view in[] = {{BL_F32, 2, x, extents, NULL}, {BL_F32, 2, d_y, extents, NULL}};
  const bl_view into = {BL_F32, 2, out, extents, NULL};
  return bl_run(kernel, in, d_y ? 2 : 1, &into, 1);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// checked makes the call in one thread of the system, as the latest error is that of a thread.
func checked(call func() C.bl_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if call() == C.BL_OK {
		return nil
	}
	return errors.New(C.GoString(C.bl_latest_error().text))
}

type kernel struct{ handle *C.bl_kernel }

// taken lets Go's collector free the kernel.
func taken(handle *C.bl_kernel) *kernel {
	k := &kernel{handle}
	runtime.SetFinalizer(k, func(k *kernel) { C.bl_free_kernel(k.handle) })
	return k
}

func compile(text string) (*kernel, error) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	var handle *C.bl_kernel
	if err := checked(func() C.bl_status { return C.bl_compile(c, nil, &handle) }); err != nil {
		return nil, err
	}
	return taken(handle), nil
}

func (k *kernel) gradient(wrt string) (*kernel, error) {
	name := C.CString(wrt)
	defer C.free(unsafe.Pointer(name))
	names := (**C.char)(C.malloc(C.size_t(unsafe.Sizeof(name))))
	defer C.free(unsafe.Pointer(names))
	*names = name
	var handle *C.bl_kernel
	err := checked(func() C.bl_status { return C.bl_gradient(k.handle, names, 1, &handle) })
	runtime.KeepAlive(k)
	if err != nil {
		return nil, err
	}
	return taken(handle), nil
}

// run computes rows of three from rows of three; dY is nil but for gradients.
func (k *kernel) run(x, dY []float32) ([]float32, error) {
	out := make([]float32, len(x))
	var cotangents *C.float
	if dY != nil {
		cotangents = (*C.float)(&dY[:len(x)][0])
	}
	err := checked(func() C.bl_status {
		return C.run(k.handle, (*C.float)(&x[0]), cotangents, C.int64_t(len(x)/3), 3, (*C.float)(&out[0]))
	})
	runtime.KeepAlive(k)
	return out, err
}

func show(name string, rows []float32) {
	fmt.Printf("%-3s =", name)
	for i := 0; i < len(rows); i += 3 {
		if i > 0 {
			fmt.Print(",")
		}
		fmt.Printf(" %.3f %.3f %.3f", rows[i], rows[i+1], rows[i+2])
	}
	fmt.Println()
}

func demo() error {
	if version := C.bl_abi_version(); version != C.BL_ABI_VERSION {
		return fmt.Errorf("the library has the interface %d, the header %d", version, C.BL_ABI_VERSION)
	}
	softmax, err := compile("kernel softmax {\n  in x : f32[i, j]\n  let e = exp(x - max(x, j))\n  out y = e / sum(e, j)\n}")
	if err != nil {
		return err
	}
	x := []float32{0, 1, 2, 3, 3, 3}
	// Two goroutines with the same kernel.
	type answer struct {
		y   []float32
		err error
	}
	answers := make(chan answer, 2)
	for i := 0; i < 2; i++ {
		go func() {
			y, err := softmax.run(x, nil)
			answers <- answer{y, err}
		}()
	}
	first, second := <-answers, <-answers
	if first.err != nil || second.err != nil {
		return fmt.Errorf("%v %v", first.err, second.err)
	}
	for i := range first.y {
		if first.y[i] != second.y[i] {
			return errors.New("two calls differ")
		}
	}
	show("y", first.y)

	gradient, err := softmax.gradient("x")
	if err != nil {
		return err
	}
	dX, err := gradient.run(x, []float32{1, 0, 0, 0, 0, 1})
	if err != nil {
		return err
	}
	show("d_x", dX)

	if _, err := compile("kernel k { in x : f32[i]; out y = x * w }"); err != nil {
		fmt.Fprint(os.Stderr, err)
		return nil
	}
	return errors.New("a text with an unknown name was compiled")
}

func main() {
	if err := demo(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
