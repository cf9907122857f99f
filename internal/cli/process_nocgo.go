//go:build !cgo

package cli

// oneArena does nothing: without cgo there is no C allocator.
func oneArena() {}
