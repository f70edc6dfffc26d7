// Short durable writes of tellers while a batch goroutine writes, through one gate.
//
//	make capi
//	export PKG_CONFIG_PATH=$PWD/target/capi/lib/pkgconfig LD_LIBRARY_PATH=$PWD/target/capi/lib
//	go run examples/gate/main.go ledger.img
package main

/*
#cgo pkg-config: penstock_gate
#include <penstock_gate.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// Gate is a gate of Penstock. Any goroutine may use it.
type Gate struct{ handle *C.pg_gate }

// Open opens a gate by its options.
func Open(options string) (*Gate, error) {
	text := C.CString(options)
	defer C.free(unsafe.Pointer(text))
	message := make([]C.char, 1024)
	handle := C.pg_open(text, &message[0], C.size_t(len(message)))
	if handle == nil {
		return nil, fmt.Errorf("%s", C.GoString(&message[0]))
	}
	return &Gate{handle}, nil
}

// call runs one call on one thread, whose error the gate keeps.
func (g *Gate) call(work func() (C.int, error)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	result, number := work()
	if result >= 0 {
		return nil
	}
	text := make([]C.char, 1024)
	C.pg_error(g.handle, &text[0], C.size_t(len(text)), nil)
	return fmt.Errorf("%s: %w", C.GoString(&text[0]), number)
}

// Write writes durably as a class of work.
func (g *Gate) Write(class string, offset uint64, data []byte) error {
	name := C.CString(class)
	defer C.free(unsafe.Pointer(name))
	return g.call(func() (C.int, error) {
		result, number := C.pg_write(g.handle, name, 0, C.uint64_t(offset),
			unsafe.Pointer(&data[0]), C.size_t(len(data)), C.PG_SYNC)
		return result, number
	})
}

// Read fills data as a class of work.
func (g *Gate) Read(class string, offset uint64, data []byte) error {
	name := C.CString(class)
	defer C.free(unsafe.Pointer(name))
	return g.call(func() (C.int, error) {
		count, number := C.pg_read(g.handle, name, 0, C.uint64_t(offset),
			unsafe.Pointer(&data[0]), C.size_t(len(data)))
		return C.int(count), number
	})
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	gate, err := Open(fmt.Sprintf("path = '%s'\ncreate = '16MiB'\nparameters = { split = '64KiB' }\n"+
		"[class.tellers]\n[class.batch]\n", os.Args[1]))
	check(err)
	batch := make(chan error)
	go func() { batch <- gate.Write("batch", 8<<20, make([]byte, 4<<20)) }()
	for n := range 100 {
		check(gate.Write("tellers", uint64(1000+16*n), []byte(fmt.Sprintf("transfer %-7d", n))))
	}
	data := make([]byte, 16)
	check(gate.Read("tellers", 1000+16*99, data))
	fmt.Printf("read back: %s\n", data)
	check(<-batch)
	fmt.Println("an error:", gate.Write("tellrs", 0, []byte("x")))
	C.pg_close(gate.handle)
}
